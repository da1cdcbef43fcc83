use std::net::Ipv4Addr;

use plimsoll_testkit::{Random, transaction};
use proptest::prelude::*;

use super::*;
use crate::{Options, Statistics};

const ALL: FoldLimits = FoldLimits { keys: usize::MAX, bins: usize::MAX, joined: 0 };

/// `count` transactions of several clients, operations, statuses and times.
fn traffic(seed: u64, count: usize) -> Vec<Transaction> {
    let mut random = Random::new(seed);
    let procedures: Vec<Procedure> = [5, 6, 8, 9].map(|code| Procedure::of(Protocol::Smb2, code)).to_vec();
    let mut one = |number: usize| {
        let mut draw = |below: u64| random.bits() % below.max(1);
        let procedure = procedures[draw(4) as usize];
        let octave = draw(40);
        let took_ns = 1_000 + draw(1 << octave) as i64;
        let ended_ns = 1_700_000_000_000_000_000 + draw(1 << 40) as i64;
        let mut t = transaction(procedure, ended_ns, took_ns);
        t.client.ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, draw(9) as u8));
        t.payload_bytes = Some(draw(65_536));
        if draw(5) == 0 {
            (t.status, t.outcome) = (Some(0xC000_0043), Outcome::Refused);
        }
        if draw(50) == 0 {
            (t.status, t.outcome) = (None, Outcome::Unanswered);
            (t.timeline.response_first, t.timeline.response_last) = (None, None);
        }
        if draw(3) == 0 {
            t.timeline.request_last = t.timeline.request_first.map(|ns| ns + 500);
        }
        t.long_lived = number % 97 == 96;
        t
    };
    (0..count).map(&mut one).collect()
}

fn of<'t>(all: impl IntoIterator<Item = &'t Transaction>, max_weight: usize) -> Cube {
    let mut cube = Cube { max_weight, ..Cube::new(Headline::Response) };
    all.into_iter().for_each(|t| cube.record(t));
    cube
}

/// Labels that do not depend on the order in which keys came.
fn labels(cube: &Cube) -> [Vec<Option<String>>; CUBE_DIMENSIONS] {
    cube.keys().map(|keys| keys.into_iter().map(|key| Some(format!("{key:?}"))).collect())
}

fn folded(cube: &Cube, limits: FoldLimits) -> FoldedCube {
    cube.folded(limits, &labels(cube))
}

fn whole(cube: &FoldedCube) -> CubeCell {
    let mut sum = CubeCell::default();
    cube.cells.iter().for_each(|one| {
        sum.merge(&one.cell);
    });
    sum
}

#[test]
fn sums_are_those_of_the_statistics() {
    let all = traffic(1, 5_000);
    let mut statistics = Statistics::new(Options::default());
    all.iter().for_each(|t| statistics.record(t));
    let mut exact = crate::Accumulator::default();
    statistics.operations().for_each(|(_, row)| exact.merge(row));
    for limits in [ALL, FoldLimits { keys: 2, bins: 10, joined: 1 }, FoldLimits { keys: 0, bins: 2, joined: 2 }] {
        let folded = folded(&of(&all, MAX_WEIGHT), limits);
        let sum = whole(&folded);
        assert_eq!((sum.count, sum.errors), (exact.count(), exact.errors()), "{limits:?}");
        assert_eq!((sum.payload, sum.waiting), (exact.payload(), exact.waiting()), "{limits:?}");
        for (others, times) in [(&sum.response, exact.response()), (&sum.service, exact.service())] {
            let mut histogram = sum.both.clone();
            histogram.merge(others);
            assert_eq!(Some(histogram.max_ns()), times.moments().max_ns());
            assert_eq!(histogram.bins().map(|(_, count)| count).sum::<u64>(), times.moments().count());
            for p in [50.0, 95.0, 99.0] {
                let found = histogram.percentile_ns(p, limits.joined).unwrap() as f64;
                let stated = folded.error() + 1e-3; // the statistics' own
                let exact = times.percentile_ns(p).unwrap() as f64;
                assert!((found / exact - 1.0).abs() <= stated, "p{p}: {found} for {exact}");
            }
        }
    }
}

#[test]
fn the_keys_that_clients_waited_longest_for_are_shown() {
    let all = traffic(2, 3_000);
    let cube = of(&all, MAX_WEIGHT);
    let (every, few) = (folded(&cube, ALL), folded(&cube, FoldLimits { keys: 3, bins: 120, joined: 0 }));
    assert_eq!((few.keys[0].as_slice(), few.others[0]), (&every.keys[0][..3], every.keys[0].len() - 3));
    let waited = |place: u16| -> u128 {
        every.cells.iter().filter(|one| one.keys[0] == place).map(|one| one.cell.waiting.ns()).sum()
    };
    let in_order: Vec<u128> = (1..=every.keys[0].len() as u16).map(waited).collect();
    assert!(in_order.is_sorted_by(|a, b| a >= b), "{in_order:?}");
    let others: u128 = few.cells.iter().filter(|one| one.keys[0] == 0).map(|one| one.cell.waiting.ns()).sum();
    assert_eq!(others, in_order[3..].iter().sum::<u128>());
}

#[test]
fn times_are_those_of_the_requests() {
    let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 5_000_000_000, 4_000_000_000);
    let mut cube = of([&t], MAX_WEIGHT);
    (t.timeline.request_first, t.timeline.request_last) = (None, None);
    cube.record(&t);
    let found = folded(&cube, ALL);
    assert_eq!((found.start_ns, found.bin_ns, found.bins), (1_000_000_000, BASE_NS, 1));
    assert_eq!(found.cells.iter().map(|one| one.bin).collect::<Vec<_>>(), [None, Some(0)]);
    let untimed = &found.cells[0].cell;
    assert_eq!(untimed.both.entries() + untimed.response.entries(), 0, "no response time, no percentile");
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let all = traffic(3, 20_000);
    let cube = of(&all, 4_000);
    // A hundred cells, and the one of "others"; each has three histograms with two bins per octave of 40.
    assert!(cube.cells.len() <= 101 && cube.weight <= 101 * (CELL_WEIGHT + 3 * 80), "{}", cube.weight);
    assert_eq!((cube.joined, cube.span.map(|(first, last)| last - first)), (MAX_JOINED, Some(0)));
    let sum = whole(&folded(&cube, ALL));
    assert_eq!(sum.count, all.iter().filter(|t| !t.long_lived).count() as u64);
    let weight: usize = cube.cells.values().map(|cell| CELL_WEIGHT + cell.entries()).sum();
    assert_eq!(cube.weight, weight, "what is counted is what there is");
}

#[test]
fn more_keys_than_there_is_room_for_are_others() {
    let mut cube = Cube { clients: Keys::new(3), ..Cube::new(Headline::Response) };
    traffic(4, 1_000).iter().for_each(|t| cube.record(t));
    let found = folded(&cube, ALL);
    assert_eq!((found.keys[0].len(), found.others[0]), (3, 0));
    assert!(found.cells.iter().any(|one| one.keys[0] == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn parts_in_any_order_make_the_whole(seed in 0u64..1000, parts in 1usize..6, max_weight in prop::sample::select(vec![20_000usize, MAX_WEIGHT])) {
        // 9 clients × 4 operations × 3 statuses of a bin find room in the smaller one.
        let all = traffic(seed, 600);
        let whole = folded(&of(&all, max_weight), ALL);
        let mut merged = Cube { max_weight, ..Cube::new(Headline::Response) };
        for part in (0..parts).rev() {
            merged.merge(&of(all.iter().skip(part).step_by(parts), max_weight));
        }
        prop_assert_eq!(&folded(&merged, ALL), &whole);
        prop_assert_eq!(&folded(&of(all.iter().rev(), max_weight), ALL), &whole);
        prop_assert!(whole.bins as i64 <= MAX_CUBE_BINS);
    }
}
