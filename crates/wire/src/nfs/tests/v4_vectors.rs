//! Arguments and results of every NFS 4 operation, assembled by hand after the XDR of RFC 7531, 5662, 7863 and 8276,
//! without looking at the tables: a table with a wrong item loses its way in them.

use crate::xdr::builder::Xdr;

/// One operation's number, and what follows it.
pub(super) type Vector = (u32, Xdr);

fn x() -> Xdr {
    Xdr::new()
}

fn stateid() -> Xdr {
    x().u32(1).fixed(12)
}

fn bitmap() -> Xdr {
    x().words(&[2, 0x10, 0x2])
}

/// `fattr4` with a size (attribute 4): eight bytes.
fn fattr() -> Xdr {
    x().words(&[1, 0x10]).opaque(x().u64(4096).0)
}

fn owner() -> Xdr {
    x().u64(0xC11E).opaque("owner")
}

fn channel() -> Xdr {
    x().words(&[0, 1_049_620, 1_049_480, 2128, 8, 30, 0])
}

fn callback_security() -> Xdr {
    let sys = x().u32(1).u32(0).opaque("host").words(&[0, 0, 1, 0]);
    let gss = x().u32(6).u32(1).opaque("server").opaque("client");
    x().u32(3).u32(0).then(sys).then(gss)
}

fn implementation() -> Xdr {
    x().u32(1).opaque("kernel.org").opaque("Linux 6").u64(0).u32(0)
}

fn netlocs() -> Xdr {
    x().u32(3).u32(1).opaque("name").u32(2).opaque("url").u32(3).opaque("tcp").opaque("192.0.2.1.8.1")
}

fn netaddr() -> Xdr {
    x().u32(3).opaque("tcp").opaque("192.0.2.1.8.1")
}

fn layout_update() -> Xdr {
    x().u32(4).opaque([1; 6])
}

fn open(how: Xdr, claim: Xdr) -> Vector {
    (18, x().words(&[0, 1, 0]).then(owner()).then(how).then(claim))
}

/// RFC 7531: the operations of minor version 0.
pub(super) fn arguments_40() -> Vec<Vector> {
    let no_create = || x().u32(0);
    let by_name = || x().u32(0).opaque("file");
    vec![
        (3, x().u32(0x1F)),
        (4, x().u32(1).then(stateid())),
        (5, x().u64(4096).u32(8192)),
        (6, x().u32(2).opaque("dir").then(fattr())),
        (6, x().u32(5).opaque("text").opaque("link").then(fattr())),
        (6, x().u32(3).words(&[8, 1]).opaque("disk").then(fattr())),
        (7, x().u64(1)),
        (8, stateid()),
        (9, bitmap()),
        (10, x()),
        (11, x().opaque("new")),
        (12, x().words(&[4, 0]).u64(10).u64(20).u32(1).u32(5).then(stateid()).u32(0).then(owner())),
        (12, x().words(&[1, 0]).u64(10).u64(20).u32(0).then(stateid()).u32(9)),
        (13, x().u32(3).u64(10).u64(20).then(owner())),
        (14, x().words(&[2, 9]).then(stateid()).u64(10).u64(20)),
        (15, x().opaque("file")),
        (16, x()),
        (17, fattr()),
        open(no_create(), by_name()),
        open(x().words(&[1, 0]).then(fattr()), by_name()),
        open(x().words(&[1, 1]).then(fattr()), by_name()),
        open(x().words(&[1, 2]).fixed(8), by_name()),
        open(no_create(), x().words(&[1, 1])),
        open(no_create(), x().u32(2).then(stateid()).opaque("file")),
        open(no_create(), x().u32(3).opaque("file")),
        (19, x().u32(1)),
        (20, stateid().u32(2)),
        (21, stateid().words(&[2, 1, 0])),
        (22, x().opaque([7; 28])),
        (23, x()),
        (24, x()),
        (25, stateid().u64(4096).u32(8192)),
        (26, x().u64(0).fixed(8).words(&[512, 4096]).then(bitmap())),
        (27, x()),
        (28, x().opaque("file")),
        (29, x().opaque("old").opaque("new")),
        (30, x().u64(1)),
        (31, x()),
        (32, x()),
        (33, x().opaque("file")),
        (34, stateid().then(fattr())),
        (35, x().fixed(8).opaque("id").u32(0x4000_0000).opaque("tcp").opaque("192.0.2.1.3.3").u32(1)),
        (36, x().u64(1).fixed(8)),
        (37, fattr()),
        (38, stateid().u64(4096).u32(2).opaque([9; 13])),
        (39, owner()),
    ]
}

/// RFC 5662: what minor version 1 adds.
pub(super) fn arguments_41() -> Vec<Vector> {
    let machine = x().u32(1).then(bitmap()).then(bitmap());
    let ssv = x().u32(2).then(bitmap()).then(bitmap());
    let ssv = ssv.u32(1).opaque([6; 9]).u32(2).opaque([7; 9]).opaque([8; 9]).words(&[4, 1]);
    let exchange = |how: Xdr| (42, x().fixed(8).opaque("client").u32(0x101).then(how).then(implementation()));
    vec![
        open(x().words(&[1, 3]).fixed(8).then(fattr()), x().u32(0).opaque("file")),
        open(x().u32(0), x().u32(4)),
        open(x().u32(0), x().u32(5).then(stateid())),
        open(x().u32(0), x().u32(6)),
        (40, x().u32(0x4000_0000).then(callback_security())),
        (41, x().fixed(16).words(&[3, 0])),
        exchange(x().u32(0)),
        exchange(machine),
        exchange(ssv),
        (43, x().u64(1).words(&[1, 3]).then(channel()).then(channel()).u32(0x4000_0000).then(callback_security())),
        (44, x().fixed(16)),
        (45, stateid()),
        (46, x().u32(0).then(bitmap()).u64(0).u32(0).u64(0).u32(0).then(bitmap()).then(bitmap())),
        (47, x().fixed(16).words(&[1, 4096]).then(bitmap())),
        (48, x().words(&[1, 10]).u64(0).fixed(8)),
        (49, x().u64(0).u64(99).u32(0).then(stateid()).u32(1).u64(98).u32(1).u64(0).u32(0).then(layout_update())),
        (49, x().u64(0).u64(99).u32(0).then(stateid()).words(&[0, 0]).then(layout_update())),
        (50, x().words(&[0, 1, 1]).u64(0).u64(99).u64(1).then(stateid()).u32(4096)),
        (51, x().words(&[0, 1, 1, 1]).u64(0).u64(99).then(stateid()).opaque([2; 5])),
        (51, x().words(&[0, 1, 1, 3])),
        (52, x().u32(0)),
        (53, x().fixed(16).words(&[77, 3, 5, 1])),
        (54, x().opaque([1; 16]).opaque([2; 20])),
        (55, x().u32(2).then(stateid()).then(stateid())),
        (56, x().words(&[1, 4])),
        (56, x().words(&[1, 1, 1])),
        (57, x().u64(1)),
        (58, x().u32(0)),
    ]
}

/// RFC 7863 and RFC 8276: what minor version 2 adds.
pub(super) fn arguments_42() -> Vec<Vector> {
    let range = || stateid().u64(4096).u64(8192);
    let copy = || stateid().then(stateid()).u64(1).u64(4096).u64(8192);
    vec![
        (59, range()),
        (60, copy().words(&[1, 0]).then(netlocs())),
        (60, copy().words(&[1, 1]).u32(0)),
        (61, stateid().then(netaddr())),
        (62, range()),
        (63, range().then(bitmap())),
        (64, x().u64(0).u64(99).then(stateid()).u32(1).fixed(16).words(&[5, 25])),
        (65, x().u64(0).u64(99).then(stateid()).u64(1).u64(2).u64(3).u64(4).fixed(16).then(layout_update())),
        (66, stateid()),
        (67, stateid()),
        (68, stateid().u64(4096).u32(8192)),
        (69, stateid().u64(4096).u32(1)),
        (70, stateid().u32(2).u64(0).u64(512).u64(8).u64(0).u32(0).u64(8).opaque("pattern")),
        (71, copy()),
        (72, x().opaque("user.x")),
        (73, x().u32(0).opaque("user.x").opaque("value")),
        (74, x().u64(0).u32(4096)),
        (75, x().opaque("user.x")),
    ]
}

fn change() -> Xdr {
    x().u32(1).u64(1).u64(2)
}

fn ace() -> Xdr {
    x().words(&[0, 0, 0x1F]).opaque("OWNER@")
}

fn opened(delegation: Xdr) -> Vector {
    (18, x().u32(0).then(stateid()).then(change()).u32(4).then(bitmap()).then(delegation))
}

fn secinfo() -> Xdr {
    x().words(&[0, 2, 1, 6]).opaque([0x2A; 9]).words(&[0, 1])
}

fn write_response() -> Xdr {
    x().u32(1).then(stateid()).u64(8192).u32(2).fixed(8)
}

/// RFC 7531: results, beginning with the status.
pub(super) fn results_40() -> Vec<Vector> {
    let ok = || x().u32(0);
    let entry = |name: &str| x().u32(1).u64(3).opaque(name).then(fattr());
    let denied = || x().u32(10_010).u64(10).u64(20).u32(2).then(owner());
    let mut vectors = vec![
        (3, ok().words(&[0x1F, 0x1F])),
        (4, ok().then(stateid())),
        (5, ok().fixed(8)),
        (6, ok().then(change()).then(bitmap())),
        (9, ok().then(fattr())),
        (10, ok().opaque([7; 28])),
        (11, ok().then(change())),
        (12, ok().then(stateid())),
        (12, denied()),
        (13, ok()),
        (13, denied()),
        (14, ok().then(stateid())),
        opened(x().u32(0)),
        opened(x().u32(1).then(stateid()).u32(0).then(ace())),
        opened(x().u32(2).then(stateid()).words(&[0, 1]).u64(1 << 20).then(ace())),
        opened(x().u32(2).then(stateid()).words(&[0, 2, 8, 512]).then(ace())),
        (20, ok().then(stateid())),
        (21, ok().then(stateid())),
        (25, ok().u32(1).opaque([9; 13])),
        (26, ok().fixed(8).then(entry("a")).then(entry("file b")).words(&[0, 1])),
        (26, ok().fixed(8).words(&[0, 1])),
        (27, ok().opaque("target")),
        (28, ok().then(change())),
        (29, ok().then(change()).then(change())),
        (33, secinfo()),
        (34, ok().then(bitmap())),
        (34, x().u32(13).u32(0)),
        (35, ok().u64(1).fixed(8)),
        (35, x().u32(10_017).opaque("tcp").opaque("192.0.2.1.3.3")),
        (38, ok().words(&[13, 2]).fixed(8)),
    ];
    let only_status = [7, 8, 15, 16, 17, 19, 22, 23, 24, 30, 31, 32, 36, 37, 39];
    vectors.extend(only_status.map(|code| (code, ok())));
    vectors.extend((3..=39).filter(|code| *code != 34).map(|code| (code, x().u32(10_006))));
    vectors
}

/// RFC 5662: what minor version 1 adds.
pub(super) fn results_41() -> Vec<Vector> {
    let ok = || x().u32(0);
    let exchange = |how: Xdr| {
        let identity = x().u64(0).opaque("major").opaque("scope");
        (42, ok().u64(1).words(&[1, 0x101]).then(how).then(identity).then(implementation()))
    };
    let ssv = x().u32(2).then(bitmap()).then(bitmap()).words(&[0, 0, 32, 4]).u32(1).opaque("handle");
    let layouts = x().u32(1).u64(0).u64(99).words(&[1, 1]).opaque([1; 7]);
    let mut vectors = vec![
        opened(x().words(&[3, 0])),
        opened(x().words(&[3, 1, 1])),
        opened(x().words(&[3, 2, 0])),
        (41, ok().fixed(16).words(&[3, 0])),
        exchange(x().u32(0)),
        exchange(x().u32(1).then(bitmap()).then(bitmap())),
        exchange(ssv),
        (43, ok().fixed(16).words(&[1, 3]).then(channel()).then(channel())),
        (46, ok().u32(0).fixed(8).then(stateid()).then(bitmap()).then(bitmap()).then(bitmap())),
        (46, ok().words(&[1, 0])),
        (47, ok().u32(1).opaque([1; 30]).then(bitmap())),
        (47, x().words(&[10_005, 8192])),
        (48, ok().u64(0).fixed(8).u32(2).fixed(32).u32(1)),
        (49, ok().u32(1).u64(99)),
        (49, ok().u32(0)),
        (50, ok().u32(1).then(stateid()).then(layouts)),
        (50, x().words(&[10_058, 1])),
        (51, ok().u32(1).then(stateid())),
        (51, ok().u32(0)),
        (52, secinfo()),
        (53, ok().fixed(16).words(&[77, 3, 5, 5, 0])),
        (54, ok().opaque([2; 20])),
        (55, ok().words(&[2, 0, 10_025])),
        (56, ok().u32(0)),
    ];
    vectors.extend([40, 44, 45, 57, 58].map(|code| (code, ok())));
    vectors.extend((40..=58).map(|code| (code, x().u32(10_006))));
    vectors
}

/// RFC 7863 and RFC 8276: what minor version 2 adds.
pub(super) fn results_42() -> Vec<Vector> {
    let ok = || x().u32(0);
    let pieces = x().u32(3).u32(0).u64(0).opaque([1; 5]).u32(1).u64(5).u64(100).u32(0).u64(105).opaque([2; 8]);
    let mut vectors = vec![
        (60, ok().then(write_response()).words(&[1, 0])),
        (60, x().words(&[10_094, 1, 1])),
        (61, ok().u64(90).u32(0).then(stateid()).then(netlocs())),
        (63, ok().then(bitmap())),
        (67, ok().u64(8192).words(&[1, 0])),
        (67, ok().u64(4096).u32(0)),
        (68, ok().u32(1).then(pieces)),
        (69, ok().u32(0).u64(4096)),
        (70, ok().then(write_response())),
        (72, ok().opaque("value")),
        (73, ok().then(change())),
        (74, ok().u64(2).u32(2).opaque("user.x").opaque("user.longer").u32(1)),
        (75, ok().then(change())),
    ];
    vectors.extend([59, 62, 64, 65, 66, 71].map(|code| (code, ok())));
    vectors.extend((59..=75).map(|code| (code, x().u32(10_006))));
    vectors
}

/// RFC 7531 and RFC 5662: callbacks; RFC 7863: CB_OFFLOAD.
pub(super) fn callback_arguments() -> Vec<Vector> {
    let handle = || x().opaque([7; 28]);
    let file = x().u32(1).then(handle()).u64(0).u64(99).then(stateid());
    let notify = || x().u32(1).then(bitmap()).opaque([3; 6]);
    vec![
        (3, handle().then(bitmap())),
        (4, stateid().u32(0).then(handle())),
        (5, x().words(&[1, 3, 0]).then(file)),
        (5, x().words(&[1, 3, 0, 2]).u64(1).u64(2)),
        (5, x().words(&[1, 3, 0, 3])),
        (6, stateid().then(handle()).then(notify())),
        (7, handle().u32(1).then(stateid()).u32(0).then(ace())),
        (8, x().u32(5).then(bitmap())),
        (9, x().u32(5).then(bitmap())),
        (10, x().u32(5)),
        (11, x().fixed(16).words(&[77, 3, 5, 1]).u32(1).fixed(16).words(&[2, 1, 2, 3, 4])),
        (12, x().words(&[1, 0])),
        (13, handle().then(owner())),
        (14, notify()),
        (15, handle().then(stateid()).u32(0).then(write_response())),
        (15, handle().then(stateid()).u32(28).u64(4096)),
    ]
}

/// Their results, beginning with the status.
pub(super) fn callback_results() -> Vec<Vector> {
    let mut vectors = vec![(3, x().u32(0).then(fattr())), (11, x().u32(0).fixed(16).words(&[77, 3, 5, 5]))];
    vectors.extend((4..=15).filter(|code| *code != 11).map(|code| (code, x().u32(0))));
    vectors.extend((3..=15).map(|code| (code, x().u32(10_006))));
    vectors
}
