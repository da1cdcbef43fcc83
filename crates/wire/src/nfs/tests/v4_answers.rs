//! Answers as a client reads them: the strict reading, and an observer's.

use super::v4_requests::{CHANNEL, STATE, xdr_state};
use crate::nfs::v3::FileType;
use crate::nfs::v3::write::Stable;
use crate::nfs::v4::access::Granted;
use crate::nfs::v4::bind::Bound;
use crate::nfs::v4::client_id::Unconfirmed;
use crate::nfs::v4::copy::Copied;
use crate::nfs::v4::create_session::Session;
use crate::nfs::v4::exchange_id::Client;
use crate::nfs::v4::open::{Delegation, Opened};
use crate::nfs::v4::read::Data;
use crate::nfs::v4::read_plus::Segment;
use crate::nfs::v4::sequence::SequenceReply;
use crate::nfs::v4::sparse::Found;
use crate::nfs::v4::write::Written;
use crate::nfs::v4::{Attributes, CompoundReply, Done, FileHandle, Reply};
use crate::xdr::Malformed;
use crate::xdr::builder::{Xdr, damage};

fn compound(status: u32, results: &[Xdr]) -> Vec<u8> {
    let head = Xdr::new().u32(status).opaque("").u32(results.len() as u32);
    results.iter().fold(head, |xdr, result| xdr.then(result.clone())).0
}

/// Reads results for the requested operations; the strict and the tolerant reader must return the same operations.
fn read_all<'a>(bytes: &'a [u8], asked: &[u32]) -> Result<Vec<Done<'a>>, Malformed> {
    let mut reply = Reply::parse(bytes, bytes.len())?;
    let mut done = Vec::new();
    for &code in asked {
        match reply.next(code)? {
            Some(answered) => done.push(answered.result),
            None => break,
        }
    }
    reply.end()?;
    Ok(done)
}

fn sequence() -> Xdr {
    Xdr::new().words(&[53, 0]).fixed(16).words(&[9, 2, 63, 31, 0])
}

fn attributes() -> Xdr {
    // type 1 (file), size 1,234, mode 0644: bits 1 and 4 of the first word, 33 - 32 of the second.
    Xdr::new().words(&[2, 0x12, 2, 16, 1]).u64(1_234).u32(0o644)
}

fn change() -> Xdr {
    Xdr::new().u32(1).u64(1).u64(2)
}

fn channel() -> Xdr {
    Xdr::new().words(&[0, 1_053_000, 1_053_001, 4_096, 8, 64, 0])
}

/// Servers' answers by operation, and the client's readings of them.
fn answers() -> Vec<(u32, Xdr, Done<'static>)> {
    let state = Done::State(STATE);
    let (kind, size, mode) = (Some(FileType::Regular), Some(1_234), Some(0o644));
    let known = Attributes { kind, size, mode, ..Attributes::default() };
    let opened = |delegation| Done::Opened(Opened { state: STATE, unconfirmed: true, delegation });
    let delegation = |writes| Some(Delegation { state: STATE, recalled: false, writes });
    let open = || xdr_state().then(change()).words(&[2, 1, 0x12]);
    let session = Session { id: [0xA5; 16], sequence: 1, flags: 2, fore: CHANNEL, back: CHANNEL };
    let client = Client { id: 7, sequence: 1, flags: 0x0001_0000, implementation: Some(b"Ganesha") };
    let bound = |back_channel| Done::Bound(Bound { session: [0xA5; 16], back_channel });
    let unconfirmed = Unconfirmed { client: 7, verifier: [0xA5; 8] };
    let written = Written { count: 4, committed: Stable::Unstable, verifier: [0xA5; 8] };
    let sequence = SequenceReply { session: [0xA5; 16], sequence: 9, slot: 2, highest: 63, target: 31, flags: 0 };
    let copied =
        |consecutive| Done::Copied(Copied { count: 9, committed: Stable::FileSync, verifier: [0xA5; 8], consecutive });
    vec![
        (3, Xdr::new().words(&[0x3F, 0x1F]), Done::Access(Granted { supported: 0x3F, granted: 0x1F })),
        (4, xdr_state(), state),
        (5, Xdr::new().fixed(8), Done::Committed([0xA5; 8])),
        (6, change().words(&[1, 2]), Done::Nothing),
        (8, Xdr::new(), Done::Nothing),
        (9, attributes(), Done::Attributes(known)),
        (10, Xdr::new().opaque("handle"), Done::Handle(FileHandle::new(b"handle").unwrap())),
        (11, change(), Done::Nothing),
        (12, xdr_state(), state),
        (13, Xdr::new(), Done::Nothing),
        (14, xdr_state(), state),
        (15, Xdr::new(), Done::Nothing),
        (18, open().u32(0), opened(None)),
        (18, open().words(&[3, 0]), opened(None)),
        (18, open().words(&[3, 2, 1]), opened(None)),
        (18, open().u32(1).then(xdr_state()).words(&[0, 0, 0, 0]).opaque("who"), opened(delegation(false))),
        (18, open().u32(2).then(xdr_state()).words(&[0, 1, 0, 9, 0, 0, 0]).opaque(""), opened(delegation(true))),
        (20, xdr_state(), state),
        (22, Xdr::new(), Done::Nothing),
        (25, Xdr::new().u32(1).opaque("hello"), Done::Data(Data { count: 5, eof: true, kept: b"hello" })),
        (27, Xdr::new().opaque("some/where"), Done::Link(b"some/where")),
        (28, change(), Done::Nothing),
        (29, change().then(change()), Done::Nothing),
        (30, Xdr::new(), Done::Nothing),
        (34, Xdr::new().words(&[1, 0x10]), Done::Nothing),
        (35, Xdr::new().u64(7).fixed(8), Done::Unconfirmed(unconfirmed)),
        (36, Xdr::new(), Done::Nothing),
        (38, Xdr::new().words(&[4, 0]).fixed(8), Done::Written(written)),
        (41, Xdr::new().fixed(16).words(&[1, 0]), bound(false)),
        (41, Xdr::new().fixed(16).words(&[3, 0]), bound(true)),
        (
            42,
            Xdr::new()
                .u64(7)
                .words(&[1, 0x0001_0000, 0])
                .u64(0)
                .opaque("major")
                .opaque("scope")
                .u32(1)
                .then(Xdr::new().opaque("domain").opaque("Ganesha").fixed(12)),
            Done::Client(client),
        ),
        (43, Xdr::new().fixed(16).words(&[1, 2]).then(channel()).then(channel()), Done::Session(session)),
        (44, Xdr::new(), Done::Nothing),
        (45, Xdr::new(), Done::Nothing),
        (53, Xdr::new().fixed(16).words(&[9, 2, 63, 31, 0]), Done::Sequence(sequence)),
        (59, Xdr::new(), Done::Nothing),
        (60, Xdr::new().u32(0).u64(9).u32(2).fixed(8).words(&[1, 1]), copied(true)),
        // Not in order, but complete.
        (60, Xdr::new().u32(0).u64(9).u32(2).fixed(8).words(&[0, 1]), copied(false)),
        (62, Xdr::new(), Done::Nothing),
        (69, Xdr::new().u32(1).u64(1 << 40), Done::Found(Found { eof: true, offset: 1 << 40 })),
        (71, Xdr::new(), Done::Nothing),
        (57, Xdr::new(), Done::Nothing),
        (58, Xdr::new(), Done::Nothing),
    ]
}

#[test]
fn answers_are_read_to_their_end_and_an_observer_agrees() {
    for (code, body, expected) in answers() {
        let bytes = compound(0, &[sequence(), Xdr::new().words(&[code, 0]).then(body)]);
        let done = read_all(&bytes, &[53, code]).unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(done[1], expected, "{code}");
        let mut seen = CompoundReply::new(&bytes).operations();
        let codes: Vec<u32> = seen.by_ref().map(|operation| operation.code).collect();
        assert_eq!((codes, seen.stopped()), (vec![53, code], None));
        damage(&bytes, |bytes| {
            let _ = read_all(bytes, &[53, code]);
        });
        let mut longer = bytes.clone();
        longer.extend([0; 4]);
        assert_eq!(read_all(&longer, &[53, code]), Err(Malformed), "{code}: bytes are left over");
        for end in 0..bytes.len() {
            assert_eq!(read_all(&bytes[..end], &[53, code]), Err(Malformed), "{code}, cut at {end}");
        }
    }
}

#[test]
fn the_first_refusal_is_the_last_result() {
    let refused = |code: u32, status: u32, body: Xdr| {
        let bytes = compound(status, &[sequence(), Xdr::new().words(&[code, status]).then(body)]).leak();
        read_all(bytes, &[53, code, 9])
    };
    assert_eq!(refused(22, 70, Xdr::new()).unwrap()[1], Done::Nothing);
    assert_eq!(refused(34, 13, Xdr::new().words(&[1, 0])).unwrap()[1], Done::Nothing, "SETATTR says what it has set");
    let taken = Xdr::new().opaque("tcp").opaque("10.0.0.1.3.4");
    assert_eq!(refused(35, 10_017, taken.clone()).unwrap()[1], Done::Nothing, "whose the name is");
    assert_eq!(refused(35, 10_018, taken), Err(Malformed));
    let denied = Xdr::new().u64(0).u64(9).u32(2).u64(7).opaque("other");
    assert_eq!(refused(12, 10_010, denied.clone()).unwrap()[1], Done::Nothing);
    let how = Xdr::new().words(&[1, 0]);
    assert_eq!(refused(60, 10_094, how.clone()).unwrap()[1], Done::Nothing, "COPY says how it can copy");
    assert_eq!((refused(60, 10_004, how.clone()), refused(71, 10_094, how)), (Err(Malformed), Err(Malformed)));
    assert_eq!(refused(12, 10_011, denied), Err(Malformed), "only a denied LOCK says whose lock is in the way");
    // An operation that the server does not know.
    let unknown = compound(10_044, &[sequence(), Xdr::new().words(&[10_044, 10_044])]);
    assert_eq!(read_all(&unknown, &[53, 71]).unwrap().len(), 2);
    // No operation was tried.
    assert_eq!(read_all(&compound(10_021, &[]), &[53]).unwrap().len(), 0);
    let puzzles = [
        // It goes on behind a failure; it says another status than the last one's; another operation than was asked.
        compound(0, &[Xdr::new().words(&[22, 70]), Xdr::new().words(&[15, 0])]),
        compound(0, &[Xdr::new().words(&[22, 70])]),
        compound(70, &[Xdr::new().words(&[22, 0])]),
        compound(0, &[Xdr::new().words(&[24, 0])]),
        compound(0, &[Xdr::new().words(&[10_044, 0])]),
    ];
    puzzles.iter().for_each(|bytes| assert_eq!(read_all(bytes, &[22, 15]), Err(Malformed)));
    // More results than operations.
    assert_eq!(
        read_all(&compound(0, &[Xdr::new().words(&[22, 0]), Xdr::new().words(&[15, 0])]), &[22]),
        Err(Malformed)
    );
}

#[test]
fn data_that_was_dropped_is_counted() {
    let whole = compound(0, &[Xdr::new().words(&[25, 0, 1]).opaque([7; 1_001])]);
    let head = &whole[..28];
    let read = |head: &[u8], length: usize| -> Result<u32, Malformed> {
        let mut reply = Reply::parse(head, length)?;
        let Some(Done::Data(data)) = reply.next(25)?.map(|answered| answered.result) else { return Err(Malformed) };
        reply.end()?;
        Ok(data.count)
    };
    assert_eq!((read(head, whole.len()), read(&whole[..500], whole.len())), (Ok(1_001), Ok(1_001)));
    assert_eq!((read(head, whole.len() + 4), read(head, 20)), (Err(Malformed), Err(Malformed)));
    assert_eq!(read(&whole, whole.len() + 1), Err(Malformed));
}

/// Data at 100 and a hole behind it.
fn contents(count: u32) -> Xdr {
    Xdr::new().words(&[68, 0, 1, count, 0]).u64(100).opaque("hello").u32(1).u64(105).u64(95)
}

#[test]
fn data_and_holes_are_read_one_behind_the_other() {
    let bytes = compound(0, &[contents(2)]);
    let done = read_all(&bytes, &[68]).unwrap();
    let Done::Contents(contents) = done[0] else { panic!("{done:?}") };
    assert_eq!((contents.eof, contents.data), (true, 5));
    assert_eq!((contents.ends_by(100, 100), contents.ends_by(100, 99)), (true, false), "the hole goes on");
    let read = |offset: u64, count: u32| {
        let mut pieces = Vec::new();
        contents.read(offset, count, |piece| pieces.push(piece)).map(|bytes| (bytes, pieces))
    };
    let (data, hole) = (Segment::Data { offset: 100, bytes: b"hello" }, |length| Segment::Hole { offset: 105, length });
    assert_eq!(read(100, 100), Ok((100, vec![data, hole(95)])));
    assert_eq!(read(100, 1_000), Ok((100, vec![data, hole(95)])));
    // A hole may be longer than the range, but data may not, and it begins where it was asked for.
    assert_eq!(read(100, 8), Ok((8, vec![data, hole(3)])));
    assert_eq!((read(100, 4), read(99, 100), read(101, 100)), (Err(Malformed), Err(Malformed), Err(Malformed)));
    assert_eq!(read(u64::MAX, 1), Err(Malformed));
    let mut seen = CompoundReply::new(&bytes).operations();
    assert_eq!((seen.next().unwrap().facts.payload, seen.stopped()), (Some(5), None));
    damage(&bytes, |bytes| {
        if let Ok(done) = read_all(bytes, &[68])
            && let [Done::Contents(contents)] = done[..]
        {
            let of_data = |segment| if let Segment::Data { bytes, .. } = segment { bytes.len() } else { 0 };
            assert_eq!(contents.segments().map(of_data).sum::<usize>(), contents.data as usize);
            for (offset, count) in [(0, 1_000), (100, 100), (u64::MAX - 7, 7)] {
                let read = contents.read(offset, count, |_| {});
                assert!(read.is_err() || read.is_ok_and(|bytes| bytes <= count));
            }
        }
    });
}

#[test]
fn a_hole_may_begin_before_the_range() {
    let hole = |offset: u64, length: u64| {
        let bytes = compound(0, &[Xdr::new().words(&[68, 0, 0, 1, 1]).u64(offset).u64(length)]).leak();
        let Done::Contents(contents) = read_all(bytes, &[68]).unwrap()[0] else { panic!("{bytes:?}") };
        contents.read(50, 10, |piece| assert_eq!(piece, Segment::Hole { offset: 50, length: 10 }))
    };
    assert_eq!((hole(0, 1_000), hole(50, u64::MAX - 50), hole(0, 60)), (Ok(10), Ok(10), Ok(10)));
    assert_eq!((hole(0, 49), hole(51, 9), hole(50, u64::MAX)), (Err(Malformed), Err(Malformed), Err(Malformed)));
    let empty = compound(0, &[Xdr::new().words(&[68, 0, 1, 0])]);
    let Done::Contents(contents) = read_all(&empty, &[68]).unwrap()[0] else { panic!("{empty:?}") };
    assert_eq!(contents.read(50, 10, |_| panic!("it has no piece")), Ok(0));
}

#[test]
fn contents_that_violate_the_specification_are_malformed() {
    for (what, results) in [
        ("fewer segments than there are", contents(1)),
        ("more segments than there are", contents(3)),
        ("four billion segments", contents(u32::MAX)),
        ("a segment of no kind", Xdr::new().words(&[68, 0, 1, 1, 2]).u64(100).u64(5)),
        ("data that is longer than the message", Xdr::new().words(&[68, 0, 1, 1, 0]).u64(100).words(&[9, 0])),
        ("an end that is neither", Xdr::new().words(&[68, 0, 2, 0])),
        ("a copy that goes on", Xdr::new().words(&[60, 0, 1]).then(xdr_state()).u64(9).u32(2).fixed(8).words(&[1, 1])),
        ("an order that is neither", Xdr::new().words(&[60, 0, 0]).u64(9).u32(2).fixed(8).words(&[2, 1])),
        ("a copy without its end", Xdr::new().words(&[60, 0, 0]).u64(9).u32(2).fixed(8).words(&[1, 0])),
    ] {
        let asked = results.0[3];
        assert_eq!(read_all(&compound(0, &[results]), &[asked.into()]), Err(Malformed), "{what}");
    }
}

#[test]
fn a_directory_is_read_page_by_page() {
    let entry = |cookie: u64, name: &str| Xdr::new().u32(1).u64(cookie).opaque(name).then(attributes());
    let page = Xdr::new().words(&[26, 0]).fixed(8).then(entry(4, "a")).then(entry(9, "b\u{e9}")).words(&[0, 1]);
    let bytes = compound(0, &[page]);
    let done = read_all(&bytes, &[26]).unwrap();
    let Done::Page(page) = done[0] else { panic!("{done:?}") };
    assert_eq!((page.verifier, page.cookie, page.eof), ([0xA5; 8], Some(9), true));
    let names: Vec<_> = page.entries().map(|entry| (entry.name, entry.cookie, entry.attributes.size)).collect();
    assert_eq!(names, [(&b"a"[..], 4, Some(1_234)), ("b\u{e9}".as_bytes(), 9, Some(1_234))]);
    damage(&bytes, |bytes| {
        if let Ok(done) = read_all(bytes, &[26])
            && let [Done::Page(page)] = done[..]
        {
            assert_eq!(page.entries().last().map(|entry| entry.cookie), page.cookie);
        }
    });
    let empty = compound(0, &[Xdr::new().words(&[26, 0]).fixed(8).words(&[0, 1])]);
    assert!(matches!(read_all(&empty, &[26]).unwrap()[0], Done::Page(page) if page.entries().count() == 0));
}

#[test]
fn attributes_that_nobody_asks_for_are_malformed() {
    let told = |mask: &[u32], values: Xdr| {
        let bytes = compound(0, &[Xdr::new().words(&[9, 0, mask.len() as u32]).words(mask).opaque(values.0)]);
        read_all(&bytes, &[9]).map(|done| match done[0] {
            Done::Attributes(attributes) => attributes,
            _ => Attributes::default(),
        })
    };
    // lease_time, maxread, maxwrite; space_avail, space_total.
    let server = told(&[0xC000_0400], Xdr::new().u32(60).u64(1 << 20).u64(1 << 19)).unwrap();
    assert_eq!((server.lease_seconds, server.max_read, server.max_write), (Some(60), Some(1 << 20), Some(1 << 19)));
    let space = told(&[0, 0x1400], Xdr::new().u64(5).u64(6)).unwrap();
    assert_eq!((space.space_available, space.space_total), (Some(5), Some(6)));
    assert!(told(&[1], Xdr::new().words(&[1, 2])).is_err(), "supported_attrs");
    assert!(told(&[0x10], Xdr::new().u64(5).u32(0)).is_err(), "values are left over");
    assert!(told(&[0x10], Xdr::new().u32(5)).is_err(), "a value is cut");
    assert!(told(&[0; 9], Xdr::new()).is_err(), "more words than there are attributes");
    // Everything that Linux asks for.
    let usual = Xdr::new().u32(2).u64(1).u64(2).u64(3).u64(4).u64(5).words(&[0o755, 2]).opaque("0").opaque("0");
    let usual = usual.words(&[0, 0]).u64(6).fixed(36).u64(7);
    let usual = told(&[0x0010_011A, 0x00B0_A23A], usual).unwrap();
    let seen = (usual.kind, usual.size, usual.file_id, usual.mode);
    assert_eq!(seen, (Some(FileType::Directory), Some(2), Some(5), Some(0o755)));
}
