//! Transactions to write.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU64;

use plimsoll_model::{
    Asked, Disposition, Endpoint, FileAccess, FileIdentity, Frames, Names, Outcome, Procedure, Protocol, Symbol,
    Timeline, Transaction, Vantage,
};
use plimsoll_testkit::transaction;

/// Everything is known.
pub(crate) fn full(names: &mut Names, path: &str) -> Transaction {
    Transaction {
        procedure: Procedure::of(Protocol::Smb2, 5),
        client: Endpoint { ip: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), port: 49152 },
        server: Endpoint { ip: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), port: 445 },
        connection: u32::MAX,
        session: Some(0xfedc_ba98_7654_3210),
        share: names.intern("\\\\server\\share"),
        path: names.intern(path),
        user: names.intern("DOMAIN\\user"),
        id: Some(u64::MAX - 1),
        compound_position: Some(2),
        status: Some(0xC000_0034),
        outcome: Outcome::Refused,
        payload_bytes: Some(65536),
        request_bytes: Some(65700),
        response_bytes: Some(84),
        request_packets: 46,
        response_packets: Some(1),
        timeline: Timeline {
            intended: Some(1_700_000_000_000_000_000),
            request_first: Some(1_700_000_000_000_000_001),
            request_last: Some(1_700_000_000_000_000_002),
            interim: Some(1_700_000_000_000_000_003),
            response_first: Some(1_700_000_000_000_000_004),
            response_last: Some(1_700_000_000_000_000_005),
        },
        frames: Frames {
            request_first: NonZeroU64::new(1),
            request_last: NonZeroU64::new(46),
            response_first: NonZeroU64::new(48),
            response_last: NonZeroU64::new(1 << 40),
        },
        vantage: Vantage::Wire,
        level: Some(4),
        long_lived: true,
        counted: true,
        resent_wait_ns: Some(200_000_000),
        asked: Asked {
            file: FileIdentity::of_number(u64::MAX),
            offset: Some(1 << 40),
            bytes: Some(4096),
            second_path: names.intern("other\\name"),
            disposition: Some(Disposition::OverwriteOrCreate),
            access: Some(FileAccess::ReadWrite),
            durable: None,
            unlock: None,
        },
        client_index: Some(7),
    }
}

/// Nothing is known that can be unknown.
pub(crate) fn bare() -> Transaction {
    Transaction {
        client: Endpoint::NOWHERE,
        server: Endpoint::NOWHERE,
        status: None,
        outcome: Outcome::Unanswered,
        payload_bytes: None,
        request_bytes: None,
        response_bytes: None,
        timeline: Timeline::default(),
        ..transaction(Procedure::of(Protocol::Nfs3, 6), 0, 0)
    }
}

/// `count` transactions in which every column takes many values, and none.
pub(crate) fn varied(names: &mut Names, count: u32) -> Vec<Transaction> {
    let paths: Vec<Symbol> = (0..700).map(|i| names.intern(&format!("dir{}/file{i}", i % 13))).collect();
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = |limit: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((random >> 33) % u64::from(limit)) as u32
    };
    let mut one = |i: u32| {
        let mut t = if below(9) == 0 { bare() } else { full(names, "one") };
        // Several procedures share this text.
        t.procedure =
            Procedure::of([Protocol::Smb2, Protocol::Nfs3, Protocol::Nfs4][below(3) as usize], below(8) as u16);
        let ip = Ipv4Addr::from_bits(below(600));
        let mapped = if below(2) == 0 { IpAddr::V4(ip) } else { IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits().into())) };
        t.client = Endpoint { ip: mapped, port: below(3) as u16 };
        t.connection = below(u32::MAX);
        t.session = (below(4) > 0).then(|| u64::from(below(2_000)) << 20);
        t.path = if below(5) == 0 { Symbol::NONE } else { paths[below(700) as usize] };
        t.status = (below(6) > 0).then(|| below(u32::MAX));
        t.outcome = [Outcome::Succeeded, Outcome::Failed, Outcome::Cancelled][below(3) as usize];
        t.payload_bytes = (below(3) > 0).then(|| u64::MAX - u64::from(below(300)));
        t.request_packets = below(2);
        t.timeline.request_first = (below(7) > 0).then(|| i64::from(i) * 1_000);
        t.long_lived = below(2) == 0;
        t.asked.file = FileIdentity::of_number(u64::from(below(900)) << 32);
        t.asked.offset = (below(3) > 0).then(|| u64::from(below(u32::MAX)) << 12);
        t.asked.disposition = Disposition::of_number(below(9));
        t.client_index = (below(4) > 0).then(|| below(90));
        t
    };
    (0..count).map(&mut one).collect()
}

/// Hostile file names: markup, quotes, control characters, formulas, other scripts, an empty name.
pub(crate) const NASTY: [&str; 12] = [
    "=cmd|' /C calc'!A0",
    "+1-1",
    "@SUM(A1:A9)",
    "a,b;c\td",
    "quote\"quote\"\"",
    "line\nbreak\r\nand\rmore",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "nul\0inside",
    "<script>alert(1)</script>",
    "Zürich/東京/\u{202e}fdp.exe/\u{1F4C1}",
    " leading and trailing ",
    "",
];
