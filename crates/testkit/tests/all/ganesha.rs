//! NFS-Ganesha, as the other tests start it.

use std::net::TcpStream;
use std::process::Command;

use plimsoll_testkit::servers::{Export, Ganesha, available};

#[test]
fn starts_serves_dies_and_comes_back() {
    let Some(mut ganesha) = available(Ganesha::start()) else { return };
    let data = ganesha.folder(Export::Data).unwrap();
    std::fs::write(data.join("there"), b"12345").unwrap();
    let Ok(read) = Command::new("nfs-cat").arg(ganesha.libnfs_url(Export::Data, "there")).output() else {
        return plimsoll_testkit::skip("needs nfs-cat (Debian: libnfs-utils)");
    };
    assert_eq!(read.stdout, b"12345", "{}", ganesha.log());

    ganesha.kill();
    assert!(TcpStream::connect(ganesha.address()).is_err(), "a killed server listens no more");
    let address = ganesha.address();
    ganesha.restart();
    assert_eq!(ganesha.address(), address);
    let read = Command::new("nfs-cat").arg(ganesha.libnfs_url(Export::Data, "there")).output().unwrap();
    assert_eq!(read.stdout, b"12345");

    drop(ganesha);
    assert!(TcpStream::connect(address).is_err(), "a dropped server listens no more");
    assert!(!data.exists(), "nothing is left");
}
