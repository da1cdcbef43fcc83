//! The SMB server, with Samba's smbclient.

use std::path::Path;
use std::process::Output;

use crate::client::{bytes, must, needs, run, scratch};
use plimsoll_serve::{Account, Embedded, Kind, Options};

const USER: &str = "crew";
const PASSWORD: &str = "load line";

fn server(options: Options) -> Embedded {
    Embedded::start(Kind::Smb, Options { account: Some(Account::new(USER, PASSWORD)), ..options }).unwrap()
}

/// Runs smbclient's commands, with more arguments.
fn smbclient(server: &Embedded, commands: &str, more: &[&str]) -> Output {
    let (port, who) = (server.address().port().to_string(), format!("{USER}%{PASSWORD}"));
    let mut arguments = vec!["//127.0.0.1/plimsoll", "-p", &port, "-U", &who, "-c", commands];
    arguments.extend(more);
    run("smbclient", &arguments)
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn put_and_get(server: &Embedded, folder: &Path, name: &str, content: &[u8], more: &[&str]) {
    let (from, back) = (folder.join(name), folder.join(format!("{name}.back")));
    std::fs::write(&from, content).unwrap();
    let commands = format!("put {} {name}; get {name} {}", from.display(), back.display());
    must(smbclient(server, &commands, more));
    assert!(std::fs::read(&back).unwrap() == content, "{name}: {} bytes, {more:?}", content.len());
}

#[test]
fn what_smbclient_writes_it_reads_back() {
    if !needs(&["smbclient"]) {
        return;
    }
    let server = server(Options::default());
    let folder = scratch("smb-back");
    for (number, length) in [0, 1, 4095, 65_536, 65_537, 1 << 20, (9 << 20) + 13].into_iter().enumerate() {
        put_and_get(&server, &folder, &format!("file{number}"), &bytes(number as u64, length), &[]);
    }
}

#[test]
fn every_dialect_plain_signed_and_sealed() {
    if !needs(&["smbclient"]) {
        return;
    }
    let server = server(Options::default());
    let folder = scratch("smb-dialects");
    let content = bytes(7, 300_001);
    for dialect in ["SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"] {
        put_and_get(&server, &folder, dialect, &content, &["-m", dialect]);
        let signed = ["-m", dialect, "--client-protection=sign"];
        put_and_get(&server, &folder, &format!("{dialect}-signed"), &content, &signed);
        if dialect.starts_with("SMB3") {
            let sealed = ["-m", dialect, "--client-protection=encrypt"];
            put_and_get(&server, &folder, &format!("{dialect}-sealed"), &content, &sealed);
        }
    }
}

#[test]
fn names_come_move_and_go() {
    if !needs(&["smbclient"]) {
        return;
    }
    let server = server(Options::default());
    let folder = scratch("smb-names");
    let from = folder.join("f");
    std::fs::write(&from, b"content").unwrap();
    let put = format!("mkdir d; put {} d\\one.txt; put {} d\\two.dat", from.display(), from.display());
    must(smbclient(&server, &put, &[]));
    let listed = text_of(&must(smbclient(&server, "ls d\\*", &[])));
    assert!(listed.contains("one.txt") && listed.contains("two.dat"), "{listed}");
    let listed = text_of(&must(smbclient(&server, "ls d\\*.txt", &[])));
    assert!(listed.contains("one.txt") && !listed.contains("two.dat"), "{listed}");
    let refused = text_of(&smbclient(&server, "rmdir d", &[]));
    assert!(refused.contains("NT_STATUS_DIRECTORY_NOT_EMPTY"), "{refused}");
    must(smbclient(&server, "rename d\\one.txt d\\three.txt; del d\\two.dat; rename d e", &[]));
    let listed = text_of(&must(smbclient(&server, "ls e\\*; du", &[])));
    assert!(listed.contains("three.txt") && !listed.contains("one.txt") && !listed.contains("two.dat"), "{listed}");
    let missing = text_of(&smbclient(&server, "get e\\one.txt /dev/null", &[]));
    assert!(missing.contains("NT_STATUS_OBJECT_NAME_NOT_FOUND"), "{missing}");
    must(smbclient(&server, "del e\\three.txt; rmdir e", &[]));
    let gone = text_of(&smbclient(&server, "ls e\\*", &[]));
    assert!(gone.contains("NT_STATUS_OBJECT_"), "{gone}");
}

#[test]
fn refusals_are_told() {
    if !needs(&["smbclient"]) {
        return;
    }
    let folder = scratch("smb-refusals");
    let from = folder.join("big");
    std::fs::write(&from, bytes(1, 4 << 20)).unwrap();
    let put = format!("put {} big", from.display());
    let small = server(Options { size: 1 << 20, ..Options::default() });
    let full = text_of(&smbclient(&small, &put, &[]));
    assert!(full.contains("NT_STATUS_DISK_FULL"), "{full}");
    let closed = server(Options { read_only: true, ..Options::default() });
    let denied = text_of(&smbclient(&closed, &put, &[]));
    assert!(denied.contains("NT_STATUS_ACCESS_DENIED"), "{denied}");
    let port = closed.address().port().to_string();
    for (share, who, status) in [
        ("plimsoll", format!("{USER}%wrong"), "NT_STATUS_LOGON_FAILURE"),
        ("plimsoll", format!("nobody%{PASSWORD}"), "NT_STATUS_LOGON_FAILURE"),
        ("elsewhere", format!("{USER}%{PASSWORD}"), "NT_STATUS_BAD_NETWORK_NAME"),
    ] {
        let output = run("smbclient", &[&format!("//127.0.0.1/{share}"), "-p", &port, "-U", &who, "-c", "ls"]);
        assert!(!output.status.success() && text_of(&output).contains(status), "{}", text_of(&output));
    }
    let open = Embedded::start(Kind::Smb, Options::default()).unwrap();
    let port = open.address().port().to_string();
    must(run("smbclient", &["//127.0.0.1/plimsoll", "-p", &port, "-N", "-c", "mkdir anonymous; ls"]));
}

#[test]
fn many_clients_at_once() {
    if !needs(&["smbclient"]) {
        return;
    }
    let server = server(Options::default());
    let folder = scratch("smb-many");
    std::thread::scope(|scope| {
        for number in 0..64_u64 {
            let (server, folder) = (&server, &folder);
            scope.spawn(move || {
                let content = bytes(number, 100_000 + number as usize);
                put_and_get(server, folder, &format!("many{number}"), &content, &[]);
            });
        }
    });
}
