//! The SMB client against a real Samba.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::Client;
use plimsoll_client::blocking::Blocking;
use plimsoll_client::calls::Identity;
use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::smb2::auth::{Credentials, Secret};
use plimsoll_client::smb2::signing::SigningAlgorithm;
use plimsoll_client::smb2::{Dialect, LogonIdentity, Negotiated, Requirement, SmbClient, SmbOptions};
use plimsoll_client::{Failure, FileKey, Operation, Reply};
use plimsoll_model::{Endpoint, Outcome, Symbol};
use plimsoll_testkit::servers::{Samba, Scratch, Share, available};
use plimsoll_wire::smb2::negotiate::Cipher;

/// Longer than any operation takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn samba(settings: &[&str]) -> Option<Samba> {
    available(Samba::start(settings))
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
    let operation = Operation::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None };
    match client.act(&operation) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{path}: {other:?}"),
    }
}

/// Everything that a client can do, once.
fn tour(client: &mut Blocking<SmbClient>, samba: &Samba, dialect: Dialect) {
    let disk = samba.folder(Share::Data).unwrap();
    let content = Arc::new(Content::new(1));
    let fine = Ok(Reply::Nothing);
    assert_eq!(client.act(&Operation::Null), fine);
    assert_eq!(client.act(&Operation::Mkdir { path: "dir" }), fine);
    assert!(disk.join("dir").is_dir());

    let file = opened(client, "dir/fil\u{e9}", Disposition::Create);
    let write = Operation::Write { file, offset: 0, length: 100_000, content: &content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 100_000 }));
    let written = std::fs::read(disk.join("dir/fil\u{e9}")).unwrap();
    assert!(written.len() == 100_000 && content.matches(3, 0, &written));
    assert_eq!(client.act(&Operation::Read { file, offset: 0, length: 1, keep: false }), Ok(Reply::Read { bytes: 1 }));
    let most = Operation::Read { file, offset: 10_000, length: 65_536, keep: false };
    assert_eq!(client.act(&most), Ok(Reply::Read { bytes: 65_536 }));
    assert_eq!(read_back(client, file, 50_000, 100_000), written[50_000..]);
    let beyond = Operation::Read { file, offset: 200_000, length: 10, keep: false };
    assert_eq!(client.act(&beyond), Ok(Reply::Read { bytes: 0 }));
    assert_eq!(client.act(&Operation::Flush { file }), fine);
    let whole = Ok(Reply::Attributes { size: 100_000, directory: false });
    assert_eq!(client.act(&Operation::GetattrOpen { file }), whole);
    assert_eq!(client.act(&Operation::Getattr { path: "dir/fil\u{e9}" }), whole);
    let size = std::fs::metadata(&disk).unwrap().len();
    assert!(
        matches!(client.act(&Operation::Getattr { path: "" }), Ok(Reply::Attributes { directory: true, .. })),
        "{size}"
    );
    assert_eq!(client.act(&Operation::Truncate { file, size: 1_234 }), fine);
    assert_eq!(std::fs::metadata(disk.join("dir/fil\u{e9}")).unwrap().len(), 1_234);

    write_through(client, file, &content, dialect);
    let copy = opened(client, "dir/copy", Disposition::Create);
    let copied = client.act(&Operation::Copy { from: file, to: copy, length: 1_234 });
    assert_eq!(copied, Ok(Reply::Written { bytes: 1_234 }));
    assert_eq!(std::fs::read(disk.join("dir/copy")).unwrap(), written[..1_234]);
    assert_eq!(client.act(&Operation::Lock { file, offset: 0, length: 10, exclusive: true, wait: false }), fine);
    assert_eq!(client.act(&Operation::Unlock { file, offset: 0, length: 10 }), fine);
    assert_eq!(client.act(&Operation::Close { file: copy }), fine);
    assert_eq!(client.act(&Operation::Close { file }), fine);
    assert_eq!(client.act(&Operation::Close { file }).unwrap_err().cause, Cause::Unsupported, "it is closed");

    assert_eq!(client.act(&Operation::List { path: "dir" }), Ok(Reply::Listed { entries: 2 }));
    let mut names: Vec<String> = client.seen.entries.drain(..).map(|(_, name)| name).collect();
    names.sort();
    assert_eq!(names, ["copy", "fil\u{e9}"]);
    let before = std::fs::metadata(disk.join("dir/copy")).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(client.act(&Operation::Setattr { path: "dir/copy", mode: 0o600 }), fine);
    assert!(std::fs::metadata(disk.join("dir/copy")).unwrap().modified().unwrap() > before);
    for operation in [
        Operation::Access { path: "dir/copy" },
        Operation::Lookup { path: "dir/copy" },
        Operation::Readlink { path: "dir/copy" },
    ] {
        assert_eq!(client.act(&operation), fine, "{operation:?}");
    }
    assert_eq!(client.act(&Operation::ListNames { path: "dir" }), Ok(Reply::Listed { entries: 2 }));
    assert_eq!(client.act(&Operation::Rename { from: "dir/copy", to: "dir/fil\u{e9}" }), fine);
    assert!(!disk.join("dir/copy").exists());
    assert_eq!(client.act(&Operation::Link { from: "dir/fil\u{e9}", to: "link" }), fine);
    assert_eq!(std::fs::read(disk.join("link")).unwrap(), written[..1_234]);
    assert_eq!(status(client.act(&Operation::Rmdir { path: "dir" })), 0xC000_0101, "not empty");
    assert_eq!(client.act(&Operation::Remove { path: "dir/fil\u{e9}" }), fine);
    assert_eq!(client.act(&Operation::Remove { path: "link" }), fine);
    assert_eq!(client.act(&Operation::Rmdir { path: "dir" }), fine);
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
    let gone = client.act(&Operation::Getattr { path: "dir" }).unwrap_err();
    assert_eq!((gone.cause, gone.outcome, gone.status), (Cause::Status, Outcome::Refused, Some(0xC000_0034)));
    let Ok(Reply::Space { total, free }) = client.act(&Operation::Fsinfo) else { panic!("no space") };
    assert!(total >= free && free > 0);
    let unsupported = Operation::Symlink { path: "x", text: "y" };
    assert_eq!(client.act(&unsupported).unwrap_err().cause, Cause::Unsupported);
}

/// Older dialects have no valid request for it.
fn write_through(client: &mut Blocking<SmbClient>, file: FileKey, content: &Arc<Content>, dialect: Dialect) {
    let expected = match dialect >= Dialect::V302 {
        true => Ok(Reply::Written { bytes: 1_000 }),
        false => Err(Failure::never_sent(Cause::NoWriteThrough)),
    };
    assert_eq!(client.act(&Operation::WriteThrough { file, offset: 0, length: 1_000, content, key: 3 }), expected);
}

fn status(result: Result<Reply, Failure>) -> u32 {
    result.unwrap_err().status.unwrap()
}

fn read_back(client: &mut Blocking<SmbClient>, file: FileKey, offset: u64, length: u32) -> Vec<u8> {
    client.seen.data.clear();
    let read = client.act(&Operation::Read { file, offset, length, keep: true });
    let data: Vec<u8> = client.seen.data.drain(..).flat_map(|(_, _, data)| data).collect();
    assert_eq!(read, Ok(Reply::Read { bytes: data.len() as u32 }));
    data
}

/// Connects, performs every operation, and leaves; returns the negotiated parameters.
fn travel(samba: &Samba, options: SmbOptions) -> Negotiated {
    let options = Arc::new(options);
    let mut client = connect_shared(samba, &options);
    let dialect = options.negotiated.get().unwrap().dialect;
    tour(&mut client, samba, dialect);
    assert_eq!(client.leave(), Ok(Reply::Nothing));
    assert_eq!((client.client.unmatched_responses(), client.client.outstanding()), (0, 0));
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
        options.signing = Requirement::Demanded;
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
        options.encryption = Requirement::Demanded;
        options.ciphers = vec![cipher];
        assert_eq!(travel(&samba, options).encryption, Some(cipher));
    }
    let mut old = options(Share::Data);
    (old.encryption, old.dialects) = (Requirement::Demanded, Dialect::V210..=Dialect::V210);
    assert_eq!(open(&samba, old).connect().unwrap_err().cause, Cause::NotOffered);
}

#[test]
fn who_may_log_on_and_where() {
    let Some(samba) = samba(&[]) else { return };
    let failed = |options: SmbOptions| open(&samba, options).connect().unwrap_err();
    for dialect in Dialect::ALL {
        let mut wrong = options(Share::Data);
        wrong.dialects = dialect..=dialect;
        wrong.accounts[0].credentials.password = Secret::new("Load-line 8".to_owned());
        let failure = failed(wrong);
        assert_eq!((failure.cause, failure.status), (Cause::LogonRefused, Some(0xC000_006D)), "{}", dialect.name());
        let mut nowhere = options(Share::Data);
        nowhere.dialects = dialect..=dialect;
        nowhere.share = "nowhere".to_owned();
        let failure = failed(nowhere);
        assert_eq!((failure.cause, failure.status), (Cause::ShareRefused, Some(0xC000_00CC)), "{}", dialect.name());
    }
    // After a refused logon, operations and leaving end properly too.
    let mut wrong = options(Share::Data);
    wrong.accounts[0].credentials.password = Secret::new(String::new());
    let mut client = open(&samba, wrong);
    assert!(client.connect().is_err());
    assert_eq!(client.act(&Operation::Null).unwrap_err().cause, Cause::LogonRefused);
    assert_eq!(client.leave(), Ok(Reply::Nothing));

    for credentials in [Credentials::guest(), Credentials::anonymous()] {
        let options = Arc::new(SmbOptions::new("127.0.0.1", Share::Guest.name(), credentials.clone()));
        let mut client = connect_shared(&samba, &options);
        let identity = if credentials.is_anonymous() { LogonIdentity::Anonymous } else { LogonIdentity::Guest };
        assert_eq!(options.logons.lock().unwrap().all().get(&0), Some(&identity));
        assert_eq!(client.act(&Operation::Null), Ok(Reply::Nothing));
        assert_eq!(client.leave(), Ok(Reply::Nothing));
        let elsewhere = SmbOptions::new("127.0.0.1", Share::Data.name(), credentials.clone());
        assert_eq!(failed(elsewhere).cause, Cause::ShareRefused);
        let mut signed = SmbOptions::new("127.0.0.1", Share::Guest.name(), credentials);
        signed.signing = Requirement::Demanded;
        assert_eq!(failed(signed).cause, Cause::NoSessionKey, "without a key nothing is signed");
    }
}

#[test]
fn shares_that_take_nothing_more() {
    let Some(samba) = samba(&[]) else { return };
    let denied = 0xC000_0022;
    std::fs::write(samba.folder(Share::ReadOnly).unwrap().join("there"), b"12345").unwrap();
    let mut client = connect_shared(&samba, &Arc::new(options(Share::ReadOnly)));
    let operation =
        |access, disposition| Operation::Open { path: "there", access, disposition, caching: Caching::None };
    assert_eq!(status(client.act(&operation(Access::Write, Disposition::Open))), denied);
    assert_eq!(status(client.act(&Operation::Mkdir { path: "dir" })), denied);
    assert_eq!(status(client.act(&Operation::Remove { path: "there" })), denied);
    let opened = client.act(&operation(Access::Read, Disposition::Open));
    let Ok(Reply::Opened { file, size: Some(5) }) = opened else { panic!("{opened:?}") };
    assert_eq!(read_back(&mut client, file, 0, 10), b"12345");

    let Some(_) = samba.folder(Share::Small) else { return };
    let mut client = connect_shared(&samba, &Arc::new(options(Share::Small)));
    let content = Arc::new(Content::new(1));
    let file = self::opened(&mut client, "large", Disposition::Create);
    let length = u32::try_from(2 * Samba::SMALL).unwrap();
    let full = client.act(&Operation::Write { file, offset: 0, length, content: &content, key: 1 });
    match full {
        Err(failure) => assert_eq!((failure.cause, failure.status), (Cause::Status, Some(0xC000_007F))),
        Ok(Reply::Written { bytes }) => assert!(bytes < length, "as much as there was room for"),
        other => panic!("{other:?}"),
    }
    let more = Operation::Write { file, offset: u64::from(length), length: 65_536, content: &content, key: 1 };
    assert_eq!(status(client.act(&more)), 0xC000_007F);
    assert_eq!(client.act(&Operation::Close { file }), Ok(Reply::Nothing));
}

/// Until all that is on its way is held by the server: answers to something later show it.
fn until_held(client: &mut Blocking<SmbClient>) {
    while client.client.outstanding() > 0 {
        assert_eq!(client.act(&Operation::Null), Ok(Reply::Nothing));
    }
    assert_eq!(client.act(&Operation::Null), Ok(Reply::Nothing));
}

#[test]
fn what_waits_by_design() {
    let Some(samba) = samba(&[]) else { return };
    for dialect in [Dialect::V202, Dialect::V311] {
        let mut options = options(Share::Data);
        options.dialects = dialect..=dialect;
        let options = Arc::new(options);
        let (mut one, mut two) = (connect_shared(&samba, &options), connect_shared(&samba, &options));
        let (held, other) = (
            opened(&mut one, "locked", Disposition::OpenOrCreate),
            opened(&mut two, "locked", Disposition::OpenOrCreate),
        );
        let lock = |file, wait| Operation::Lock { file, offset: 0, length: 10, exclusive: true, wait };
        assert_eq!(one.act(&lock(held, false)), Ok(Reply::Nothing));
        assert_eq!(status(two.act(&lock(other, false))), 0xC000_0055, "LOCK_NOT_GRANTED");
        let waiting = two.begin(&lock(other, true));
        until_held(&mut two);
        let later = two.now() + 1;
        two.client.overdue(later, later, &mut two.seen);
        assert_eq!(one.act(&Operation::Unlock { file: held, offset: 0, length: 10 }), Ok(Reply::Nothing));
        assert_eq!(two.wait(waiting), Ok(Reply::Nothing));
        let row = two.seen.transactions.iter().rev().find(|row| row.procedure.name() == "LOCK").unwrap();
        assert!(row.long_lived && row.timeline.interim.is_some() && row.outcome == Outcome::Succeeded, "{row:?}");

        let blocked = one.begin(&lock(held, true));
        let watching = one.begin(&Operation::Watch { path: "" });
        until_held(&mut one);
        for tag in [blocked, watching] {
            assert_eq!(one.act(&Operation::Cancel { tag }), Ok(Reply::Nothing));
            let failure = one.wait(tag).unwrap_err();
            let expected = (Cause::Status, Outcome::Cancelled, Some(0xC000_0120));
            // Samba says of a lock taken back that it was not granted.
            let not_granted = (Cause::Status, Outcome::Refused, Some(0xC000_0055));
            let found = (failure.cause, failure.outcome, failure.status);
            assert!(found == expected || tag == blocked && found == not_granted, "{failure:?}");
        }
        let watching = one.begin(&Operation::Watch { path: "" });
        until_held(&mut one);
        // Samba's watches begin a little after they are held: changes until one is seen.
        let mut changes = 0;
        let seen = loop {
            assert_eq!(two.act(&Operation::Mkdir { path: "new" }), Ok(Reply::Nothing));
            assert_eq!(two.act(&Operation::Rmdir { path: "new" }), Ok(Reply::Nothing));
            one.run_for(Duration::from_millis(5));
            changes += 1;
            if let Some(done) = one.take_done(watching) {
                break done;
            }
            assert!(changes < 10_000, "no change was seen");
        };
        assert_eq!(seen, Ok(Reply::Nothing));
        assert_eq!((one.leave(), two.leave()), (Ok(Reply::Nothing), Ok(Reply::Nothing)));
    }
}

#[test]
fn breaks_are_agreed_to() {
    let Some(samba) = samba(&[]) else { return };
    agree_to_breaks(&samba, &Dialect::ALL, Requirement::ServerDefault);
}

#[test]
fn breaks_are_agreed_to_where_all_else_is_encrypted() {
    let encrypting = [Dialect::V300, Dialect::V302, Dialect::V311];
    let Some(demanding) = samba(&["smb encrypt = required"]) else { return };
    agree_to_breaks(&demanding, &encrypting, Requirement::ServerDefault);
    let Some(willing) = samba(&[]) else { return };
    agree_to_breaks(&willing, &encrypting, Requirement::Demanded);
}

fn agree_to_breaks(samba: &Samba, dialects: &[Dialect], encryption: Requirement) {
    for &dialect in dialects {
        let mut options = options(Share::Data);
        options.dialects = dialect..=dialect;
        options.encryption = encryption;
        let options = Arc::new(options);
        for (number, caching) in
            [Caching::LevelTwo, Caching::Exclusive, Caching::Batch, Caching::Lease, Caching::Durable]
                .into_iter()
                .enumerate()
        {
            let (mut one, mut two) = (connect_shared(samba, &options), connect_shared(samba, &options));
            let path = format!("{}-{number}", dialect.name());
            let access = Access::ReadWrite;
            let cached = Operation::Open { path: &path, access, disposition: Disposition::Create, caching };
            assert!(one.act(&cached).is_ok(), "{path} {caching:?}");
            // No other client can open it before the caching client agrees: both must act.
            let disposition = Disposition::OverwriteOrCreate;
            let opening = two.begin(&Operation::Open { path: &path, access, disposition, caching: Caching::None });
            let mut rounds = 0;
            let opened = loop {
                one.run_for(Duration::from_millis(5));
                two.run_for(Duration::from_millis(5));
                rounds += 1;
                if let Some(done) = two.take_done(opening) {
                    break done;
                }
                assert!(rounds < 10_000, "{path} {caching:?}: the break was not agreed to");
            };
            assert!(opened.is_ok(), "{path} {caching:?} {opened:?}");
            assert_eq!(
                one.act(&Operation::Null),
                Ok(Reply::Nothing),
                "whose answer comes after those to the agreement"
            );
            // Samba gives up on clients that say nothing after 30 s and more: it did not have to.
            let breaks = one.seen.transactions.iter().filter(|row| row.procedure.name() == "OPLOCK_BREAK").count();
            assert_eq!(breaks > 0, caching != Caching::LevelTwo, "{path} {caching:?}");
            assert_eq!(one.leave(), Ok(Reply::Nothing));
        }
    }
}

#[test]
fn smbclient_reads_what_we_wrote_and_the_reverse() {
    let Some(samba) = samba(&[]) else { return };
    const LENGTH: u32 = 3_000_001;
    let content = Arc::new(Content::new(9));
    let mut client = connect_shared(&samba, &Arc::new(options(Share::Data)));
    let file = opened(&mut client, "ours", Disposition::Create);
    let write = Operation::Write { file, offset: 0, length: LENGTH, content: &content, key: 5 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: LENGTH }));
    assert_eq!(client.act(&Operation::Close { file }), Ok(Reply::Nothing));
    let got = samba.smbclient(Share::Data, "get ours -").stdout;
    assert!(got.len() >= LENGTH as usize && content.matches(5, 0, &got[..LENGTH as usize]), "{} bytes", got.len());

    let folder = Scratch::new("theirs");
    let theirs: Vec<u8> = content.pieces(6, 0, LENGTH as usize).flat_map(|p| content.block()[p].to_vec()).collect();
    std::fs::write(folder.path().join("theirs"), &theirs).unwrap();
    let put = samba.smbclient(Share::Data, &format!("lcd {}; put theirs", folder.path().display()));
    assert!(put.status.success(), "{put:?}");
    let file = opened(&mut client, "theirs", Disposition::Open);
    assert!(read_back(&mut client, file, 0, LENGTH + 1) == theirs);
}

#[test]
fn long_transfers_and_many_at_once() {
    let content = Arc::new(Content::new(2));
    const LONG: u32 = 8 << 20;
    // As Samba has it; two requests for each transfer; a few credits, which allow 64 KiB at a time.
    for settings in [&[][..], &["smb2 max read = 5000000", "smb2 max write = 5000000"], &["smb2 max credits = 4"]] {
        for dialect in [Dialect::V202, Dialect::V311] {
            let Some(samba) = samba(settings) else { return };
            let mut options = options(Share::Data);
            options.dialects = dialect..=dialect;
            let mut client = connect_shared(&samba, &Arc::new(options));
            let file = opened(&mut client, "long", Disposition::Create);
            let write = Operation::Write { file, offset: 7, length: LONG, content: &content, key: 5 };
            assert_eq!(client.act(&write), Ok(Reply::Written { bytes: LONG }));
            let written = std::fs::read(samba.folder(Share::Data).unwrap().join("long")).unwrap();
            assert!(written.len() == LONG as usize + 7 && content.matches(5, 7, &written[7..]));
            assert!(read_back(&mut client, file, 7, LONG) == written[7..]);
            let read = Operation::Read { file, offset: 7, length: LONG, keep: false };
            assert_eq!(client.act(&read), Ok(Reply::Read { bytes: LONG }));
            let many: Vec<_> = (0..64)
                .map(|n| client.begin(&Operation::Read { file, offset: 7 + 1000 * n, length: 1000, keep: true }))
                .collect();
            assert!(client.client.outstanding() >= 64);
            for tag in many {
                assert_eq!(client.wait(tag), Ok(Reply::Read { bytes: 1000 }));
            }
            for (_, offset, data) in client.seen.data.drain(..) {
                assert!(content.matches(5, offset, &data));
            }
            assert_eq!(client.act(&Operation::Getattr { path: "long" }).map(|_| ()), Ok(()));
            assert_eq!(client.act(&Operation::List { path: "" }), Ok(Reply::Listed { entries: 1 }));
            assert_eq!(client.leave(), Ok(Reply::Nothing));
        }
    }
}

#[test]
fn a_server_that_dies() {
    let Some(mut samba) = samba(&[]) else { return };
    let options = Arc::new(options(Share::Data));
    let mut client = connect_shared(&samba, &options);
    let file = opened(&mut client, "file", Disposition::Create);
    let held = client.begin(&Operation::Watch { path: "" });
    until_held(&mut client);
    samba.kill();
    let read = client.act(&Operation::Read { file, offset: 0, length: 1, keep: false }).unwrap_err();
    let gone = [Cause::ConnectionReset, Cause::ConnectionClosed];
    assert!(gone.contains(&read.cause), "{read:?}");
    assert!(gone.contains(&client.wait(held).unwrap_err().cause));
    assert!(client.act(&Operation::Null).is_err() && client.client.outstanding() == 0);
    samba.restart();
    let mut client = connect_shared(&samba, &options);
    let Ok(Reply::Attributes { .. }) = client.act(&Operation::Getattr { path: "file" }) else { panic!("gone") };
}
