//! The output equals the input.

use plimsoll_model::{Names, Procedure, Protocol, Vantage};
use plimsoll_testkit::Random;

use super::*;

fn lines_of(all: &[Transaction]) -> Vec<String> {
    all.iter().map(|t| format!("{t:?}")).collect()
}

/// Checks that they are unchanged; returns the number of patterns sent with them.
fn checked(all: &[Transaction], packer: &mut Packer, unpacker: &mut Unpacker) -> usize {
    let counted: Vec<usize> = all.iter().map(|t| packer.push(t)).collect();
    assert_eq!(counted, (1..=all.len()).collect::<Vec<_>>());
    let (piece, mut made) = (packer.take(), Vec::new());
    let patterns = piece.patterns.len();
    let taken = unpacker.for_each(piece, |some| {
        made.extend(some.iter().map(|t| format!("{t:?}")));
        Ok(())
    });
    assert!(taken.is_ok());
    assert_eq!(made, lines_of(all));
    patterns
}

fn one(begun: i64, took: i64) -> Transaction {
    plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 1), begun + took, took)
}

/// A value of any size, often the least or the greatest, often none.
fn any(random: &mut Random) -> Option<u64> {
    let value = random.bits() >> (random.bits() % 64);
    match random.bits() % 8 {
        0 | 1 => None,
        2 => Some(0),
        3 => Some(u64::MAX),
        4 => Some(u64::from(u32::MAX)),
        _ => Some(value),
    }
}

/// Random transactions, including absurd times and sizes, which servers and clocks can produce.
fn anything(random: &mut Random, names: &mut Names) -> Transaction {
    let mut t = one(0, 0);
    t.procedure = Procedure::of(Protocol::Smb2, (random.bits() % 19) as u16);
    t.connection = (random.bits() % 200) as u32;
    t.client.port = t.connection as u16;
    t.server.port = (random.bits() % 2) as u16;
    (t.session, t.id) = (any(random).map(|value| value % 3), any(random));
    (t.payload_bytes, t.request_bytes, t.response_bytes) = (any(random), any(random), any(random));
    (t.status, t.compound_position) = (any(random).map(|value| value as u32), any(random).map(|value| value as u16));
    (t.path, t.share) =
        (names.intern(&format!("{}", random.bits() % 9)), names.intern(["", "a", "b"][t.connection as usize % 3]));
    (t.long_lived, t.level) = (random.bits().is_multiple_of(2), any(random).map(|value| (value % 2) as u32));
    t.outcome = [Outcome::Succeeded, Outcome::Refused, Outcome::NeverSent][(random.bits() % 3) as usize];
    t.vantage = if random.bits().is_multiple_of(16) { Vantage::Wire } else { Vantage::Client };
    (t.request_packets, t.response_packets) = ((random.bits() % 2) as u32, any(random).map(|value| (value % 2) as u32));
    t.asked = Asked {
        file: any(random).and_then(FileIdentity::of_number),
        offset: any(random),
        bytes: any(random),
        second_path: t.share,
        disposition: any(random).and_then(|value| Disposition::of_number((value % 7) as u32)),
        access: any(random).map(|value| FileAccess::ALL[(value % 5) as usize]),
        durable: None,
        unlock: None,
    };
    t.client_index = any(random).map(|value| (value % 2) as u32);
    t.frames.request_last = any(random).and_then(|value| std::num::NonZeroU64::new(value % 2));
    let begun = any(random).map(u64::cast_signed);
    let mut near = || any(random).map(|after| begun.unwrap_or(7).wrapping_add(after.cast_signed()));
    t.timeline = Timeline {
        intended: near(),
        request_first: begun,
        request_last: near(),
        interim: near().filter(|instant| instant % 4 == 0),
        response_first: near(),
        response_last: near(),
    };
    t
}

#[test]
fn whatever_they_are_they_come_out_as_they_went_in() {
    let (mut random, mut names, mut unpacker) = (Random::new(4), Names::default(), Unpacker::default());
    let mut packers = [0, 1].map(Packer::new);
    for rows in [0, 1, 63, 64, 65, 3_000, 10, 20_000, 1, 3_000] {
        for packer in &mut packers {
            let all: Vec<Transaction> = (0..rows).map(|_| anything(&mut random, &mut names)).collect();
            checked(&all, packer, &mut unpacker);
            assert!(packer.patterns.len() < MOST_PATTERNS + 20_000, "they begin anew when they are many");
        }
    }
}

fn of_connections(number: u32) -> Vec<Transaction> {
    let of = |i: u32| {
        let mut t = one(i64::from(i) * 1_000, 900);
        (t.connection, t.client.port, t.id) = (i % number, (i % number) as u16, Some(i.into()));
        t
    };
    (0..10_000).map(of).collect()
}

#[test]
fn what_connections_have_in_common_is_handed_over_once() {
    let (mut packer, mut unpacker) = (Packer::new(0), Unpacker::default());
    assert_eq!(checked(&of_connections(10), &mut packer, &mut unpacker), 10);
    assert_eq!(checked(&of_connections(10), &mut packer, &mut unpacker), 0);
    // Some twice, while places become more.
    let of_many = checked(&of_connections(1_000), &mut packer, &mut unpacker);
    assert!((990..2_100).contains(&of_many), "{of_many}");
    assert_eq!(checked(&of_connections(1_000), &mut packer, &mut unpacker), 0);
    assert_eq!(size_of::<Row>(), 96, "one and a half lines of a cache");
}

#[test]
fn what_does_not_fit_is_kept_whole() {
    let mut never = one(5, 0);
    never.timeline = Timeline { intended: Some(3), ..Timeline::default() };
    let mut huge = one(5, 1);
    huge.payload_bytes = Some(1 << 32);
    let all = [one(0, 1), one(0, 3_000_000_000), never, huge, one(i64::MIN, 0), one(0, 2)];
    assert_eq!(checked(&all, &mut Packer::new(0), &mut Unpacker::default()), 1);
}

#[test]
fn pieces_out_of_order_are_an_error_and_no_other_transaction() {
    let mut packer = Packer::new(0);
    packer.push(&one(0, 1));
    let first = packer.take();
    packer.push(&one(1, 1));
    let (second, mut unpacker) = (packer.take(), Unpacker::default());
    assert!(unpacker.for_each(second, |_| Ok(())).is_err_and(|cause| cause.to_string() == "a row without its pattern"));
    assert!(unpacker.for_each(first, |_| Ok(())).is_ok());
}
