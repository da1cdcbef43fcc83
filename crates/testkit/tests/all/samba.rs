//! Samba, as the other tests start it.

use std::net::TcpStream;

use plimsoll_testkit::servers::{Samba, Share, available};

#[test]
fn starts_serves_dies_and_comes_back() {
    let Some(mut samba) = available(Samba::start(&["smb2 max credits = 512"])) else { return };
    let data = samba.folder(Share::Data).unwrap();
    std::fs::write(data.join("there"), b"12345").unwrap();
    let listed = samba.smbclient(Share::Data, "ls");
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.status.success() && text.contains("there"), "{text}\n{}", samba.log());

    samba.kill();
    assert!(TcpStream::connect(samba.address()).is_err(), "a killed server listens no more");
    let (before, address) = (samba.process_id(), samba.address());
    samba.restart();
    assert_eq!((before, samba.address()), (None, address));
    assert!(samba.smbclient(Share::Data, "get there -").stdout.starts_with(b"12345"));

    drop(samba);
    assert!(TcpStream::connect(address).is_err(), "a dropped server listens no more");
    assert!(!data.exists(), "nothing is left");
}
