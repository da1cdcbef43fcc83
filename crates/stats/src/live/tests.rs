//! The recent seconds against a report of the same.

use std::net::IpAddr;

use plimsoll_model::{Operation, Outcome, Procedure, Protocol, Symbol, Transaction};
use plimsoll_testkit::{Random, transaction};

use super::*;
use crate::{Dimension, Options, Statistics};

const SECOND: i64 = SECOND_NS;

fn read() -> Procedure {
    Procedure::of(Protocol::Smb2, 8)
}

fn client(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

#[test]
fn a_second_has_the_numbers_of_a_report_of_it() {
    let mut random = Random::new(19);
    let (mut recent, mut statistics) = (Recent::new(), Statistics::new(Options::default()));
    recent.advance(0);
    for ended in (0..5 * SECOND).step_by(1_000_003) {
        let mut t = transaction(read(), ended, 1_000 + (random.uniform() * 50e6) as i64);
        t.outcome = if ended % 7 == 0 { Outcome::Refused } else { Outcome::Succeeded };
        if ended / SECOND == 3 {
            statistics.record(&t);
        }
        recent.part.record(&t);
        recent.advance(ended);
    }
    recent.advance(10 * SECOND);
    let second = recent.second(3 * SECOND).unwrap().total();
    let (_, row) = statistics.operations().next().unwrap();
    assert_eq!((second.count, second.errors), (row.count(), row.errors()));
    for percentile in [50.0, 90.0, 99.0, 100.0] {
        let reported = row.response().percentile_ns(percentile);
        assert_eq!(second.percentile_ns(percentile), reported, "p{percentile}");
    }
    let heat = recent.second(3 * SECOND).unwrap().heat();
    assert_eq!(heat.iter().sum::<u64>(), second.count);
    assert_eq!(recent.seconds().len(), 11, "idle seconds are there too");
    assert_eq!(recent.second(9 * SECOND).unwrap().total().count, 0);
}

#[test]
fn the_queue_depth_is_the_time_that_requests_were_outstanding_in_each_second() {
    let mut recent = Recent::new();
    recent.advance(0);
    // From 0.5 s to 3.25 s, and one of 100 ms.
    recent.part.record(&transaction(read(), 3_250_000_000, 2_750_000_000));
    recent.part.record(&transaction(read(), 1_200_000_000, 100_000_000));
    recent.advance(4 * SECOND);
    let depths: Vec<f64> = recent.seconds().map(Second::queue_depth).collect();
    assert_eq!(depths, [0.5, 1.1, 1.0, 0.25, 0.0]);
}

/// A request that is sent at this time and waits.
fn sent(ns: i64) -> Transaction {
    let mut t = transaction(read(), ns, 1);
    t.timeline.request_first = Some(ns);
    t
}

#[test]
fn requests_that_wait_are_in_the_queue_depth_until_they_are_answered() {
    let mut recent = Recent::new();
    recent.advance(0);
    recent.part.record(&transaction(read(), 1_200_000_000, 100_000_000));
    recent.advance(4_500_000_000);
    let mut waiting = WaitingNow::default();
    [500_000_000, 2_250_000_000, 4_100_000_000].map(sent).iter().for_each(|t| waiting.add(t));
    recent.wait(&waiting, 4 * SECOND);
    let depths = |recent: &Recent| recent.seconds().take(4).map(Second::queue_depth).collect::<Vec<_>>();
    assert_eq!(depths(&recent), [0.5, 1.1, 1.75, 2.0]);
    let waited = |recent: &Recent| recent.seconds().map(Second::waited).collect::<Vec<_>>();
    let wait = |requests| Some(Wait { requests, since_ns: 500_000_000 });
    assert_eq!(waited(&recent), [wait(1), wait(1), wait(2), wait(2), None], "the last second is not over");
    // Both get their answers.
    recent.part.record(&transaction(read(), 4_750_000_000, 4_250_000_000));
    recent.part.record(&transaction(read(), 4_750_000_000, 2_500_000_000));
    recent.advance(6 * SECOND);
    recent.wait(&WaitingNow::default(), 5 * SECOND);
    assert_eq!(depths(&recent), [0.5, 1.1, 1.75, 2.0]);
    assert_eq!(waited(&recent)[..5], [wait(1), wait(1), wait(2), wait(2), None], "what a view has shown stays");
}

#[test]
fn nobody_is_known_to_wait_while_the_interface_is_down() {
    let mut recent = Recent::new();
    recent.advance(0);
    recent.advance(4_500_000_000);
    recent.miss((2_300_000_000, 3_100_000_000));
    let mut waiting = WaitingNow::default();
    waiting.add(&sent(1_500_000_000));
    recent.wait(&waiting, 4 * SECOND);
    let depths: Vec<f64> = recent.seconds().skip(1).take(3).map(Second::queue_depth).collect();
    let waited: Vec<bool> = recent.seconds().skip(1).map(|second| second.waited().is_some()).collect();
    assert_eq!((depths, waited), (vec![0.5, 0.0, 0.0], vec![true, false, false, false]), "unknown is no wait");
    let known: Vec<bool> = recent.seconds().map(Second::knows_waiting).collect();
    assert_eq!(known, [true, true, false, false, false], "the interface was down in two, and the last is not over");
}

#[test]
fn a_clock_that_is_set_back_does_not_make_later_seconds_too_old() {
    let mut recent = Recent::new();
    let day = 86_400 * SECOND;
    recent.part.record(&transaction(read(), day, 1_000_000));
    // A packet with a wrong time.
    recent.part.record(&transaction(read(), day + 3_600 * SECOND, 1_000_000));
    recent.advance(day + 3_600 * SECOND);
    recent.back_to(day + SECOND);
    recent.part.record(&transaction(read(), day + SECOND, 1_000_000));
    recent.advance(day + 3 * SECOND);
    assert_eq!(recent.second(day + SECOND).map(|second| second.total().count), Some(1));
    // By less than is kept: the seconds before stay.
    recent.part.record(&transaction(read(), day + 9 * SECOND, 1_000_000));
    recent.advance(day + 10 * SECOND);
    recent.back_to(day + 3 * SECOND);
    recent.advance(day + 4 * SECOND);
    let counts: Vec<u64> = recent.seconds().map(|second| second.total().count).collect();
    assert_eq!((counts.iter().sum::<u64>(), recent.second(day + 9 * SECOND).is_some()), (1, false), "{counts:?}");
}

#[test]
fn a_part_of_a_part_is_what_fits_all_of_it_and_others_are_said() {
    let mut recent = Recent::new();
    for (number, took) in [(1, 5_000_000), (2, 3_000_000), (1, 1_000_000)] {
        let mut t = transaction(read(), 1_000, took);
        t.client.ip = client(number);
        recent.part.record(&t);
    }
    recent.advance(SECOND);
    let all = recent.table((0, SECOND), &[], Dimension::Client);
    let keys: Vec<_> = all.rows.iter().map(|row| (row.key, row.sum.count, row.sum.waited_ns)).collect();
    assert_eq!(keys, [(Some(Key::Client(client(1))), 2, 6_000_000), (Some(Key::Client(client(2))), 1, 3_000_000)]);
    let part = recent.table((0, SECOND), &[Key::Client(client(1)), Key::Operation(Operation::Read)], Dimension::Path);
    assert_eq!((part.total.count, part.unknown), (2, 0));
    assert_eq!(part.rows[0].key, Some(Key::Path(Symbol::NONE, Symbol::NONE)));
    assert_eq!(recent.table((0, SECOND), &[Key::Operation(Operation::Write)], Dimension::Path).total.count, 0);
    assert_eq!(recent.table((SECOND, 2 * SECOND), &[], Dimension::Client).total.count, 0);
}

#[test]
fn cells_are_bounded_and_what_is_folded_is_counted() {
    let mut recent = Recent::new();
    let mut names = Names::default();
    for number in 0..20_000u32 {
        let mut t = transaction(read(), i64::from(number), 1_000 + i64::from(number));
        t.client.ip = IpAddr::from(number.to_be_bytes());
        t.path = names.intern(&format!("file-{number}"));
        recent.part.record(&t);
    }
    recent.advance(10 * SECOND);
    assert!(recent.second(0).unwrap().cells().len() <= 256);
    let table = recent.table((0, SECOND), &[], Dimension::Client);
    assert_eq!(table.total.count, 20_000);
    let (others, named) = table.rows.split_last().unwrap();
    assert!(others.key.is_none() && others.sum.count > 10_000 && named.len() == 128);
    assert!(named.iter().all(|row| row.at_least), "some of the others may be theirs");
    // How many of these belong to a certain client is unknown.
    let within = [Key::Client(client(1))];
    let part = recent.table((0, SECOND), &within, Dimension::Path);
    assert!(part.unknown > 10_000 && recent.second(0).unwrap().part(&within).at_least, "{part:?}");
}

/// A second with this number of clients that each do the six most frequent operations on one share, on two files.
fn many_combinations(clients: u8, recent: &mut Recent, names: &mut Names) -> Statistics {
    let mut statistics = Statistics::new(Options { by: Some(Dimension::Client.into()), ..Options::default() });
    for number in 0..u32::from(clients) * 12 {
        let command = [5, 6, 8, 9, 14, 16][(number % 6) as usize];
        let mut t = transaction(Procedure::of(Protocol::Smb2, command), 1_000, 1_000 + i64::from(number) * 1_000);
        t.client.ip = client((number / 12) as u8);
        t.share = names.intern("share");
        t.path = names.intern(&format!("file-{}", number % 2));
        recent.part.record(&t);
        statistics.record(&t);
    }
    recent.advance(10 * SECOND);
    statistics
}

#[test]
fn rows_of_clients_shares_and_operations_are_exact_however_many_combinations_there_are() {
    let (mut recent, mut names) = (Recent::new(), Names::default());
    let statistics = many_combinations(60, &mut recent, &mut names);
    assert!(recent.second(0).unwrap().cells().len() < 200, "most of 360 combinations are folded");
    for (by, rows, each) in [(Dimension::Client, 60, 12), (Dimension::Share, 1, 720), (Dimension::Operation, 6, 120)] {
        let table = recent.table((0, SECOND), &[], by);
        let found: Vec<_> = table.rows.iter().map(|row| (row.sum.count, row.at_least, row.key.is_some())).collect();
        assert_eq!(found, vec![(each, false, true); rows], "{by:?}");
        assert_eq!((table.total.count, table.unknown), (720, 0));
    }
    let table = recent.table((0, SECOND), &[], Dimension::Client);
    for (key, stats) in statistics.breakdown().unwrap().rows() {
        let key = key.parts()[0].unwrap();
        let row = table.rows.iter().find(|row| row.key == Some(key)).unwrap();
        assert_eq!(row.sum.mean_ns().map(f64::round), stats.response.mean_ns().map(f64::round), "{key:?}");
    }
}

#[test]
fn a_part_of_many_combinations_says_what_may_be_missing() {
    let (mut recent, mut names) = (Recent::new(), Names::default());
    many_combinations(60, &mut recent, &mut names);
    // All combinations of a client are folded, some are, and none is.
    for (number, rows, missing) in [(0, 0, 12), (38, 2, 8), (59, 6, 0)] {
        let within = [Key::Client(client(number))];
        let part = recent.second(0).unwrap().part(&within);
        assert_eq!((part.sum.count, part.at_least), (12, false), "the sum of a client is exact");
        let table = recent.table((0, SECOND), &within, Dimension::Operation);
        assert_eq!((table.rows.len(), table.unknown, table.total.count), (rows, missing, 12 - missing));
        assert!(table.rows.iter().all(|row| row.at_least == (missing > 0)), "{table:?}");
        let both = [within[0], Key::Operation(Operation::Read)];
        assert!(recent.second(0).unwrap().part(&both).at_least, "nothing has the exact sum of both");
    }
}

#[test]
fn a_file_may_have_more_requests_if_files_of_its_share_are_folded() {
    let (mut recent, mut names) = (Recent::new(), Names::default());
    for number in 0..300_i64 {
        let mut t = transaction(read(), 1_000, if number < 2 { 1_000_000_000 } else { number });
        t.share = names.intern(if number == 0 { "a" } else { "b" });
        t.path = names.intern(&format!("file-{number}"));
        recent.part.record(&t);
    }
    recent.advance(10 * SECOND);
    let table = recent.table((0, SECOND), &[], Dimension::Path);
    let [first, second] = [0, 1].map(|at| (table.rows[at].sum.count, table.rows[at].at_least));
    assert_eq!((first, second, table.total.count), ((1, false), (1, true), 300));
    let Some(key @ Key::Path(..)) = table.rows[0].key else { panic!("{:?}", table.rows[0]) };
    assert_eq!(recent.table((0, SECOND), &[key], Dimension::Client).unknown, 0, "files of another share are not it");
}

#[test]
fn time_passes_and_bounds_what_is_kept() {
    let mut recent = Recent::new();
    for second in 0..2 * KEPT_SECONDS as i64 {
        recent.part.record(&transaction(read(), second * SECOND, 1_000));
        recent.advance(second * SECOND);
    }
    assert_eq!(recent.seconds().len(), KEPT_SECONDS);
    // Too old, a day later, and as early as can be.
    recent.part.record(&transaction(read(), 0, 1_000));
    recent.advance(86_400 * SECOND);
    assert_eq!(recent.seconds().len(), 1);
    recent.part.record(&transaction(read(), i64::MIN + 5_000, 1_000));
    recent.advance(i64::MAX);
    recent.lose((i64::MAX, i64::MAX), 7);
    assert_eq!(recent.seconds().map(Second::lost_packets).sum::<u64>(), 7);
}

#[test]
fn every_second_in_which_the_interface_was_down_is_marked() {
    let mut recent = Recent::new();
    recent.advance(0);
    recent.miss((1_900_000_000, 3_100_000_000));
    recent.miss((3_100_000_000, 3_100_000_000));
    recent.advance(5 * SECOND);
    assert_eq!(
        recent.seconds().map(Second::interface_down).collect::<Vec<_>>(),
        [false, true, true, true, false, false]
    );
}

#[test]
fn packets_lost_over_several_seconds_belong_to_all_of_them() {
    let lost = |from_ms: i64, to_ms: i64, packets| -> Vec<u64> {
        let mut recent = Recent::new();
        recent.advance(0);
        recent.lose((from_ms * SECOND / 1_000, to_ms * SECOND / 1_000), packets);
        recent.seconds().map(Second::lost_packets).collect()
    };
    assert_eq!(lost(500, 900, 7), [7]);
    assert_eq!(lost(500, 400, 7), [7], "clocks of two CPUs");
    assert_eq!(lost(500, 2_500, 1_003), [251, 501, 251]);
    assert_eq!(lost(1_999, 3_001, 10), [0, 1, 7, 2]);
    assert_eq!(lost(0, 4_999, 2), [1, 1, 0, 0, 0]);
    let long = lost(0, 3_600_000, 1_000_000);
    assert_eq!((long.len(), long.iter().sum::<u64>()), (KEPT_SECONDS, 1_000_000));
}

#[test]
fn percentiles_of_a_part_are_near() {
    let mut sum = LiveSum::default();
    for ns in 1..=1_000u64 {
        sum.record(&transaction(read(), 0, 0), Some(ns * 1_000_000));
    }
    for (percentile, exact) in [(50.0, 500e6), (99.0, 990e6)] {
        let found = sum.percentile_ns(percentile).unwrap() as f64;
        assert!((found / exact - 1.0).abs() < 0.13, "p{percentile}: {found}");
    }
    assert_eq!(sum.mean_ns(), Some(500.5e6));
}

/// Threads share the work, and their seconds are taken out at other times: merged, they equal those of a single thread.
#[test]
fn parts_of_a_second_are_the_whole() {
    let mut random = Random::new(23);
    let mut parts = [0, 1, 2].map(|_| LivePart::new(Headline::FromIntended));
    let (mut whole, mut merged) = (LivePart::new(Headline::FromIntended), Recent::new());
    merged.advance(0);
    for ended in (SECOND..20 * SECOND).step_by(7_000_003) {
        let mut t = transaction(read(), ended, 1_000 + (random.uniform() * 3e9) as i64);
        t.timeline.intended = t.timeline.request_first.map(|first| first - 5_000_000);
        t.client.ip = client((random.bits() % 5) as u8);
        whole.record(&t);
        parts[(random.bits() % 3) as usize].record(&t);
        if random.bits().is_multiple_of(40) {
            let part = &mut parts[(random.bits() % 3) as usize];
            part.take_before(ended).into_iter().for_each(|second| merged.merge(second));
        }
    }
    parts.iter_mut().flat_map(|part| part.take_before(i64::MAX)).for_each(|second| merged.merge(second));
    let whole = whole.take_before(i64::MAX);
    assert!(whole.iter().map(|second| second.total().count).sum::<u64>() > 2_000);
    for second in whole.iter().filter(|second| second.start_ns() >= 0) {
        let found = merged.second(second.start_ns()).unwrap();
        assert_eq!((found.total(), found.queue_depth()), (second.total(), second.queue_depth()));
        assert_eq!((found.heat(), found.service_heat()), (second.heat(), second.service_heat()));
        assert_eq!(found.cells().folded(), second.cells().folded());
    }
}

/// Also if a second has too many combinations, and only some of its parts have.
#[test]
fn parts_with_many_combinations_have_the_exact_sums_of_the_whole() {
    let mut names = Names::default();
    let (mut parts, mut whole) = ([0, 1].map(|_| LivePart::new(Headline::Response)), Cells::default());
    for number in 0..20_000_u32 {
        let mut t = transaction(read(), i64::from(number), 1_000 + i64::from(number));
        t.client.ip = client((number % 50) as u8);
        t.share = names.intern(&format!("share-{}", number / 50 % 100));
        t.procedure = Procedure::of(Protocol::Smb2, [5, 8][(number / 5_000 % 2) as usize]);
        parts[usize::from(number > 15_000)].record(&t);
        whole.record(&t, t.timeline.response_time().and_then(|ns| u64::try_from(ns).ok()));
    }
    let mut merged = Cells::default();
    parts.iter_mut().flat_map(|part| part.take_before(i64::MAX)).for_each(|second| merged.merge(second.cells));
    let (merged, whole) = (merged.folded().1.unwrap(), whole.folded().1.unwrap());
    assert_eq!(merged, whole);
    for (by, keys) in [(Dimension::Client, 50), (Dimension::Share, 100), (Dimension::Operation, 2)] {
        let sums = whole.by(by).unwrap();
        let counts: Vec<u64> = sums.iter().map(|(_, sum)| sum.count).collect();
        assert_eq!((counts, sums.others().count), (vec![20_000 / keys; keys as usize], 0), "{by:?}");
    }
}
