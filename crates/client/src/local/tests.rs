//! Every operation, in a directory of this machine.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use plimsoll_model::{Endpoint, Protocol, Symbol, errno_name};

use super::*;
use crate::content::Content;
use crate::operation::{Access, Caching, Disposition, FileKey};

struct Bench {
    folder: tempfile::TempDir,
    client: PathClient,
    collected: Collected,
}

#[derive(Default)]
struct Collected {
    transactions: Vec<Transaction>,
    done: Vec<Done>,
    data: Vec<u8>,
    names: Vec<String>,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.transactions.push(transaction.clone());
    }

    fn done(&mut self, done: Done) {
        self.done.push(done);
    }

    fn data(&mut self, _: Tag, _: u64, piece: &[u8]) {
        self.data.extend_from_slice(piece);
    }

    fn entry(&mut self, _: Tag, name: &str) {
        self.names.push(name.to_owned());
    }
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (nowhere, share, user) = (Endpoint::NOWHERE, Symbol::NONE, Symbol::NONE);
        let identity = Identity { client: nowhere, server: nowhere, connection: 3, share, user };
        let client = PathClient::new(Root::open(folder.path()).unwrap(), identity);
        Self { folder, client, collected: Collected::default() }
    }

    /// The same, files read in this way.
    fn reading(reading: Reading) -> Self {
        let bench = Self::new();
        let (identity, root) = (bench.client.identity, bench.client.root.clone());
        Self { client: PathClient::new(root.read(reading), identity), ..bench }
    }

    /// Does an operation, and holds that it is done once, with one transaction if it was asked for.
    fn act(&mut self, operation: Operation<'_>) -> Result<Reply, Failure> {
        self.collected = Collected::default();
        let ticket = Ticket { tag: Tag(9), intended: Some(5), path: Symbol::NONE };
        self.client.begin(&operation, ticket, 0, &mut Outbox::new(), &mut self.collected);
        assert_eq!((self.collected.done.len(), self.collected.done[0].tag), (1, Tag(9)), "{operation:?}");
        let result = self.collected.done[0].result.clone();
        let never_sent = matches!(&result, Err(Failure { outcome: Outcome::NeverSent, .. }));
        let asked = !never_sent && !matches!(operation, Operation::Cancel { .. });
        assert_eq!(self.collected.transactions.len(), usize::from(asked), "{operation:?}");
        if let Some(transaction) = self.collected.transactions.first() {
            assert_eq!(transaction.procedure.row().protocol, Protocol::File);
            assert_eq!((transaction.connection, transaction.timeline.intended), (3, Some(5)));
            assert!(transaction.timeline.response_time().unwrap() >= 0);
            assert_eq!(transaction.timeline.response_last, Some(self.collected.done[0].at));
            assert_eq!(transaction.outcome == Outcome::Succeeded, result.is_ok());
        }
        result
    }

    fn open(&mut self, path: &str, disposition: Disposition) -> FileKey {
        let (access, caching) = (Access::ReadWrite, Caching::None);
        match self.act(Operation::Open { path, access, disposition, caching }) {
            Ok(Reply::Opened { file, .. }) => file,
            other => panic!("{path}: {other:?}"),
        }
    }

    fn operation(&self) -> plimsoll_model::Operation {
        self.collected.transactions[0].procedure.row().operation
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

fn errno(result: Result<Reply, Failure>) -> &'static str {
    let failure = result.unwrap_err();
    let name = errno_name(failure.status.unwrap()).unwrap();
    // A name that was looked up and is not there is an ordinary answer.
    assert_eq!(failure.outcome, if name == "ENOENT" { Outcome::Expected } else { Outcome::Refused });
    name
}

#[test]
fn files_are_written_and_read_back() {
    let mut bench = Bench::new();
    let content = Arc::new(Content::new(3));
    let file = bench.open("f", Disposition::Create);
    assert_eq!(bench.operation(), plimsoll_model::Operation::Open);
    // Across the end of the block that content is made of.
    let (offset, length) = (1_048_000, 2_000_000);
    let written = bench.act(Operation::Write { file, offset, length, content: &content, key: 7 });
    assert_eq!(written, Ok(Reply::Written { bytes: length }));
    assert_eq!(bench.collected.transactions[0].payload_bytes, Some(u64::from(length)));
    bench.act(Operation::Flush { file }).unwrap();
    assert_eq!(bench.operation(), plimsoll_model::Operation::Flush);
    let on_disk = fs::read(bench.path("f")).unwrap();
    assert!(content.matches(7, offset, &on_disk[offset as usize..]));
    assert_eq!(on_disk.len() as u64, offset + u64::from(length));

    let read = bench.act(Operation::Read { file, offset, length: 9_000_000, keep: true });
    assert_eq!(read, Ok(Reply::Read { bytes: length }), "to the end of the file, in several calls");
    assert!(content.matches(7, offset, &bench.collected.data) && bench.collected.data.len() == length as usize);
    assert_eq!(bench.act(Operation::Read { file, offset, length: 5, keep: false }), Ok(Reply::Read { bytes: 5 }));
    assert!(bench.collected.data.is_empty());
    assert_eq!(
        bench.act(Operation::Read { file, offset: 1 << 40, length: 5, keep: true }),
        Ok(Reply::Read { bytes: 0 })
    );

    bench.act(Operation::Truncate { file, size: 10 }).unwrap();
    let attributes = Ok(Reply::Attributes { size: 10, directory: false });
    assert_eq!(bench.act(Operation::GetattrOpen { file }), attributes);
    assert_eq!(bench.act(Operation::Getattr { path: "f" }), attributes);
    bench.act(Operation::Close { file }).unwrap();
    assert_eq!(bench.operation(), plimsoll_model::Operation::Close);
    let cause = |result: Result<Reply, Failure>| result.unwrap_err().cause;
    assert_eq!(cause(bench.act(Operation::Close { file })), Cause::Unsupported, "it is not open any more");
    assert_eq!(cause(bench.act(Operation::Read { file, offset: 0, length: 1, keep: false })), Cause::Unsupported);
}

#[test]
fn opens_do_what_they_say() {
    let mut bench = Bench::new();
    fs::write(bench.path("there"), b"abc").unwrap();
    let mut open = |path, access, disposition| {
        bench.act(Operation::Open { path, access, disposition, caching: Caching::Lease }).map(|reply| match reply {
            Reply::Opened { file, size } => (file, size.unwrap()),
            other => panic!("{other:?}"),
        })
    };
    let size = |opened: Result<(FileKey, u64), Failure>| opened.unwrap().1;
    assert_eq!(size(open("there", Access::Read, Disposition::Open)), 3);
    assert_eq!(size(open("there", Access::Write, Disposition::OpenOrCreate)), 3);
    assert_eq!(size(open("new", Access::Write, Disposition::OpenOrCreate)), 0);
    let refused = |opened: Result<(FileKey, u64), Failure>| errno(opened.map(|_| Reply::Nothing));
    assert_eq!(refused(open("there", Access::Read, Disposition::Create)), "EEXIST");
    assert_eq!(refused(open("nowhere", Access::Read, Disposition::Open)), "ENOENT");
    assert_eq!(refused(open("there/x", Access::Read, Disposition::Open)), "ENOTDIR");
    assert_eq!(size(open("there", Access::ReadWrite, Disposition::OverwriteOrCreate)), 0);
    let (file, _) = open("there", Access::Read, Disposition::Open).unwrap();
    let content = Arc::new(Content::new(3));
    assert_eq!(errno(bench.act(Operation::Write { file, offset: 0, length: 1, content: &content, key: 7 })), "EBADF");
}

#[test]
fn names_are_made_listed_renamed_linked_and_removed() {
    let mut bench = Bench::new();
    bench.act(Operation::Mkdir { path: "d" }).unwrap();
    assert_eq!(errno(bench.act(Operation::Mkdir { path: "d" })), "EEXIST");
    for name in ["d/a", "d/b"] {
        let file = bench.open(name, Disposition::Create);
        bench.act(Operation::Close { file }).unwrap();
    }
    bench.act(Operation::Rename { from: "d/a", to: "d/c" }).unwrap();
    bench.act(Operation::Link { from: "d/c", to: "hard" }).unwrap();
    assert_eq!(fs::metadata(bench.path("hard")).unwrap().nlink(), 2);
    bench.act(Operation::Symlink { path: "soft", text: "d/c" }).unwrap();
    assert_eq!(bench.act(Operation::Readlink { path: "soft" }), Ok(Reply::Text("d/c".to_owned())));
    assert_eq!(bench.act(Operation::Getattr { path: "soft" }), Ok(Reply::Attributes { size: 3, directory: false }));
    assert_eq!(bench.act(Operation::List { path: "d" }), Ok(Reply::Listed { entries: 2 }));
    bench.collected.names.sort();
    assert_eq!(bench.collected.names, ["b", "c"]);
    assert_eq!(bench.act(Operation::List { path: "" }), Ok(Reply::Listed { entries: 3 }));
    assert_eq!(errno(bench.act(Operation::Rmdir { path: "d" })), "ENOTEMPTY");
    for path in ["d/b", "d/c", "hard", "soft"] {
        bench.act(Operation::Remove { path }).unwrap();
    }
    bench.act(Operation::Rmdir { path: "d" }).unwrap();
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_listing_is_whole_however_long() {
    let mut bench = Bench::new();
    for n in 0..3000 {
        fs::write(bench.path(&format!("a-rather-long-name-{n:05}")), b"").unwrap();
    }
    assert_eq!(bench.act(Operation::List { path: "" }), Ok(Reply::Listed { entries: 3000 }));
    bench.collected.names.sort();
    bench.collected.names.dedup();
    assert_eq!(bench.collected.names.len(), 3000);
}

#[test]
fn attributes_space_and_the_rest() {
    let mut bench = Bench::new();
    let file = bench.open("f", Disposition::Create);
    bench.act(Operation::Setattr { path: "f", mode: 0o640 }).unwrap();
    assert_eq!(fs::metadata(bench.path("f")).unwrap().mode() & 0o7777, 0o640);
    bench.act(Operation::Access { path: "f" }).unwrap();
    assert_eq!(errno(bench.act(Operation::Access { path: "none" })), "ENOENT");
    assert!(matches!(bench.act(Operation::Fsinfo), Ok(Reply::Space { total, free }) if total > 0 && free <= total));
    bench.act(Operation::Null).unwrap();
    fs::write(bench.path("g"), vec![7; 100_000]).unwrap();
    let from = bench.open("g", Disposition::Open);
    match bench.act(Operation::Copy { from, to: file, length: 70_000 }) {
        Ok(reply) => {
            assert_eq!(reply, Reply::Written { bytes: 70_000 });
            assert_eq!(fs::read(bench.path("f")).unwrap(), vec![7; 70_000]);
        }
        // Not every file system can (man copy_file_range).
        Err(failure) => assert!(["EXDEV", "EOPNOTSUPP", "EINVAL"].contains(&errno(Err(failure)))),
    }
    assert_eq!(bench.act(Operation::Cancel { tag: Tag(1) }), Ok(Reply::Nothing));
    assert_eq!(bench.act(Operation::Watch { path: "" }).unwrap_err().cause, Cause::Unsupported);
}

#[test]
fn locks_are_between_open_files() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("f", Disposition::Create), bench.open("f", Disposition::Open));
    let lock = |file, offset, exclusive, wait| Operation::Lock { file, offset, length: 10, exclusive, wait };
    bench.act(lock(a, 0, true, false)).unwrap();
    assert_eq!(errno(bench.act(lock(b, 5, false, false))), "EAGAIN");
    assert_eq!(bench.act(lock(b, 5, true, true)).unwrap_err().cause, Cause::Unsupported);
    bench.act(lock(b, 10, true, true)).unwrap();
    bench.act(Operation::Unlock { file: a, offset: 0, length: 10 }).unwrap();
    bench.act(lock(b, 5, false, false)).unwrap();
    assert_eq!(errno(bench.act(lock(b, u64::MAX, true, false))), "EOVERFLOW");
}

#[test]
fn nothing_above_the_directory_is_asked_for() {
    let mut bench = Bench::new();
    for path in ["/etc/passwd", "..", "../x", "a/../../x"] {
        let failure = bench.act(Operation::Getattr { path }).unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::Unsupported, Outcome::NeverSent), "{path}");
    }
    // Links are followed as for any program.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("x"), b"12345").unwrap();
    symlink(elsewhere.path(), bench.path("out")).unwrap();
    assert_eq!(bench.act(Operation::Getattr { path: "out/x" }), Ok(Reply::Attributes { size: 5, directory: false }));
}

#[test]
fn connecting_and_leaving_are_told_and_files_are_closed() {
    let mut bench = Bench::new();
    let mut collected = Collected::default();
    bench.client.connect(1, &mut Outbox::new(), &mut collected);
    let file = bench.open("f", Disposition::Create);
    bench.client.leave(2, &mut Outbox::new(), &mut collected);
    let done: Vec<_> = collected.done.iter().map(|done| (done.tag, done.at, done.result.is_ok())).collect();
    assert_eq!(done, [(Tag::CONNECT, 1, true), (Tag::LEAVE, 2, true)]);
    assert_eq!(bench.act(Operation::Flush { file }).unwrap_err().cause, Cause::Unsupported);
    assert_eq!((bench.client.outstanding(), bench.client.unmatched_responses()), (0, 0));
    assert!(Root::open(&bench.path("f")).is_err(), "a file is no directory");
}

#[test]
fn errors_have_names() {
    assert_eq!(
        [28, 2, 116, 0, 9999].map(errno_name),
        [Some("ENOSPC"), Some("ENOENT"), Some("ESTALE"), Some("OK"), None]
    );
    // Numbers that differ between architectures: the table has those of the supported ones.
    let system = [
        (libc::EDEADLK, "EDEADLK"),
        (libc::ENAMETOOLONG, "ENAMETOOLONG"),
        (libc::ENOLCK, "ENOLCK"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ENOTEMPTY, "ENOTEMPTY"),
        (libc::ELOOP, "ELOOP"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EDQUOT, "EDQUOT"),
        (libc::EKEYREJECTED, "EKEYREJECTED"),
    ];
    for (number, name) in system {
        assert_eq!(errno_name(number.unsigned_abs()), Some(name));
    }
}

#[test]
fn what_is_not_cached_is_what_was_written() {
    for reading in [Reading::UncachedAtRandom, Reading::UncachedInOrder] {
        let mut bench = Bench::reading(reading);
        fs::write(bench.folder.path().join("f"), [7; 10_000]).unwrap();
        let (access, disposition, caching) = (Access::Read, Disposition::Open, Caching::None);
        let opened = bench.act(Operation::Open { path: "f", access, disposition, caching }).unwrap();
        let Reply::Opened { file, size } = opened else { panic!("{opened:?}") };
        assert_eq!(size, Some(10_000));
        for (offset, bytes) in [(4096, 4096), (8192, 1808), (0, 4096), (20_000, 0)] {
            let read = bench.act(Operation::Read { file, offset, length: 4096, keep: true });
            assert_eq!(read, Ok(Reply::Read { bytes }), "{reading:?} {offset}");
            assert!(bench.collected.data.len() == bytes as usize && bench.collected.data.iter().all(|byte| *byte == 7));
        }
    }
}
