//! Operations of 4.2: copies, and files with holes.

use plimsoll_wire::nfs::v4::copy::{CloneRange, Copied, CopyRange, Ranges};
use plimsoll_wire::nfs::v4::read_plus::{ReadPlus, Segment};
use plimsoll_wire::nfs::v4::sparse::{Allocate, Deallocate, Found, Seek};

use super::super::limits::LONGEST_COPY;
use super::*;

/// Bytes of a page of the memory file system: a hole in a file is as long, or longer.
const PAGE: u64 = 64 << 10;

/// The next request of slot 0, in 4.2.
fn ask(client: &mut Client<'_>, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
    client.sequence += 1;
    // An answer with data is too long to be kept.
    let sequence = Sequence { cache: false, ..client.slot(0, client.sequence) };
    answer(client.server, 2, |compound| {
        compound.add(&sequence);
        add(compound);
    })
}

fn on<C: Call>(client: &mut Client<'_>, handle: &FileHandle, call: &C) -> Vec<u8> {
    ask(client, |compound| {
        compound.add(&PutHandle(handle)).add(call);
    })
}

fn on_two<C: Call>(client: &mut Client<'_>, (from, to): (&FileHandle, &FileHandle), call: &C) -> Vec<u8> {
    ask(client, |compound| {
        compound.add(&PutHandle(from)).add(&Save).add(&PutHandle(to)).add(call);
    })
}

fn file(client: &mut Client<'_>, name: &[u8], bytes: &[u8]) -> (StateId, FileHandle) {
    let (state, handle) = client.open(b"o", name, 3).unwrap();
    client.server.node(handle.as_bytes()).unwrap().write(0, bytes).unwrap();
    (state, handle)
}

fn bytes_of(client: &Client<'_>, handle: &FileHandle) -> Vec<u8> {
    let node = client.server.node(handle.as_bytes()).unwrap();
    node.read(0, u32::MAX).unwrap().0
}

#[test]
fn a_copy_is_made_piece_by_piece() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let length = LONGEST_COPY + 5;
    let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
    let (from, source) = file(&mut client, b"source", &content);
    let (to, target) = file(&mut client, b"target", b"0123");
    let copied = |client: &mut Client<'_>, from_offset, to_offset, count| {
        let call = CopyRange(Ranges { from, to, from_offset, to_offset, count });
        let results = on_two(client, (&source, &target), &call);
        match done(&results, &[53, 22, 32, 22, 60])[4] {
            Done::Copied(Copied { count, committed: Stable::FileSync, .. }) => count,
            ref other => panic!("{other:?}"),
        }
    };
    assert_eq!(copied(&mut client, 2, 3, 4), 4);
    assert_eq!(bytes_of(&client, &target), b"012\x02\x03\x04\x05");
    assert_eq!(copied(&mut client, 0, 0, length), LONGEST_COPY, "the client asks for the rest");
    assert_eq!(copied(&mut client, LONGEST_COPY, LONGEST_COPY, 0), 5, "0 is the rest of the source");
    assert!(bytes_of(&client, &target) == content);
    assert_eq!(copied(&mut client, length, 0, 0), 0);
}

#[test]
fn a_repeated_copy_is_answered_from_its_slot() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (from, source) = file(&mut client, b"source", b"0123456789");
    let (to, target) = file(&mut client, b"target", b"");
    client.sequence += 1;
    let slot = client.slot(0, client.sequence);
    let copy = || {
        answer(&server, 2, |compound| {
            compound.add(&slot).add(&PutHandle(&source)).add(&Save).add(&PutHandle(&target));
            compound.add(&CopyRange(Ranges { from, to, from_offset: 0, to_offset: 0, count: 10 }));
        })
    };
    let first = copy();
    assert!(matches!(done(&first, &[53, 22, 32, 22, 60])[4], Done::Copied(Copied { count: 10, .. })));
    server.node(source.as_bytes()).unwrap().write(0, b"xyz").unwrap();
    assert!(copy() == first);
    assert_eq!(bytes_of(&client, &target), b"0123456789", "it was not copied again");
}

#[test]
fn copies_have_the_holes_of_their_source() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    // A hole, half a page of data, a hole in the middle, data, and a hole at the end.
    let (from, source) = file(&mut client, b"source", b"");
    let node = server.node(source.as_bytes()).unwrap();
    for (offset, length) in [(PAGE, PAGE / 2), (5 * PAGE + 100, PAGE)] {
        node.write(offset, &vec![7; length as usize]).unwrap();
    }
    node.make_hole(6 * PAGE + 200, 3 * PAGE).unwrap();
    let size = node.stat().size;
    let map = |handle: &FileHandle| {
        let (node, mut at, mut data) = (server.node(handle.as_bytes()).unwrap(), 0, Vec::new());
        while let (Some((start, stop)), _) = node.next_data(at, u64::MAX).unwrap() {
            data.push((start, stop));
            at = stop;
        }
        data
    };
    for (clones, name) in [(false, &b"copied"[..]), (true, b"cloned")] {
        // What is there before is replaced, also by holes.
        let (to, target) = file(&mut client, name, &[9; 3 * PAGE as usize]);
        let ranges = Ranges { from, to, from_offset: 0, to_offset: 0, count: size };
        let files = (&source, &target);
        let results = match clones {
            true => on_two(&mut client, files, &CloneRange(ranges)),
            false => on_two(&mut client, files, &CopyRange(ranges)),
        };
        assert_eq!(status(&results), Status::OK);
        assert!(bytes_of(&client, &target) == bytes_of(&client, &source), "clones: {clones}");
        let whole =
            |data: Vec<(u64, u64)>| data.iter().map(|(start, stop)| (start / PAGE, stop.div_ceil(PAGE))).collect();
        let (found, expected): (Vec<_>, Vec<_>) = (whole(map(&target)), whole(map(&source)));
        assert_eq!(found, expected, "clones: {clones}");
    }
}

#[test]
fn copies_that_make_no_sense_are_refused() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (one, source) = file(&mut client, b"source", &[1; 100]);
    let (two, target) = file(&mut client, b"target", &[2; 100]);
    let (reader, only_read) = client.open(b"o", b"read", open::READ).unwrap();
    let root = client.export();
    let range = |from, to, from_offset, to_offset, count| Ranges { from, to, from_offset, to_offset, count };
    let mut copy = |files: (&FileHandle, &FileHandle), ranges: Ranges| {
        let copied = status(&on_two(&mut client, files, &CopyRange(ranges)));
        [copied, status(&on_two(&mut client, files, &CloneRange(ranges)))]
    };
    assert_eq!(copy((&source, &target), range(one, two, 90, 0, 11)), [Status::INVAL; 2], "behind the end");
    assert_eq!(copy((&source, &target), range(one, two, 101, 0, 0)), [Status::INVAL; 2]);
    assert_eq!(copy((&source, &target), range(one, two, 0, u64::MAX, 1)), [Status::INVAL; 2]);
    assert_eq!(copy((&root, &target), range(one, two, 0, 0, 1)), [Status::WRONG_TYPE; 2]);
    assert_eq!(copy((&source, &root), range(one, two, 0, 0, 1)), [Status::WRONG_TYPE; 2]);
    assert_eq!(copy((&source, &only_read), range(one, reader, 0, 0, 1)), [Status::OPENMODE; 2]);
    assert_eq!(copy((&source, &target), range(one, one, 0, 0, 1)), [Status::BAD_STATEID; 2]);
    // Within a file only a clone, and only if the ranges do not overlap.
    assert_eq!(copy((&source, &source), range(one, one, 0, 50, 50)), [Status::INVAL, Status::OK]);
    assert_eq!(copy((&source, &source), range(one, one, 0, 49, 50)), [Status::INVAL; 2]);
    let alone = ask(&mut client, |compound| {
        compound.add(&PutHandle(&target)).add(&CopyRange(range(one, two, 0, 0, 1)));
    });
    assert_eq!(status(&alone), Status::NOFILEHANDLE, "nothing is saved");
    // From another server.
    client.sequence += 1;
    let mut arguments = Vec::new();
    let mut compound = Compound::begin(2, &mut arguments);
    compound.add(&client.slot(0, client.sequence)).add(&PutHandle(&source)).add(&Save).add(&PutHandle(&target));
    compound.add(&CopyRange(range(one, two, 0, 0, 1)));
    let last = arguments.len() - 1;
    arguments[last] = 1;
    let mut out = Vec::new();
    compound::run(&server, None, &arguments, &mut out).unwrap();
    assert_eq!(status(&out), Status::NOTSUPP);
}

#[test]
fn a_clone_is_whole_or_not_there() {
    let server = Server::new(Arc::new(FileSystem::new(20 * PAGE).unwrap()), "export", false).unwrap();
    let mut client = Client::new(&server, b"one");
    let (from, source) = file(&mut client, b"source", &[1; 8 * PAGE as usize]);
    let (to, target) = file(&mut client, b"target", b"");
    let call = |to_offset| CloneRange(Ranges { from, to, from_offset: 0, to_offset, count: 0 });
    assert_eq!(status(&on_two(&mut client, (&source, &target), &call(0))), Status::OK);
    assert!(bytes_of(&client, &target) == [1; 8 * PAGE as usize]);
    assert_eq!(status(&on_two(&mut client, (&source, &target), &call(8 * PAGE))), Status::NOSPC);
    assert_eq!(server.node(target.as_bytes()).unwrap().stat().size, 8 * PAGE);
}

#[test]
fn holes_are_found_and_read() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = file(&mut client, b"file", &[7; 4 * PAGE as usize]);
    // Data, a hole, data, and a hole at the end.
    assert_eq!(status(&on(&mut client, &handle, &Deallocate { state, offset: PAGE, length: PAGE })), Status::OK);
    let longer = SetAttributes::size(5 * PAGE);
    let resized = plimsoll_wire::nfs::v4::getattr::ChangeAttributes { state, attributes: longer };
    assert_eq!(status(&on(&mut client, &handle, &resized)), Status::OK);
    let seek = |client: &mut Client<'_>, offset, hole| {
        let results = on(client, &handle, &Seek { state, offset, hole });
        match status(&results) {
            Status::OK => match done(&results, &[53, 22, 69])[2] {
                Done::Found(Found { eof, offset }) => Ok((offset, eof)),
                ref other => panic!("{other:?}"),
            },
            refused => Err(refused),
        }
    };
    assert_eq!(seek(&mut client, 5, false), Ok((5, false)));
    assert_eq!(seek(&mut client, 5, true), Ok((PAGE, false)));
    assert_eq!(seek(&mut client, PAGE + 9, false), Ok((2 * PAGE, false)));
    assert_eq!(seek(&mut client, PAGE + 9, true), Ok((PAGE + 9, false)));
    assert_eq!(seek(&mut client, 2 * PAGE, true), Ok((4 * PAGE, false)));
    assert_eq!(seek(&mut client, 4 * PAGE, false), Ok((5 * PAGE, true)), "no data up to the end");
    assert_eq!(seek(&mut client, 5 * PAGE, true), Err(Status::NXIO));
    let read = |client: &mut Client<'_>, offset, count| {
        let results = on(client, &handle, &ReadPlus { state, offset, count });
        let Done::Contents(contents) = done(&results, &[53, 22, 68])[2] else { panic!("{results:?}") };
        let mut segments = Vec::new();
        let bytes = contents.read(offset, count, |segment| {
            segments.push(match segment {
                Segment::Data { offset, bytes } => {
                    assert!(bytes.iter().all(|&byte| byte == 7));
                    ("data", offset, bytes.len() as u64)
                }
                Segment::Hole { offset, length } => ("hole", offset, length),
            });
        });
        (bytes.unwrap(), contents.eof, segments)
    };
    let all = vec![("data", 0, PAGE), ("hole", PAGE, PAGE), ("data", 2 * PAGE, 2 * PAGE), ("hole", 4 * PAGE, PAGE)];
    assert_eq!(read(&mut client, 0, 1 << 20), (5 * PAGE as u32, true, all));
    assert_eq!(read(&mut client, PAGE - 1, 3), (3, false, vec![("data", PAGE - 1, 1), ("hole", PAGE, 2)]));
    assert_eq!(read(&mut client, 9 * PAGE, 3), (0, true, vec![]));
    assert_eq!(read(&mut client, 0, 0), (0, false, vec![]));
}

#[test]
fn a_search_for_neither_data_nor_a_hole_is_refused() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = file(&mut client, b"file", b"data");
    for offset in [0, 99] {
        client.sequence += 1;
        let mut arguments = Vec::new();
        let mut compound = Compound::begin(2, &mut arguments);
        compound.add(&client.slot(0, client.sequence)).add(&PutHandle(&handle));
        compound.add(&Seek { state, offset, hole: true });
        let last = arguments.len() - 1;
        arguments[last] = 2;
        let mut out = Vec::new();
        compound::run(&server, None, &arguments, &mut out).unwrap();
        assert_eq!(status(&out), Status::UNION_NOTSUPP, "at {offset}");
    }
}

#[test]
fn space_is_taken_and_given_back() {
    let server = Server::new(Arc::new(FileSystem::new(20 * PAGE).unwrap()), "export", false).unwrap();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = file(&mut client, b"file", b"");
    let used = || server.node(handle.as_bytes()).unwrap().stat();
    let mut allocate = |offset, length| status(&on(&mut client, &handle, &Allocate { state, offset, length }));
    assert_eq!((allocate(0, 4 * PAGE), used().size, used().used), (Status::OK, 4 * PAGE, 4 * PAGE));
    assert_eq!((allocate(0, 90 * PAGE), used().size), (Status::NOSPC, 4 * PAGE));
    assert_eq!(
        (allocate(0, 0), allocate(5, u64::MAX), allocate(1, i64::MAX as u64)),
        (Status::INVAL, Status::FBIG, Status::FBIG)
    );
    assert_eq!(allocate(0, i64::MAX as u64), Status::NOSPC);
    let mut deallocate = |offset, length| status(&on(&mut client, &handle, &Deallocate { state, offset, length }));
    assert_eq!((deallocate(0, 3 * PAGE), used().size, used().used), (Status::OK, 4 * PAGE, PAGE));
    assert_eq!((deallocate(0, 0), deallocate(5, u64::MAX)), (Status::INVAL, Status::FBIG));
    let (reader, only_read) = client.open(b"o", b"read", open::READ).unwrap();
    let refused = on(&mut client, &only_read, &Allocate { state: reader, offset: 0, length: 1 });
    assert_eq!(status(&refused), Status::OPENMODE);
    let root = client.export();
    let state_of_none = StateId::ANONYMOUS;
    let refused = on(&mut client, &root, &Allocate { state: state_of_none, offset: 0, length: 1 });
    assert_eq!(status(&refused), Status::WRONG_TYPE);
    // Reads and searches are refused as READ is.
    let refused = on(&mut client, &root, &Seek { state: state_of_none, offset: 0, hole: true });
    assert_eq!(status(&refused), Status::ISDIR);
    let refused = on(&mut client, &root, &ReadPlus { state: state_of_none, offset: 0, count: 1 });
    assert_eq!(status(&refused), Status::ISDIR);
    // 4.1 has none of them.
    let old = client.on(&handle, &Allocate { state, offset: 0, length: 1 });
    assert_eq!(old, Status::OP_ILLEGAL);
}
