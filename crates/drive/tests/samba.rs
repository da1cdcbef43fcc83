//! The SMB client against a real Samba.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_drive::action::{Access, Caching, Disposition};
use plimsoll_drive::client::blocking::Blocking;
use plimsoll_drive::client::calls::Identity;
use plimsoll_drive::client::smb::auth::{Credentials, Secret};
use plimsoll_drive::client::smb::{SmbClient, SmbOptions};
use plimsoll_drive::content::Content;
use plimsoll_drive::{Action, FileKey, Reply};
use plimsoll_model::{Endpoint, Symbol};
use plimsoll_testkit::servers::{Samba, Share};

/// Longer than any action takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::print_stdout, reason = "the reason for skipping")]
fn samba(settings: &[&str]) -> Option<Samba> {
    match Samba::start(settings) {
        Ok(samba) => Some(samba),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

fn user() -> Credentials {
    Credentials {
        domain: String::new(),
        user: Samba::USER.to_owned(),
        password: Secret::new(Samba::PASSWORD.to_owned()),
    }
}

fn options(share: Share) -> SmbOptions {
    SmbOptions::new("127.0.0.1", share.name(), user())
}

fn open(samba: &Samba, options: SmbOptions) -> Blocking<SmbClient> {
    let options = Arc::new(options);
    let server = Endpoint { ip: samba.address().ip(), port: samba.address().port() };
    Blocking::open(samba.address(), PATIENCE, |local| {
        let client = Endpoint { ip: local.ip(), port: local.port() };
        let identity = Identity { client, server, connection: 0, share: Symbol::NONE, user: Symbol::NONE };
        let mut guid = [7; 16];
        guid[..2].copy_from_slice(&local.port().to_le_bytes());
        SmbClient::new(options, identity, guid)
    })
    .unwrap()
}

fn connect(samba: &Samba, options: SmbOptions) -> Blocking<SmbClient> {
    let mut client = open(samba, options);
    assert_eq!(client.connect(), Ok(Reply::Nothing), "{}", samba.log());
    client
}

fn opened(client: &mut Blocking<SmbClient>, path: &str, disposition: Disposition) -> FileKey {
    let action = Action::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None };
    match client.act(&action) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn writes_and_reads() {
    let Some(samba) = samba(&[]) else { return };
    let mut client = connect(&samba, options(Share::Data));
    assert_eq!(client.act(&Action::Null), Ok(Reply::Nothing));
    let content = Arc::new(Content::new(1));
    let file = opened(&mut client, "a file", Disposition::CreateNew);
    let write = Action::Write { file, offset: 0, length: 100_000, content: &content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 100_000 }));
    let written = std::fs::read(samba.folder(Share::Data).unwrap().join("a file")).unwrap();
    assert!(written.len() == 100_000 && content.matches(3, 0, &written));
    assert_eq!(client.act(&Action::Read { file, offset: 0, length: 1, keep: false }), Ok(Reply::Read { bytes: 1 }));
    let read = Action::Read { file, offset: 50_000, length: 100_000, keep: true };
    assert_eq!(client.act(&read), Ok(Reply::Read { bytes: 50_000 }));
    let data: Vec<u8> = client.seen.data.drain(..).flat_map(|(_, _, data)| data).collect();
    assert!(data.len() == 50_000 && content.matches(3, 50_000, &data));
    let beyond = Action::Read { file, offset: 200_000, length: 10, keep: false };
    assert_eq!(client.act(&beyond), Ok(Reply::Read { bytes: 0 }));
    assert_eq!(client.act(&Action::Close { file }), Ok(Reply::Nothing));
    assert_eq!(client.leave(), Ok(Reply::Nothing));
}
