//! Our clients on our embedded servers: everything that both know.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_client::Client;
use plimsoll_client::blocking::Blocking;
use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::smb2::{Dialect, Requirement};
use plimsoll_client::target::Target;
use plimsoll_client::{Failure, FileKey, Operation, Reply, Tag};
use plimsoll_drive::connect::{self, ConnectOptions, Connector};
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::{Endpoint, Names, Outcome, Transaction};
use plimsoll_serve::{Account, Embedded, Kind, Options};

/// Longer than any action takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const FINE: Result<Reply, Failure> = Ok(Reply::Nothing);

pub(crate) type Driven = Blocking<Box<dyn Client>>;

fn embedded(kind: Kind) -> Embedded {
    let account = (kind == Kind::Smb).then(|| Account::random().unwrap());
    Embedded::start(kind, Options { account, ..Options::default() }).unwrap()
}

/// Connector by its own URL, as a run reaches it.
fn reached(server: &Embedded, wishes: &ConnectOptions) -> Box<dyn Connector> {
    reached_by(&server.target(), wishes)
}

pub(crate) fn reached_by(target: &str, wishes: &ConnectOptions) -> Box<dyn Connector> {
    connect::open(&Target::parse(target).unwrap(), wishes, &mut Names::default()).unwrap()
}

#[test]
fn the_highest_version_of_the_nfs_server_is_4_2() {
    let server = embedded(Kind::Nfs);
    let mut target = Target::parse(&format!("nfs://{}/plimsoll", server.address())).unwrap();
    connect::find_version(&mut target, &ConnectOptions::default()).unwrap();
    assert_eq!(target.to_string(), format!("nfs://{}/plimsoll?version=4.2", server.address()));
}

pub(crate) fn connect(server: &dyn Connector) -> Driven {
    let address = server.address().unwrap();
    let mut client = Blocking::open(address, PATIENCE, |local| {
        let (client, server_end) = (end(local), end(address));
        server.client(&ConnectionInfo {
            channels: 1,
            client_index: u32::from(local.port()),
            connection_index: 0,
            connections: 1,
            connection: 0,
            generation: 0,
            client,
            server: server_end,
        })
    })
    .unwrap();
    assert_eq!(client.connect(), FINE);
    client
}

fn end(address: std::net::SocketAddr) -> Endpoint {
    Endpoint { ip: address.ip(), port: address.port() }
}

fn open(client: &mut Driven, path: &str, disposition: Disposition, caching: Caching) -> FileKey {
    match client.act(&Operation::Open { path, access: Access::ReadWrite, disposition, caching }) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{path}: {other:?}"),
    }
}

fn read_back(client: &mut Driven, file: FileKey, length: u32) -> Vec<u8> {
    client.seen.data.clear();
    assert_eq!(client.act(&Operation::Read { file, offset: 0, length, keep: true }), Ok(Reply::Read { bytes: length }));
    let mut bytes = vec![0; length as usize];
    for (_, offset, piece) in client.seen.data.drain(..) {
        bytes[offset as usize..][..piece.len()].copy_from_slice(&piece);
    }
    bytes
}

/// Bytes of the file of the tour: several requests of the largest size.
const LENGTH: u32 = 3_000_001;

/// What both protocols have.
fn tour(client: &mut Driven, content: &Arc<Content>) {
    assert_eq!(client.act(&Operation::Null), FINE);
    for path in ["dir", "dir/sub"] {
        assert_eq!(client.act(&Operation::Mkdir { path }), FINE);
    }
    let one = open(client, "dir/sub/fil\u{e9}", Disposition::Create, Caching::None);
    let write = Operation::Write { file: one, offset: 0, length: LENGTH, content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: LENGTH }));
    assert_eq!(client.act(&Operation::Flush { file: one }), FINE);
    assert!(content.matches(3, 0, &read_back(client, one, LENGTH)));
    let read = |offset, length| Operation::Read { file: one, offset, length, keep: false };
    assert_eq!(client.act(&read(u64::from(LENGTH) - 1, 9)), Ok(Reply::Read { bytes: 1 }));
    assert_eq!(client.act(&read(1 << 40, 9)), Ok(Reply::Read { bytes: 0 }));
    let whole = Ok(Reply::Attributes { size: u64::from(LENGTH), directory: false });
    assert_eq!(client.act(&Operation::GetattrOpen { file: one }), whole);
    assert_eq!(client.act(&Operation::Getattr { path: "dir/sub/fil\u{e9}" }), whole);
    assert!(matches!(client.act(&Operation::Getattr { path: "" }), Ok(Reply::Attributes { directory: true, .. })));
    // To another file, elsewhere: pieces, and the source's end in the last one.
    let copy = open(client, "dir/copy", Disposition::Create, Caching::None);
    let from_offset = 1_000;
    let range = Operation::CopyRange { from: one, from_offset, to: copy, to_offset: 0, length: LENGTH };
    let copied = LENGTH - from_offset as u32;
    assert_eq!(client.act(&range), Ok(Reply::Written { bytes: copied }));
    assert!(content.matches(3, from_offset, &read_back(client, copy, copied)));
    assert_eq!(client.act(&Operation::Close { file: copy }), FINE);
    assert_eq!(client.act(&Operation::Remove { path: "dir/copy" }), FINE);
    assert_eq!(client.act(&Operation::Truncate { file: one, size: 1_234 }), FINE);
    let short = Ok(Reply::Attributes { size: 1_234, directory: false });
    assert_eq!(client.act(&Operation::GetattrOpen { file: one }), short);
    assert_eq!(client.act(&Operation::Setattr { path: "dir/sub/fil\u{e9}", mode: 0o600 }), FINE);
    assert_eq!(client.act(&Operation::Access { path: "dir" }), FINE);
    let Ok(Reply::Space { total, free }) = client.act(&Operation::Fsinfo) else { panic!("no space told") };
    assert!(free > 0 && free <= total);
    assert_eq!(client.act(&Operation::Close { file: one }), FINE);
    let again = client.act(&Operation::Open {
        path: "dir/sub/fil\u{e9}",
        access: Access::ReadWrite,
        disposition: Disposition::Create,
        caching: Caching::None,
    });
    assert_eq!(again.unwrap_err().cause, Cause::Status);
    let other = open(client, "dir/other", Disposition::OpenOrCreate, Caching::None);
    assert_eq!(client.act(&Operation::Close { file: other }), FINE);
    assert_eq!(client.act(&Operation::Rename { from: "dir/sub/fil\u{e9}", to: "dir/other" }), FINE);
    let gone = client.act(&Operation::Getattr { path: "dir/sub/fil\u{e9}" }).unwrap_err();
    assert_eq!((gone.outcome, gone.cause), (Outcome::Refused, Cause::Status));
    assert!(matches!(client.act(&Operation::Getattr { path: "dir/other" }), Ok(Reply::Attributes { size: 1_234, .. })));
    let emptied = open(client, "dir/other", Disposition::OverwriteOrCreate, Caching::None);
    assert_eq!(
        client.act(&Operation::GetattrOpen { file: emptied }),
        Ok(Reply::Attributes { size: 0, directory: false })
    );
    assert_eq!(client.act(&Operation::Close { file: emptied }), FINE);
    assert_eq!(client.act(&Operation::Rmdir { path: "dir" }).unwrap_err().cause, Cause::Status, "it is not empty");
    assert_eq!(client.act(&Operation::Remove { path: "dir/other" }), FINE);
    for path in ["dir/sub", "dir"] {
        assert_eq!(client.act(&Operation::Rmdir { path }), FINE);
    }
}

/// More names than one answer holds.
fn listing(client: &mut Driven) {
    const COUNT: u64 = 1500;
    assert_eq!(client.act(&Operation::Mkdir { path: "many" }), FINE);
    for number in 0..COUNT {
        let path = format!("many/a-name-that-is-somewhat-longer-{number}");
        let file = open(client, &path, Disposition::Create, Caching::None);
        assert_eq!(client.act(&Operation::Close { file }), FINE);
    }
    client.seen.entries.clear();
    assert_eq!(client.act(&Operation::List { path: "many" }), Ok(Reply::Listed { entries: COUNT }));
    let names: BTreeSet<String> = client.seen.entries.drain(..).map(|(_, name)| name).collect();
    assert_eq!(names, (0..COUNT).map(|number| format!("a-name-that-is-somewhat-longer-{number}")).collect());
}

/// Exactly the actions that the tour wants refused failed; there was no unexpected answer.
fn rows_are_sound(client: &Driven, refusals: &[&str]) {
    // A logon in two steps is answered once that more is to come.
    let logon = |row: &&Transaction| row.status == Some(0xc000_0016);
    let rows = client.seen.transactions.iter().filter(|row| !logon(row));
    let refused = rows.filter(|row| row.outcome != Outcome::Succeeded);
    let told: Vec<String> =
        refused.map(|row| format!("{} {:x}", row.procedure.name(), row.status.unwrap_or_default())).collect();
    assert_eq!(told, refusals);
    assert_eq!(client.client.unmatched_responses(), 0);
}

/// Behind the end; there already; not there (three members of one compound); not empty.
const SMB_REFUSALS: [&str; 6] = [
    "READ c0000011",
    "CREATE c0000035",
    "CREATE c0000034",
    "QUERY_INFO FILE c0000034",
    "CLOSE c0000034",
    "SET_INFO DISPOSITION c0000101",
];
/// There already; not there; not empty.
const NFS_REFUSALS: [&str; 3] = ["CREATE 11", "LOOKUP 2", "RMDIR 42"];

#[test]
fn every_action_on_the_embedded_nfs_server() {
    let server = embedded(Kind::Nfs);
    let reached = reached(&server, &ConnectOptions::default());
    let mut client = connect(&*reached);
    tour(&mut client, &Arc::new(Content::new(1)));
    rows_are_sound(&client, &NFS_REFUSALS);
    listing(&mut client);
    assert_eq!(client.act(&Operation::Symlink { path: "soft", text: "many" }), FINE);
    assert_eq!(client.act(&Operation::Readlink { path: "soft" }), Ok(Reply::Text("many".to_owned())));
    // The library behind it has no LINK.
    assert_eq!(client.act(&Operation::Link { from: "soft", to: "hard" }).unwrap_err().cause, Cause::Unsupported);
    assert_eq!(client.leave(), FINE);
}

/// There already; not there; not empty: each a compound and the operation in it.
const NFS4_REFUSALS: [&str; 6] = ["COMPOUND 11", "OPEN 11", "COMPOUND 2", "LOOKUP 2", "COMPOUND 42", "REMOVE 42"];

#[test]
fn every_action_on_the_embedded_nfs_server_in_version_4() {
    for minor in [1, 2] {
        let server = embedded(Kind::Nfs);
        let reached = reached_by(&server.target_of_4(minor, None), &ConnectOptions::default());
        let mut client = connect(&*reached);
        tour(&mut client, &Arc::new(Content::new(1)));
        rows_are_sound(&client, &NFS4_REFUSALS);
        listing(&mut client);
        assert_eq!(client.act(&Operation::Symlink { path: "soft", text: "many" }), FINE);
        assert_eq!(client.act(&Operation::Readlink { path: "soft" }), Ok(Reply::Text("many".to_owned())));
        assert_eq!(client.act(&Operation::Link { from: "soft", to: "hard" }), FINE);
        assert_eq!(client.act(&Operation::Readlink { path: "hard" }), Ok(Reply::Text("many".to_owned())));
        locks(&mut client, &mut connect(&*reached));
        if minor == 2 {
            added_by_4_2(&mut client, &Arc::new(Content::new(1)));
        }
        // The servers of both versions have the same files.
        let mut of_3 = connect(&*reached_by(&server.target(), &ConnectOptions::default()));
        assert_eq!(of_3.act(&Operation::Readlink { path: "hard" }), Ok(Reply::Text("many".to_owned())));
        assert_eq!(client.leave(), FINE);
    }
}

/// A copy in several requests, a clone, and a file with holes.
fn added_by_4_2(client: &mut Driven, content: &Arc<Content>) {
    let one = open(client, "one", Disposition::Create, Caching::None);
    let length = 20 << 20;
    let write = Operation::Write { file: one, offset: 0, length, content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: length }));
    let two = open(client, "two", Disposition::Create, Caching::None);
    assert_eq!(client.act(&Operation::Copy { from: one, to: two, length }), Ok(Reply::Written { bytes: length }));
    let copies = client.seen.transactions.iter().filter(|row| row.counted && row.procedure.name() == "COPY");
    assert_eq!(copies.map(|row| row.payload_bytes).collect::<Vec<_>>(), [None; 2], "no data crosses the wire");
    assert!(content.matches(3, 0, &read_back(client, two, length)));
    let three = open(client, "three", Disposition::Create, Caching::None);
    assert_eq!(client.act(&Operation::Clone { from: one, to: three, length: 0 }), FINE);
    assert!(content.matches(3, 0, &read_back(client, three, length)));
    let page = 64 << 10;
    assert_eq!(client.act(&Operation::Deallocate { file: three, offset: page, length: 10 * page }), FINE);
    let found = |offset| Ok(Reply::Found { offset });
    assert_eq!(client.act(&Operation::SeekHole { file: three, offset: 5 }), found(Some(page)));
    assert_eq!(client.act(&Operation::SeekData { file: three, offset: page }), found(Some(11 * page)));
    assert_eq!(client.act(&Operation::SeekHole { file: three, offset: 12 * page }), found(Some(length.into())));
    client.seen.data.clear();
    let read = Operation::ReadPlus { file: three, offset: 0, length, keep: true };
    assert_eq!(client.act(&read), Ok(Reply::Read { bytes: length }));
    let mut bytes = Vec::new();
    for (_, offset, piece) in client.seen.data.drain(..) {
        assert_eq!(offset, bytes.len() as u64);
        bytes.extend(piece);
    }
    let (hole, data) = (page as usize..11 * page as usize, bytes.split_off(11 * page as usize));
    assert!(bytes[hole].iter().all(|&byte| byte == 0));
    assert!(content.matches(3, 0, &bytes[..page as usize]) && content.matches(3, 11 * page, &data));
    let carried = client.seen.transactions.iter().filter(|row| row.counted && row.procedure.name() == "READ_PLUS");
    assert_eq!(carried.filter_map(|row| row.payload_bytes).sum::<u64>(), u64::from(length) - 10 * page);
    assert_eq!(client.act(&Operation::Allocate { file: two, offset: 0, length: 21 << 20 }), FINE);
    assert_eq!(
        client.act(&Operation::GetattrOpen { file: two }),
        Ok(Reply::Attributes { size: 21 << 20, directory: false })
    );
    for (file, path) in [(one, "one"), (two, "two"), (three, "three")] {
        assert_eq!(client.act(&Operation::Close { file }), FINE);
        assert_eq!(client.act(&Operation::Remove { path }), FINE);
    }
}

/// The locks of two clients exclude each other; that of a file that is closed is gone.
fn locks(one: &mut Driven, two: &mut Driven) {
    /// NFS4ERR_DENIED.
    const DENIED: Option<u32> = Some(10_010);
    let file = open(one, "locked", Disposition::OpenOrCreate, Caching::None);
    let other = open(two, "locked", Disposition::OpenOrCreate, Caching::None);
    let lock = |file, exclusive| Operation::Lock { file, offset: 0, length: 10, exclusive, wait: false };
    let unlock = |file| Operation::Unlock { file, offset: 0, length: 10 };
    assert_eq!(one.act(&lock(file, true)), FINE);
    assert_eq!(two.act(&lock(other, false)).unwrap_err().status, DENIED);
    assert_eq!(one.act(&unlock(file)), FINE);
    assert_eq!(two.act(&lock(other, false)), FINE);
    assert_eq!(one.act(&lock(file, false)), FINE, "both read");
    assert_eq!(one.act(&lock(file, true)).unwrap_err().status, DENIED);
    assert_eq!(two.act(&Operation::Close { file: other }), FINE);
    assert_eq!(one.act(&lock(file, true)), FINE);
    assert_eq!(one.act(&Operation::Close { file }), FINE);
    assert_eq!(two.leave(), FINE);
}

#[test]
fn every_action_on_the_embedded_smb_server_in_every_dialect() {
    for dialect in Dialect::ALL {
        let server = embedded(Kind::Smb);
        let reached = reached(&server, &ConnectOptions { dialects: dialect..=dialect, ..ConnectOptions::default() });
        let mut client = connect(&*reached);
        tour(&mut client, &Arc::new(Content::new(2)));
        rows_are_sound(&client, &SMB_REFUSALS);
        if dialect == Dialect::V311 {
            listing(&mut client);
        }
        for caching in [Caching::Batch, Caching::Exclusive, Caching::LevelTwo, Caching::Lease, Caching::Durable] {
            let file = open(&mut client, "cached", Disposition::OpenOrCreate, caching);
            assert_eq!(client.act(&Operation::Close { file }), FINE, "{caching:?}");
        }
        locks_and_watches(&mut client, &mut connect(&*reached));
        assert_eq!(client.leave(), FINE);
    }
}

fn locks_and_watches(one: &mut Driven, two: &mut Driven) {
    let held = open(one, "locked", Disposition::OpenOrCreate, Caching::None);
    let other = open(two, "locked", Disposition::OpenOrCreate, Caching::None);
    let lock = |file, wait| Operation::Lock { file, offset: 0, length: 10, exclusive: true, wait };
    assert_eq!(one.act(&lock(held, false)), FINE);
    // The server library does not support waiting locks, which is allowed (MS-SMB2 3.3.5.14.2).
    for wait in [false, true] {
        assert_eq!(two.act(&lock(other, wait)).unwrap_err().status, Some(0xC000_0055), "LOCK_NOT_GRANTED");
    }
    assert_eq!(one.act(&Operation::Unlock { file: held, offset: 0, length: 10 }), FINE);
    assert_eq!(two.act(&lock(other, true)), FINE);
    let watching = one.begin(&Operation::Watch { path: "" });
    assert_eq!(changed_until_reported(one, two, watching), FINE);
    let watching = one.begin(&Operation::Watch { path: "" });
    until_sent(one);
    assert_eq!(one.act(&Operation::Cancel { tag: watching }), FINE);
    assert_eq!(one.wait(watching).unwrap_err().outcome, Outcome::Cancelled);
}

/// `two` changes the directory until the server reports a change to `one`: the first change may reach the server before the request to watch.
fn changed_until_reported(one: &mut Driven, two: &mut Driven, watching: Tag) -> Result<Reply, Failure> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        assert_eq!(two.act(&Operation::Mkdir { path: "new" }), FINE);
        assert_eq!(two.act(&Operation::Rmdir { path: "new" }), FINE);
        one.run_for(Duration::from_millis(100));
        if let Some(result) = one.take_done(watching) {
            return result;
        }
    }
    panic!("no change is reported");
}

/// Everything that is not answered is a request that waits at the server, or is on its way to it.
fn until_sent(client: &mut Driven) {
    for _ in 0..10_000 {
        if client.client.outstanding() == 0 {
            return;
        }
        client.run_for(Duration::from_millis(5));
    }
    panic!("not sent");
}

#[test]
fn the_embedded_smb_server_signs_and_encrypts() {
    let content = Arc::new(Content::new(3));
    for dialect in Dialect::ALL {
        for encryption in [Requirement::ServerDefault, Requirement::Demanded] {
            if encryption == Requirement::Demanded && dialect < Dialect::V300 {
                continue;
            }
            let server = embedded(Kind::Smb);
            let signing = Requirement::Demanded;
            let wishes =
                ConnectOptions { dialects: dialect..=dialect, signing, encryption, ..ConnectOptions::default() };
            let mut client = connect(&*reached(&server, &wishes));
            tour(&mut client, &content);
            rows_are_sound(&client, &SMB_REFUSALS);
            assert_eq!(client.leave(), FINE);
        }
    }
}

#[test]
fn many_connections_and_many_calls_outstanding() {
    for (kind, minor) in [(Kind::Smb, None), (Kind::Nfs, None), (Kind::Nfs, Some(1))] {
        let server = embedded(kind);
        let target = minor.map_or_else(|| server.target(), |minor| server.target_of_4(minor, None));
        let reached = reached_by(&target, &ConnectOptions::default());
        let content = Arc::new(Content::new(4));
        let mut clients: Vec<Driven> = (0..64).map(|_| connect(&*reached)).collect();
        std::thread::scope(|scope| {
            for (number, client) in clients.iter_mut().enumerate() {
                let content = &content;
                scope.spawn(move || {
                    let (path, key) = (format!("file{number}"), number as u64);
                    let file = open(client, &path, Disposition::Create, Caching::None);
                    let write = Operation::Write { file, offset: 0, length: 64 << 10, content, key };
                    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 64 << 10 }));
                    let read = |n: u64| Operation::Read { file, offset: n * 1024, length: 1024, keep: true };
                    let tags: Vec<_> = (0..64).map(|n| client.begin(&read(n))).collect();
                    for tag in tags {
                        assert_eq!(client.wait(tag), Ok(Reply::Read { bytes: 1024 }));
                    }
                    let data = &client.seen.data;
                    assert!(data.iter().all(|(_, offset, piece)| content.matches(key, *offset, piece)));
                    assert_eq!(data.iter().map(|(_, _, piece)| piece.len()).sum::<usize>(), 64 << 10);
                });
            }
        });
    }
}

#[test]
fn a_full_embedded_server_says_so() {
    for (kind, minor) in [(Kind::Smb, None), (Kind::Nfs, None), (Kind::Nfs, Some(1))] {
        let account = (kind == Kind::Smb).then(|| Account::random().unwrap());
        let server = Embedded::start(kind, Options { account, size: 1 << 20, ..Options::default() }).unwrap();
        let target = minor.map_or_else(|| server.target(), |minor| server.target_of_4(minor, None));
        let mut client = connect(&*reached_by(&target, &ConnectOptions::default()));
        let content = Arc::new(Content::new(5));
        let file = open(&mut client, "large", Disposition::Create, Caching::None);
        let write = Operation::Write { file, offset: 0, length: 4 << 20, content: &content, key: 1 };
        let full = client.act(&write).unwrap_err();
        let status = if kind == Kind::Smb { 0xC000_007F } else { 28 };
        assert_eq!((full.cause, full.status), (Cause::Status, Some(status)));
        let small = Operation::Write { file, offset: 0, length: 1000, content: &content, key: 1 };
        assert_eq!(client.act(&small), Ok(Reply::Written { bytes: 1000 }));
    }
}
