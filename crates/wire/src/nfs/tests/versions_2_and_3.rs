//! NFS 2 after RFC 1094 2.2, NFS 3 after RFC 1813 3.3.

use crate::nfs::v3::Call;
use crate::nfs::v3::getattr::GetAttr;
use crate::nfs::v3::read::Read;
use crate::nfs::v3::write::{Stable, Write};
use crate::nfs::{Facts, arguments, results, v2, v3};
use crate::rpc::Program;
use crate::xdr::builder::{Xdr, damage};
use proptest::prelude::*;

const NFS: u32 = 100_003;
const H: &[u8] = b"a handle of 24 bytes ...";
const H2: &[u8] = b"another one";

fn fh() -> Xdr {
    Xdr::new().opaque(H)
}

/// `post_op_attr` with attributes.
fn attributes() -> Xdr {
    Xdr::new().u32(1).fixed(84)
}

/// `wcc_data`, both halves present.
fn wcc() -> Xdr {
    Xdr::new().u32(1).fixed(24).then(attributes())
}

#[test]
fn v3_calls() {
    let named = Facts { handle: Some(H), name: Some(b"file"), ..Facts::default() };
    for procedure in [3, 9, 11, 12, 13] {
        assert_eq!(v3::arguments(procedure, &fh().opaque("file").words(&[0; 9]).0), named, "{procedure}");
    }
    for procedure in [1, 2, 4, 5, 18, 19, 20] {
        let facts = v3::arguments(procedure, fh().words(&[0; 9]).bytes());
        assert_eq!(facts, Facts { handle: Some(H), ..Facts::default() }, "{procedure}");
    }
    let rename = v3::arguments(14, fh().opaque("old").opaque(H2).opaque("new").bytes());
    assert_eq!((rename.handle, rename.name), (Some(H), Some(&b"old"[..])));
    assert_eq!((rename.to_handle, rename.to_name), (Some(H2), Some(&b"new"[..])));
    let link = v3::arguments(15, fh().opaque(H2).opaque("new").bytes());
    assert_eq!((link.handle, link.to_handle, link.to_name), (Some(H), Some(H2), Some(&b"new"[..])));
    // sattr3: mode and size set, atime to the client's time, mtime to the server's.
    let sattr = Xdr::new().words(&[1, 0o777, 0, 0, 1]).u64(5).words(&[2, 1, 2, 1]);
    let symlink = v3::arguments(10, fh().opaque("link").then(sattr).opaque("target").bytes());
    assert_eq!((symlink.name, symlink.to_name), (Some(&b"link"[..]), Some(&b"target"[..])));
    let commit = v3::arguments(21, fh().u64(4096).u32(8192).bytes());
    assert_eq!((commit.offset, commit.count), (Some(4096), Some(8192)));
    assert_eq!(v3::arguments(16, fh().u64(1).fixed(8).u32(4096).bytes()).count, Some(4096));
    assert_eq!(v3::arguments(17, fh().u64(1).fixed(8).words(&[512, 4096]).bytes()).count, Some(4096));
}

#[test]
fn creates_say_what_becomes_of_a_file_that_is_there() {
    // RFC 1813 3.3.8: createmode3, then sattr3 (mode, uid, gid, size, …) or a verifier.
    let create = |how: Xdr| v3::arguments(8, &fh().opaque("file").then(how).0).disposition();
    let sized = |size: u64| Xdr::new().words(&[0, 1, 0o644, 0, 0, 1]).u64(size).words(&[0, 0]);
    assert_eq!(create(sized(0)), Some(5));
    assert_eq!(create(sized(1)), Some(3));
    assert_eq!(create(Xdr::new().words(&[0, 0, 0, 0, 0, 0, 0])), Some(3));
    assert_eq!(create(Xdr::new().words(&[1, 0, 0, 0, 0, 0, 0])), Some(2), "guarded");
    assert_eq!(create(Xdr::new().u32(2).fixed(8)), Some(2), "exclusive");
    assert_eq!(create(Xdr::new().u32(3)), None, "no such mode");
    let cut = fh().opaque("file").words(&[0, 1, 0o644]).0;
    let cut = v3::arguments(8, &cut);
    assert_eq!((cut.name, cut.disposition()), (Some(&b"file"[..]), None), "the size is behind the cut");
    // RFC 1094 2.2.10: sattr is mode, uid, gid, size (all ones: unchanged), and two times.
    let create = |size| {
        v2::arguments(9, &Xdr::new().fixed(32).opaque("file").words(&[0o644, 0, 0, size, 0, 0, 0, 0]).0).disposition()
    };
    assert_eq!([0, 1, u32::MAX].map(create), [Some(5), Some(3), Some(3)]);
}

#[test]
fn v3_reads_and_writes_count_data_that_was_not_captured() {
    let read = v3::arguments(6, fh().u64(1 << 40).u32(32768).bytes());
    assert_eq!((read.offset, read.count, read.payload), (Some(1 << 40), Some(32768), None));

    let write = fh().u64(1 << 40).words(&[32768, 2]).opaque(vec![7; 32768]).0;
    let whole = v3::arguments(7, &write);
    assert_eq!(
        (whole.offset, whole.count, whole.stable, whole.payload),
        (Some(1 << 40), Some(32768), Some(2), Some(32768))
    );
    let after_length = write.len() - 32768;
    for cut in [after_length, after_length - 4, after_length - 8] {
        assert_eq!(v3::arguments(7, &write[..cut]).payload, Some(32768), "{cut}");
    }
    assert_eq!(v3::arguments(7, &write[..after_length - 12]).payload, None);

    // A read at the end of the file: 100 bytes, eof.
    let result = Xdr::new().u32(0).then(attributes()).words(&[100, 1]).opaque([7; 100]).0;
    let whole = v3::results(6, &result);
    assert_eq!((whole.status, whole.count, whole.payload), (Some(0), Some(100), Some(100)));
    assert_eq!(v3::results(6, &result[..result.len() - 104]).payload, Some(100), "from the count");
    assert_eq!(v3::results(6, &result[..4]), Facts { status: Some(0), ..Facts::default() });

    let written = v3::results(7, Xdr::new().u32(0).then(wcc()).words(&[32768, 2]).fixed(8).bytes());
    assert_eq!((written.count, written.stable, written.payload), (Some(32768), Some(2), None));
}

#[test]
fn v3_results() {
    let found = v3::results(3, Xdr::new().u32(0).opaque(H).then(attributes()).u32(0).bytes());
    assert_eq!((found.status, found.handle), (Some(0), Some(H)));
    for procedure in 8..=11 {
        let made = v3::results(procedure, Xdr::new().words(&[0, 1]).opaque(H).then(attributes()).then(wcc()).bytes());
        assert_eq!(made.handle, Some(H), "{procedure}");
        let unnamed = v3::results(procedure, Xdr::new().words(&[0, 0]).then(attributes()).then(wcc()).bytes());
        assert_eq!((unnamed.status, unnamed.handle), (Some(0), None), "a server may leave the handle out");
    }
    let failed = v3::results(3, Xdr::new().u32(2).opaque(H).bytes());
    assert_eq!((failed.status, failed.handle), (Some(2), None), "what follows a failure is not a handle");
    let text = v3::results(5, Xdr::new().u32(0).then(attributes()).opaque("target").bytes());
    assert_eq!(text.name, Some(&b"target"[..]));
    assert_eq!(v3::results(0, &[0, 0, 0, 0]), Facts::default(), "NULL has no status");
    assert_eq!(v3::results(22, &[0, 0, 0, 0]), Facts::default());
}

#[test]
fn a_handle_is_whole_or_missing() {
    let bytes = fh().opaque("file").0;
    let cut = v3::arguments(3, &bytes[..20]);
    assert_eq!(cut, Facts::default());
    let too_long = v3::arguments(1, Xdr::new().opaque([0; 132]).bytes());
    assert_eq!(too_long.handle, None);
}

#[test]
fn v2_calls_and_results() {
    let h = || Xdr::new().fixed(32);
    let handle = Some(&[0xA5; 32][..]);
    let lookup = v2::arguments(4, h().opaque("file").bytes());
    assert_eq!((lookup.handle, lookup.name), (handle, Some(&b"file"[..])));
    let read = v2::arguments(6, h().words(&[4096, 8192, 0]).bytes());
    assert_eq!((read.offset, read.count), (Some(4096), Some(8192)));
    let write = v2::arguments(8, h().words(&[1, 4096, 2]).opaque([7; 100]).bytes());
    assert_eq!((write.offset, write.count, write.payload), (Some(4096), Some(100), Some(100)));
    let rename = v2::arguments(11, h().opaque("old").fixed(32).opaque("new").bytes());
    assert_eq!((rename.to_handle, rename.to_name), (handle, Some(&b"new"[..])));
    let symlink = v2::arguments(13, h().opaque("link").opaque("target").fixed(32).bytes());
    assert_eq!(symlink.to_name, Some(&b"target"[..]));
    for procedure in [4, 9, 14] {
        assert_eq!(v2::results(procedure, Xdr::new().u32(0).fixed(32 + 68).bytes()).handle, handle);
    }
    let data = v2::results(6, Xdr::new().u32(0).fixed(68).opaque([7; 100]).bytes());
    assert_eq!((data.payload, data.count), (Some(100), Some(100)));
    assert_eq!(v2::results(6, Xdr::new().u32(70).bytes()).status, Some(70));
}

#[test]
fn damage_is_survived() {
    let rename = fh().opaque("old").opaque(H2).opaque("new").0;
    let sattr = Xdr::new().words(&[1, 0o777, 0, 0, 1]).u64(5).words(&[2, 1, 2, 1]);
    let symlink = fh().opaque("link").then(sattr).opaque("target").0;
    let read = Xdr::new().u32(0).then(attributes()).words(&[100, 1]).opaque([7; 100]).0;
    for message in [rename, symlink, read] {
        damage(&message, |bytes| {
            for version in 2..=3 {
                for procedure in 0..=22 {
                    let mut facts = Facts::default();
                    arguments(NFS, version, procedure, bytes, &mut facts);
                    results(NFS, version, procedure, bytes, &mut facts);
                }
            }
        });
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived_and_only_quoted(
        program in proptest::sample::select(Program::ALL.map(Program::number).to_vec()),
        version in 0u32..6,
        procedure in 0u32..30,
        bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(1u8), any::<u8>()], 0..200),
    ) {
        let mut sides = [Facts::default(); 2];
        arguments(program, version, procedure, &bytes, &mut sides[0]);
        results(program, version, procedure, &bytes, &mut sides[1]);
        for facts in sides {
            for part in [facts.handle, facts.to_handle, facts.name, facts.to_name].into_iter().flatten() {
                prop_assert!(part.is_empty() || bytes.windows(part.len()).any(|window| window == part));
            }
        }
    }

    #[test]
    fn a_cut_call_says_nothing_else_than_the_whole(cut in 0usize..120) {
        let bytes = fh().u64(77).words(&[64, 1]).opaque([7; 64]).0;
        let whole = v3::arguments(7, &bytes);
        let part = v3::arguments(7, &bytes[..cut.min(bytes.len())]);
        prop_assert!(part.handle.is_none() || part.handle == whole.handle);
        prop_assert!(part.offset.is_none() || part.offset == whole.offset);
        prop_assert!(part.count.is_none() || part.count == whole.count);
        prop_assert!(part.payload.is_none() || part.payload == whole.payload);
    }
}

#[test]
fn calls_state_the_facts_that_their_bytes_have() {
    fn check(call: &impl Call) {
        let mut bytes = Vec::new();
        call.emit(&mut bytes);
        assert_eq!(call.facts(&bytes), facts_of(call, &bytes));
    }
    fn facts_of<'a, C: Call>(_: &C, bytes: &'a [u8]) -> Facts<'a> {
        v3::arguments(C::PROCEDURE, bytes)
    }
    let file = &v3::FileHandle::new(H).unwrap();
    check(&GetAttr { object: file });
    for (offset, count) in [(0, 0), (1 << 40, 8_192), (u64::MAX, u32::MAX)] {
        check(&Read { file, offset, count });
        for stable in [Stable::Unstable, Stable::DataSync, Stable::FileSync] {
            check(&Write { file, offset, count, stable });
        }
    }
}
