//! The NFSv3 client against a real NFS-Ganesha.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::Client;
use plimsoll_client::blocking::Blocking;
use plimsoll_client::calls::Identity;
use plimsoll_client::content::Content;
use plimsoll_client::nfs3::{self, MountError, NfsClient, NfsOptions, Ports};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::{FileKey, Operation, Reply};
use plimsoll_model::{Endpoint, Outcome, Symbol};
use plimsoll_testkit::servers::{Export, Ganesha, Scratch, available};
use plimsoll_wire::rpc::Caller;

/// Longer than any operation takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const ROOT: Caller<'static> = Caller::User { stamp: 1, machine: "plimsoll", uid: 0, gid: 0, groups: &[] };
pub(crate) const FINE: Result<Reply, plimsoll_client::Failure> = Ok(Reply::Nothing);

pub(crate) fn ganesha() -> Option<Ganesha> {
    available(Ganesha::start())
}

fn ports(ganesha: &Ganesha) -> Ports {
    Ports { mount: Some(ganesha.mount_port()), portmap: 111, reserved: false, timeout: PATIENCE, security: None }
}

fn mounted(ganesha: &Ganesha, export: Export) -> Arc<NfsOptions> {
    let mounted = nfs3::mount(ganesha.address(), export.path(), &ports(ganesha), None, &ROOT).unwrap();
    Arc::new(NfsOptions::new(mounted.root, &ROOT).unwrap())
}

fn open(ganesha: &Ganesha, options: &Arc<NfsOptions>) -> Blocking<NfsClient> {
    let server = Endpoint { ip: ganesha.address().ip(), port: ganesha.address().port() };
    let mut client = Blocking::open(ganesha.address(), PATIENCE, |local| {
        let client = Endpoint { ip: local.ip(), port: local.port() };
        let identity = Identity { client, server, connection: 0, share: Symbol::NONE, user: Symbol::NONE };
        NfsClient::new(options.clone(), identity)
    })
    .unwrap();
    assert_eq!(client.connect(), FINE);
    client
}

pub(crate) fn file<C: Client>(client: &mut Blocking<C>, path: &str, disposition: Disposition) -> FileKey {
    match client.act(&Operation::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None }) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{path}: {other:?}"),
    }
}

pub(crate) fn read_back<C: Client>(client: &mut Blocking<C>, file: FileKey, length: u32) -> Vec<u8> {
    client.seen.data.clear();
    assert_eq!(client.act(&Operation::Read { file, offset: 0, length, keep: true }), Ok(Reply::Read { bytes: length }));
    let mut bytes = vec![0; length as usize];
    for (_, offset, piece) in client.seen.data.drain(..) {
        bytes[offset as usize..][..piece.len()].copy_from_slice(&piece);
    }
    bytes
}

/// Everything that a client can do, once. Ganesha's memory file system keeps sizes and no data.
pub(crate) fn tour<C: Client>(client: &mut Blocking<C>, content: &Arc<Content>, keeps_data: bool) {
    assert_eq!(client.act(&Operation::Null), FINE);
    assert_eq!(client.act(&Operation::Mkdir { path: "dir" }), FINE);
    assert_eq!(client.act(&Operation::Mkdir { path: "dir/sub" }), FINE);
    let one = file(client, "dir/sub/fil\u{e9}", Disposition::Create);
    let write = Operation::Write { file: one, offset: 0, length: 100_001, content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 100_001 }));
    assert_eq!(client.act(&Operation::Flush { file: one }), FINE);
    assert_eq!(content.matches(3, 0, &read_back(client, one, 100_001)), keeps_data);
    let read = |offset, length| Operation::Read { file: one, offset, length, keep: false };
    assert_eq!(client.act(&read(100_000, 9)), Ok(Reply::Read { bytes: 1 }));
    assert_eq!(client.act(&read(0, 65_537)), Ok(Reply::Read { bytes: 65_537 }));
    assert_eq!(client.act(&read(200_000, 10)), Ok(Reply::Read { bytes: 0 }));
    let whole = Ok(Reply::Attributes { size: 100_001, directory: false });
    assert_eq!(client.act(&Operation::GetattrOpen { file: one }), whole);
    assert_eq!(client.act(&Operation::Getattr { path: "dir/sub/fil\u{e9}" }), whole);
    assert!(matches!(client.act(&Operation::Getattr { path: "" }), Ok(Reply::Attributes { directory: true, .. })));
    assert_eq!(client.act(&Operation::Truncate { file: one, size: 1_234 }), FINE);
    let again = client.act(&Operation::Open {
        path: "dir/sub/fil\u{e9}",
        access: Access::Read,
        disposition: Disposition::Open,
        caching: Caching::None,
    });
    assert!(matches!(again, Ok(Reply::Opened { size: Some(1_234), .. })), "{again:?}");
    assert_eq!(client.act(&Operation::Setattr { path: "dir/sub/fil\u{e9}", mode: 0o600 }), FINE);
    assert_eq!(client.act(&Operation::Access { path: "dir" }), FINE);
    assert_eq!(client.act(&Operation::Symlink { path: "dir/soft", text: "sub/fil\u{e9}" }), FINE);
    assert_eq!(client.act(&Operation::Readlink { path: "dir/soft" }), Ok(Reply::Text("sub/fil\u{e9}".to_owned())));
    assert!(matches!(client.act(&Operation::Fsinfo), Ok(Reply::Space { .. })));
    assert_eq!(client.act(&Operation::Rename { from: "dir/sub/fil\u{e9}", to: "dir/moved" }), FINE);
    let gone = client.act(&Operation::Getattr { path: "dir/sub/fil\u{e9}" }).unwrap_err();
    assert_eq!((gone.status, gone.outcome, gone.cause), (Some(2), Outcome::Refused, Cause::Status));
    assert_eq!(client.act(&Operation::Lookup { path: "dir/moved" }), FINE);
    let missing = client.act(&Operation::Lookup { path: "dir/never" }).unwrap_err();
    let named = missing.procedure.is_some_and(|procedure| procedure.name() == "LOOKUP");
    assert!(named && missing.status == Some(2), "{missing}");
    assert_eq!(client.act(&Operation::ListNames { path: "dir" }), Ok(Reply::Listed { entries: 3 }));
    let (access, disposition, caching) = (Access::ReadWrite, Disposition::Open, Caching::Handle);
    let known = client.act(&Operation::Open { path: "dir/moved", access, disposition, caching });
    let Ok(Reply::Opened { file: known, size: None }) = known else { panic!("{known:?}") };
    let through = Operation::WriteThrough { file: known, offset: 0, length: 1_000, content, key: 3 };
    assert_eq!(client.act(&through), Ok(Reply::Written { bytes: 1_000 }));
    assert_eq!(client.act(&Operation::Close { file: known }), FINE);
    client.seen.entries.clear();
    assert_eq!(client.act(&Operation::List { path: "dir" }), Ok(Reply::Listed { entries: 3 }));
    let mut names: Vec<String> = client.seen.entries.drain(..).map(|(_, name)| name).collect();
    names.sort();
    assert_eq!(names, ["moved", "soft", "sub"]);
    let emptied = file(client, "dir/moved", Disposition::OverwriteOrCreate);
    let empty = Ok(Reply::Attributes { size: 0, directory: false });
    assert_eq!(client.act(&Operation::GetattrOpen { file: emptied }), empty);
    for held in [one, emptied] {
        assert_eq!(client.act(&Operation::Close { file: held }), FINE);
    }
    assert_eq!(client.act(&Operation::Close { file: one }).unwrap_err().cause, Cause::Unsupported, "it is closed");
    for path in ["dir/moved", "dir/soft"] {
        assert_eq!(client.act(&Operation::Remove { path }), FINE);
    }
    for path in ["dir/sub", "dir"] {
        assert_eq!(client.act(&Operation::Rmdir { path }), FINE);
    }
    assert_eq!(client.act(&Operation::List { path: "" }), Ok(Reply::Listed { entries: 0 }));
    assert_eq!(client.leave(), FINE);
}

#[test]
fn every_action_on_disk_and_in_memory() {
    let Some(ganesha) = ganesha() else { return };
    let content = Arc::new(Content::new(1));
    for (export, keeps_data) in [(Export::Data, true), (Export::Memory, false)] {
        let mut client = open(&ganesha, &mounted(&ganesha, export));
        tour(&mut client, &content, keeps_data);
        // Two names were not there.
        let answered = |t: &&plimsoll_model::Transaction| t.outcome == Outcome::Succeeded;
        assert_eq!(client.seen.transactions.iter().filter(answered).count() + 2, client.seen.transactions.len());
        let timed = |t: &plimsoll_model::Transaction| {
            let line = &t.timeline;
            line.request_first <= line.request_last && line.request_last <= line.response_first
        };
        assert!(client.seen.transactions.iter().all(timed));
    }
}

#[test]
fn links_are_hard_on_disk() {
    let Some(ganesha) = ganesha() else { return };
    let mut client = open(&ganesha, &mounted(&ganesha, Export::Data));
    std::fs::write(ganesha.folder(Export::Data).unwrap().join("a"), b"x").unwrap();
    assert_eq!(client.act(&Operation::Link { from: "a", to: "b" }), FINE);
    assert_eq!(std::fs::read(ganesha.folder(Export::Data).unwrap().join("b")).unwrap(), b"x");
}

#[test]
fn libnfs_reads_what_was_written_and_the_reverse() {
    let Some(ganesha) = ganesha() else { return };
    let mut client = open(&ganesha, &mounted(&ganesha, Export::Data));
    let content = Arc::new(Content::new(2));
    let key = file(&mut client, "ours", Disposition::Create);
    let length = 3 << 20;
    let write = Operation::Write { file: key, offset: 0, length, content: &content, key: 9 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: length }));
    assert_eq!(client.act(&Operation::Flush { file: key }), FINE);
    let Ok(theirs) = Command::new("nfs-cat").arg(ganesha.libnfs_url(Export::Data, "ours")).output() else {
        return plimsoll_testkit::skip("needs nfs-cat (Debian: libnfs-utils)");
    };
    assert!(theirs.stdout.len() == length as usize && content.matches(9, 0, &theirs.stdout));
    let scratch = Scratch::new("theirs");
    let source = scratch.file("theirs", &theirs.stdout[1..]);
    let copied = Command::new("nfs-cp").arg(&source).arg(ganesha.libnfs_url(Export::Data, "theirs")).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let key = file(&mut client, "theirs", Disposition::Open);
    assert!(content.matches(9, 1, &read_back(&mut client, key, length - 1)));
}

#[test]
fn many_calls_are_outstanding_at_once() {
    let Some(ganesha) = ganesha() else { return };
    let mut client = open(&ganesha, &mounted(&ganesha, Export::Data));
    std::fs::write(ganesha.folder(Export::Data).unwrap().join("f"), vec![5; 64 << 10]).unwrap();
    let key = file(&mut client, "f", Disposition::Open);
    let read = |n: u64| Operation::Read { file: key, offset: n * 1024, length: 1024, keep: false };
    let tags: Vec<_> = (0..64).map(|n| client.begin(&read(n))).collect();
    for tag in tags {
        assert_eq!(client.wait(tag), Ok(Reply::Read { bytes: 1024 }));
    }
}

#[test]
fn refusals_are_told_as_what_they_are() {
    let Some(mut ganesha) = ganesha() else { return };
    let nowhere = nfs3::mount(ganesha.address(), "/nowhere", &ports(&ganesha), None, &ROOT);
    assert!(matches!(nowhere, Err(MountError::Refused { .. })), "{nowhere:?}");
    let data = ganesha.folder(Export::Data).unwrap();
    std::fs::create_dir_all(data.join("deep/er")).unwrap();
    let below = nfs3::mount(ganesha.address(), "/data/deep/er", &ports(&ganesha), None, &ROOT).unwrap();
    nfs3::unmount(&below, &ROOT).unwrap();
    let options = Arc::new(NfsOptions::new(below.root, &ROOT).unwrap());
    assert_eq!(open(&ganesha, &options).act(&Operation::Mkdir { path: "est" }), FINE);
    assert!(data.join("deep/er/est").is_dir());

    let mut client = open(&ganesha, &mounted(&ganesha, Export::ReadOnly));
    let refused = client.act(&Operation::Mkdir { path: "x" }).unwrap_err();
    assert_eq!((refused.status, refused.cause), (Some(30), Cause::Status), "NFS3ERR_ROFS");
    let locked = Operation::Lock { file: FileKey(0), offset: 0, length: 1, exclusive: true, wait: false };
    assert_eq!(client.act(&locked).unwrap_err().cause, Cause::Unsupported);

    if ganesha.folder(Export::Small).is_some() {
        let mut client = open(&ganesha, &mounted(&ganesha, Export::Small));
        let key = file(&mut client, "big", Disposition::Create);
        let content = Arc::new(Content::new(1));
        let length = 2 * Ganesha::SMALL as u32;
        let write = Operation::Write { file: key, offset: 0, length, content: &content, key: 1 };
        let full = client.act(&write).unwrap_err();
        assert_eq!((full.status, full.cause), (Some(28), Cause::Status), "NFS3ERR_NOSPC");
    }

    let mut client = open(&ganesha, &mounted(&ganesha, Export::Data));
    ganesha.kill();
    let lost = client.act(&Operation::Null).unwrap_err();
    assert!(matches!(lost.cause, Cause::ConnectionClosed | Cause::ConnectionReset), "{lost:?}");
    ganesha.restart();
    assert_eq!(open(&ganesha, &options).act(&Operation::Null), FINE);
}

#[test]
fn a_server_that_dies_under_load_leaves_no_action_without_an_end() {
    let Some(mut ganesha) = ganesha() else { return };
    let options = mounted(&ganesha, Export::Data);
    let mut client = open(&ganesha, &options);
    let content = Arc::new(Content::new(1));
    let key = file(&mut client, "load", Disposition::Create);
    let write = |n: u64| Operation::Write { file: key, offset: n << 16, length: 1 << 16, content: &content, key: 1 };
    let mut tags: Vec<_> = (0..64).map(|n| client.begin(&write(n))).collect();
    // When one is answered, the others are on their way.
    assert_eq!(client.wait(tags.remove(0)), Ok(Reply::Written { bytes: 1 << 16 }));
    ganesha.kill();
    for tag in tags {
        match client.wait(tag) {
            Ok(reply) => assert_eq!(reply, Reply::Written { bytes: 1 << 16 }),
            Err(failure) => {
                assert!(matches!(failure.cause, Cause::ConnectionClosed | Cause::ConnectionReset), "{failure:?}");
                assert!(matches!(failure.outcome, Outcome::Unanswered | Outcome::NeverSent), "{failure:?}");
            }
        }
    }
    let writes = client.seen.transactions.iter().filter(|t| t.procedure.name() == "WRITE");
    assert_eq!((writes.count(), client.client.outstanding()), (64, 0), "each call is told of once");
    // Handles survive a restart: the export that was mounted before exists again.
    ganesha.restart();
    let mut client = open(&ganesha, &options);
    let key = file(&mut client, "load", Disposition::Open);
    assert_eq!(client.act(&Operation::Flush { file: key }), FINE);
}

#[test]
fn a_handle_that_means_nothing_any_more_is_told_once_and_forgotten() {
    let Some(ganesha) = ganesha() else { return };
    let (mut one, mut other) = {
        let options = mounted(&ganesha, Export::Data);
        (open(&ganesha, &options), open(&ganesha, &options))
    };
    let attributes = Operation::Getattr { path: "here" };
    let first = file(&mut one, "here", Disposition::Create);
    assert!(matches!(one.act(&attributes), Ok(Reply::Attributes { size: 0, .. })));
    assert_eq!(other.act(&Operation::Remove { path: "here" }), FINE);
    let again = file(&mut other, "here", Disposition::Create);
    assert_eq!(other.act(&Operation::Truncate { file: again, size: 7 }), FINE);
    let stale = one.act(&attributes).unwrap_err();
    assert_eq!((stale.status, stale.cause), (Some(70), Cause::Status), "NFS3ERR_STALE");
    assert_eq!(one.act(&attributes), Ok(Reply::Attributes { size: 7, directory: false }));
    assert_eq!(
        one.act(&Operation::GetattrOpen { file: first }).unwrap_err().status,
        Some(70),
        "a file stays what it was"
    );
}
