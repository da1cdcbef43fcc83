//! The SMB client against a real Samba.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_drive::action::{Access, Caching, Cause, Disposition};
use plimsoll_drive::client::Client;
use plimsoll_drive::client::blocking::Blocking;
use plimsoll_drive::client::calls::Identity;
use plimsoll_drive::client::smb::auth::{Credentials, Secret};
use plimsoll_drive::client::smb::sealing::Cipher;
use plimsoll_drive::client::smb::signing::SigningAlgorithm;
use plimsoll_drive::client::smb::{Dialect, Negotiated, SmbClient, SmbOptions, Wish};
use plimsoll_drive::content::Content;
use plimsoll_drive::{Action, Failure, FileKey, Reply};
use plimsoll_model::{Endpoint, Outcome, Symbol};
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
    open_shared(samba, Arc::new(options))
}

fn open_shared(samba: &Samba, options: Arc<SmbOptions>) -> Blocking<SmbClient> {
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

fn connect_shared(samba: &Samba, options: &Arc<SmbOptions>) -> Blocking<SmbClient> {
    let mut client = open_shared(samba, options.clone());
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

/// Everything that a client can do, once.
fn tour(client: &mut Blocking<SmbClient>, samba: &Samba) {
    let disk = samba.folder(Share::Data).unwrap();
    let content = Arc::new(Content::new(1));
    let fine = Ok(Reply::Nothing);
    assert_eq!(client.act(&Action::Null), fine);
    assert_eq!(client.act(&Action::MakeDirectory { path: "dir" }), fine);
    assert!(disk.join("dir").is_dir());

    let file = opened(client, "dir/fil\u{e9}", Disposition::CreateNew);
    let write = Action::Write { file, offset: 0, length: 100_000, content: &content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 100_000 }));
    let written = std::fs::read(disk.join("dir/fil\u{e9}")).unwrap();
    assert!(written.len() == 100_000 && content.matches(3, 0, &written));
    assert_eq!(client.act(&Action::Read { file, offset: 0, length: 1, keep: false }), Ok(Reply::Read { bytes: 1 }));
    let most = Action::Read { file, offset: 10_000, length: 65_536, keep: false };
    assert_eq!(client.act(&most), Ok(Reply::Read { bytes: 65_536 }));
    assert_eq!(read_back(client, file, 50_000, 100_000), written[50_000..]);
    let beyond = Action::Read { file, offset: 200_000, length: 10, keep: false };
    assert_eq!(client.act(&beyond), Ok(Reply::Read { bytes: 0 }));
    assert_eq!(client.act(&Action::Flush { file }), fine);
    let whole = Ok(Reply::Attributes { size: 100_000, directory: false });
    assert_eq!(client.act(&Action::GetAttributesOf { file }), whole);
    assert_eq!(client.act(&Action::GetAttributes { path: "dir/fil\u{e9}" }), whole);
    let size = std::fs::metadata(&disk).unwrap().len();
    assert!(
        matches!(client.act(&Action::GetAttributes { path: "" }), Ok(Reply::Attributes { directory: true, .. })),
        "{size}"
    );
    assert_eq!(client.act(&Action::SetSize { file, size: 1_234 }), fine);
    assert_eq!(std::fs::metadata(disk.join("dir/fil\u{e9}")).unwrap().len(), 1_234);

    let copy = opened(client, "dir/copy", Disposition::CreateNew);
    let copied = client.act(&Action::CopyOnServer { from: file, to: copy, length: 1_234 });
    assert_eq!(copied, Ok(Reply::Written { bytes: 1_234 }));
    assert_eq!(std::fs::read(disk.join("dir/copy")).unwrap(), written[..1_234]);
    assert_eq!(client.act(&Action::Lock { file, offset: 0, length: 10, exclusive: true, wait: false }), fine);
    assert_eq!(client.act(&Action::Unlock { file, offset: 0, length: 10 }), fine);
    assert_eq!(client.act(&Action::Close { file: copy }), fine);
    assert_eq!(client.act(&Action::Close { file }), fine);
    assert_eq!(client.act(&Action::Close { file }).unwrap_err().cause, Cause::Unsupported, "it is closed");

    assert_eq!(client.act(&Action::List { path: "dir" }), Ok(Reply::Listed { entries: 2 }));
    let mut names: Vec<String> = client.seen.entries.drain(..).map(|(_, name)| name).collect();
    names.sort();
    assert_eq!(names, ["copy", "fil\u{e9}"]);
    let before = std::fs::metadata(disk.join("dir/copy")).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(client.act(&Action::SetAttributes { path: "dir/copy", mode: 0o600 }), fine);
    assert!(std::fs::metadata(disk.join("dir/copy")).unwrap().modified().unwrap() > before);
    assert_eq!(client.act(&Action::Access { path: "dir/copy" }), fine);
    assert_eq!(client.act(&Action::Rename { from: "dir/copy", to: "dir/fil\u{e9}" }), fine);
    assert!(!disk.join("dir/copy").exists());
    assert_eq!(client.act(&Action::Link { from: "dir/fil\u{e9}", to: "link" }), fine);
    assert_eq!(std::fs::read(disk.join("link")).unwrap(), written[..1_234]);
    assert_eq!(status(client.act(&Action::RemoveDirectory { path: "dir" })), 0xC000_0101, "not empty");
    assert_eq!(client.act(&Action::Remove { path: "dir/fil\u{e9}" }), fine);
    assert_eq!(client.act(&Action::Remove { path: "link" }), fine);
    assert_eq!(client.act(&Action::RemoveDirectory { path: "dir" }), fine);
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
    let gone = client.act(&Action::GetAttributes { path: "dir" }).unwrap_err();
    assert_eq!((gone.cause, gone.outcome, gone.status), (Cause::Status, Outcome::Refused, Some(0xC000_0034)));
    let Ok(Reply::Space { total, free }) = client.act(&Action::FileSystemInfo) else { panic!("no space") };
    assert!(total >= free && free > 0);
    for unsupported in [Action::ReadLink { path: "x" }, Action::SymbolicLink { path: "x", text: "y" }] {
        assert_eq!(client.act(&unsupported).unwrap_err().cause, Cause::Unsupported);
    }
}

fn status(result: Result<Reply, Failure>) -> u32 {
    result.unwrap_err().status.unwrap()
}

fn read_back(client: &mut Blocking<SmbClient>, file: FileKey, offset: u64, length: u32) -> Vec<u8> {
    client.seen.data.clear();
    let read = client.act(&Action::Read { file, offset, length, keep: true });
    let data: Vec<u8> = client.seen.data.drain(..).flat_map(|(_, _, data)| data).collect();
    assert_eq!(read, Ok(Reply::Read { bytes: data.len() as u32 }));
    data
}

/// Connects, does everything, and leaves; what was negotiated.
fn travel(samba: &Samba, options: SmbOptions) -> Negotiated {
    let options = Arc::new(options);
    let mut client = connect_shared(samba, &options);
    tour(&mut client, samba);
    assert_eq!(client.leave(), Ok(Reply::Nothing));
    assert_eq!((client.client.strangers(), client.client.outstanding()), (0, 0));
    for transaction in &client.seen.transactions {
        let (times, name) = (&transaction.timeline, transaction.procedure.name());
        assert!(times.response_time().is_some_and(|time| time >= 0), "{name} {times:?}");
        assert!(transaction.request_bytes >= Some(64) && transaction.response_bytes >= Some(64), "{name}");
    }
    *options.negotiated.get().unwrap()
}

#[test]
fn every_dialect() {
    let Some(samba) = samba(&[]) else { return };
    for dialect in Dialect::ALL {
        let mut options = options(Share::Data);
        options.dialects = dialect..=dialect;
        let agreed = travel(&samba, options);
        assert_eq!((agreed.dialect, agreed.signing, agreed.encryption), (dialect, None, None));
    }
    assert_eq!(travel(&samba, options(Share::Data)).dialect, Dialect::V311);
}

#[test]
fn a_server_that_demands_signatures() {
    let Some(samba) = samba(&["server signing = mandatory"]) else { return };
    for dialect in Dialect::ALL {
        let mut options = options(Share::Data);
        options.dialects = dialect..=dialect;
        let expected = match dialect {
            Dialect::V202 | Dialect::V210 => SigningAlgorithm::HmacSha256,
            Dialect::V300 | Dialect::V302 => SigningAlgorithm::AesCmac,
            Dialect::V311 => SigningAlgorithm::AesGmac,
        };
        assert_eq!(travel(&samba, options).signing, Some(expected), "{}", dialect.name());
    }
}

#[test]
fn a_client_that_demands_signatures() {
    let Some(samba) = samba(&[]) else { return };
    for algorithm in [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac, SigningAlgorithm::HmacSha256] {
        let mut options = options(Share::Data);
        options.signing = Wish::Demanded;
        options.signing_algorithms = vec![algorithm];
        assert_eq!(travel(&samba, options).signing, Some(algorithm));
    }
}

#[test]
fn a_server_that_demands_encryption() {
    let Some(samba) = samba(&["smb encrypt = required"]) else { return };
    for dialect in [Dialect::V300, Dialect::V302, Dialect::V311] {
        let mut options = options(Share::Data);
        options.dialects = dialect..=dialect;
        let expected = if dialect == Dialect::V311 { Cipher::Aes128Gcm } else { Cipher::Aes128Ccm };
        assert_eq!(travel(&samba, options).encryption, Some(expected), "{}", dialect.name());
    }
    let mut old = options(Share::Data);
    old.dialects = Dialect::V202..=Dialect::V210;
    let refused = open(&samba, old).connect().unwrap_err();
    assert!(refused.cause == Cause::ShareRefused || refused.cause == Cause::LogonRefused, "{refused:?}");
}

#[test]
fn a_client_that_demands_encryption() {
    let Some(samba) = samba(&[]) else { return };
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes128Ccm, Cipher::Aes256Gcm, Cipher::Aes256Ccm] {
        let mut options = options(Share::Data);
        options.encryption = Wish::Demanded;
        options.ciphers = vec![cipher];
        assert_eq!(travel(&samba, options).encryption, Some(cipher));
    }
    let mut old = options(Share::Data);
    (old.encryption, old.dialects) = (Wish::Demanded, Dialect::V210..=Dialect::V210);
    assert_eq!(open(&samba, old).connect().unwrap_err().cause, Cause::Untrusted);
}
