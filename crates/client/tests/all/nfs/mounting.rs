//! From an export's path to its handle, with servers that say one thing or another.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use plimsoll_client::nfs3::{MountError, Mounted, Ports, mount, unmount};
use plimsoll_client::of_unreached;
use plimsoll_wire::nfs::v3::FileHandle;
use plimsoll_wire::rpc::{Call, Caller};
use plimsoll_wire::xdr::{Emit, Strict};

use super::call;
use super::script::{record, rejection};

const PORTMAP: u32 = 100_000;
const MOUNT: u32 = 100_005;
const NFS: u32 = 100_003;
const MNT: u32 = 1;
const UMNT: u32 = 3;

/// A server of all programs on one port. `answer` gets the program, the procedure, the arguments' text (of MOUNT and LOOKUP), the xid and
/// the server's port, and returns the reply.
fn server(answer: impl Fn(u32, u32, &str, u32, u16) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(message) = call(&mut stream) else { continue };
            let call = Call::new(&message).unwrap();
            let mut arguments = Strict::new(call.arguments().unwrap());
            if call.program() == NFS {
                arguments.opaque(64).unwrap();
            }
            let text = arguments.opaque(1024).map(|text| String::from_utf8_lossy(text).into_owned());
            let text = text.unwrap_or_default();
            let reply = answer(call.program(), call.procedure(), &text, call.xid(), address.port());
            // The client may have had enough before the end.
            let _ = stream.write_all(&reply);
        }
    });
    address
}

fn words(xid: u32, words: &[u32]) -> Vec<u8> {
    let mut results = Vec::new();
    words.iter().for_each(|&word| results.put_u32(word));
    record(xid, &results)
}

/// A handle and the flavors that the export takes.
fn root(xid: u32, handle: &[u8], flavors: &[u32]) -> Vec<u8> {
    let mut results = Vec::new();
    results.put_u32(0);
    results.put_opaque(handle);
    results.put_u32(flavors.len() as u32);
    flavors.iter().for_each(|&flavor| results.put_u32(flavor));
    record(xid, &results)
}

fn found(xid: u32, handle: &[u8]) -> Vec<u8> {
    let mut results = Vec::new();
    results.put_u32(0);
    results.put_opaque(handle);
    results.put_u64(0);
    record(xid, &results)
}

fn mounted(address: SocketAddr, path: &str) -> Result<Mounted, MountError> {
    // Asks the portmapper, which this server is too.
    let timeout = Duration::from_secs(60);
    let ports = Ports { mount: None, portmap: address.port(), reserved: false, timeout, security: None };
    mount(address, path, &ports, None, &Caller::Nobody)
}

#[test]
fn the_portmapper_says_where_to_mount_and_an_export_has_a_handle() {
    let address = server(|program, procedure, text, xid, port| match (program, procedure, text) {
        (PORTMAP, 3, _) => words(xid, &[u32::from(port)]),
        (MOUNT, MNT, "/export") => root(xid, b"handle", &[390_003, 1]),
        (MOUNT, UMNT, "/export") => words(xid, &[]),
        _ => words(xid, &[2]),
    });
    let there = mounted(address, "/export").unwrap();
    assert_eq!((there.root.as_bytes(), there.export.as_str(), there.mount), (&b"handle"[..], "/export", address));
    unmount(&there, &Caller::Nobody).unwrap();
    let said = |address, path| mounted(address, path).unwrap_err().to_string();
    let hint = |address, path| said(address, path).contains("?resvport");
    let denying = server(|program, _, _, xid, port| words(xid, &[if program == PORTMAP { port.into() } else { 13 }]));
    assert!(hint(denying, "/export") && !hint(address, "/other"));
    // The portmapper may have named the MOUNT of another server.
    for said in [said(denying, "/export"), said(address, "/other")] {
        let [at, no_export] = [format!("MOUNT at {address} "), "may not be an export with NFS 3".to_owned()];
        let at = if said.contains("MNT3ERR_ACCES") { format!("MOUNT at {denying} ") } else { at };
        assert!(said.contains(&at) && said.contains(&no_export) && said.contains("?mountport=PORT"), "{said}");
    }
    let Err(MountError::Refused { path, status, .. }) = mounted(address, "/other") else { panic!("there is no other") };
    assert_eq!((path.as_str(), status.as_str()), ("/other", "MNT3ERR_NOENT"));
}

#[test]
fn a_path_below_an_export_is_looked_up() {
    let address = server(|program, procedure, text, xid, port| match (program, procedure, text) {
        (PORTMAP, 3, _) => words(xid, &[u32::from(port)]),
        (MOUNT, MNT, "/a") => root(xid, b"a", &[]),
        (MOUNT, MNT, _) => words(xid, &[13]),
        (NFS, 3, "b") => found(xid, b"b"),
        (NFS, 3, "c") => found(xid, b"c"),
        _ => words(xid, &[2, 0]),
    });
    let there = mounted(address, "/a/b/c").unwrap();
    assert_eq!((there.root.as_bytes(), there.export.as_str()), (&b"c"[..], "/a"));
    let Err(MountError::Below { export, path, status }) = mounted(address, "/a/b/x") else { panic!("there is no x") };
    assert_eq!((export.as_str(), path.as_str(), status.as_str()), ("/a", "/b/x", "NFS3ERR_NOENT"));
    assert!(matches!(mounted(address, "/z/y"), Err(MountError::Refused { .. })));
}

#[test]
fn a_path_longer_than_mount_takes_is_looked_up_below_its_beginning() {
    let name = "n".repeat(200);
    let whole = format!("/a{}", format!("/{name}").repeat(6));
    assert!(whole.len() > 1024);
    let address = server(move |program, procedure, text, xid, port| match (program, procedure, text) {
        (PORTMAP, 3, _) => words(xid, &[u32::from(port)]),
        (MOUNT, MNT, "/a") => root(xid, b"a", &[]),
        // GARBAGE_ARGS: the server could not decode the path.
        (MOUNT, MNT, "") => rejection(xid, 3),
        (MOUNT, MNT, _) => words(xid, &[13]),
        (NFS, 3, text) if text == name => found(xid, b"n"),
        _ => words(xid, &[2, 0]),
    });
    let there = mounted(address, &whole).unwrap();
    assert_eq!((there.root.as_bytes(), there.export.as_str()), (&b"n"[..], "/a"));
}

#[test]
fn what_cannot_be_mounted_says_why() {
    let unregistered = server(|_, _, _, xid, _| words(xid, &[0]));
    assert!(matches!(mounted(unregistered, "/x"), Err(MountError::NotRegistered(at)) if at == unregistered));
    let kerberos = server(|program, _, _, xid, port| match program {
        PORTMAP => words(xid, &[u32::from(port)]),
        _ => root(xid, b"h", &[390_003, 390_004]),
    });
    let Err(MountError::Flavors { flavors, .. }) = mounted(kerberos, "/x") else { panic!("Kerberos is not spoken") };
    assert_eq!(flavors, [390_003, 390_004]);
    let deaf = server(|_, _, _, xid, _| rejection(xid, 0));
    assert!(matches!(mounted(deaf, "/x"), Err(MountError::Answer { .. })), "PROG_UNAVAIL");
    let closed = server(|_, _, _, _, _| Vec::new());
    assert!(matches!(mounted(closed, "/x"), Err(MountError::Connection { address, .. }) if address == closed));
}

#[test]
fn a_port_that_closes_at_once_has_advice() {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    for kind in [BrokenPipe, ConnectionReset, UnexpectedEof] {
        assert!(of_unreached(&io::Error::from(kind)).contains("belongs to this service"), "{kind}");
    }
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    let endless = server(|_, _, _, _, _| vec![0; 64 << 10]);
    assert!(matches!(mounted(endless, "/x"), Err(MountError::Connection { .. })), "fragments of nothing");
    let huge = server(|_, _, _, _, _| vec![0x7F; 64 << 10]);
    assert!(matches!(mounted(huge, "/x"), Err(MountError::Connection { .. })), "a fragment of 2 GiB");
}

#[test]
fn silence_is_given_up_after_the_time_that_was_asked_for() {
    // The system accepts connections, but no call is answered.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = silent.local_addr().unwrap();
    for mount_port in [None, Some(address.port())] {
        let timeout = Duration::from_millis(120);
        let ports = Ports { mount: mount_port, portmap: address.port(), reserved: false, timeout, security: None };
        let error = mount(address, "/x", &ports, None, &Caller::Nobody).unwrap_err();
        assert!(error.to_string().contains("no answer within 120ms; "), "{error}");
    }
    let there = Mounted {
        root: FileHandle::new(b"x").unwrap(),
        export: "/x".to_owned(),
        mount: address,
        reserved_port: false,
        timeout: Duration::from_millis(30),
    };
    let error = unmount(&there, &Caller::Nobody).unwrap_err();
    assert!(error.to_string().contains("no answer within 30ms; "), "{error}");
}
