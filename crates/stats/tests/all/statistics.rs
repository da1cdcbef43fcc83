//! What counts where, and that parts merged are the whole.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_model::{Endpoint, Group, Names, Operation, Outcome, Procedure, Protocol, Sink, Transaction, Vantage};
use plimsoll_stats::{
    Dimension, Dimensions, GroupKey, HEAT_EDGES_NS, IntervalRecorder, Intervals, Key, MAX_KEYS, MAX_STATUSES, Options,
    Statistics,
};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port }
}

/// A request of two packets at `start`, answered after `took` ns.
fn transaction(procedure: Procedure, start: i64, took: i64) -> Transaction {
    Transaction {
        client: endpoint(2, 900),
        server: endpoint(1, 445),
        id: u64::try_from(start).ok(),
        payload_bytes: None,
        request_bytes: Some(100),
        response_bytes: Some(50),
        request_packets: 1,
        response_packets: Some(1),
        vantage: Vantage::Wire,
        ..plimsoll_testkit::transaction(procedure, start + took, took)
    }
}

fn unanswered(procedure: Procedure, start: i64) -> Transaction {
    let mut t = transaction(procedure, start, 0);
    (t.outcome, t.status, t.response_bytes, t.response_packets) = (Outcome::Unanswered, None, None, None);
    (t.timeline.response_first, t.timeline.response_last) = (None, None);
    t
}

fn of(options: Options, all: &[Transaction]) -> Statistics {
    let mut statistics = Statistics::new(options);
    all.iter().for_each(|t| statistics.record(t));
    statistics
}

fn smb2(code: u16) -> Procedure {
    Procedure::of(Protocol::Smb2, code)
}

#[test]
fn a_row_adds_up() {
    let mut refused = transaction(smb2(8), 10, 3 * MS);
    (refused.status, refused.outcome) = (Some(0xC000_0011), Outcome::Refused);
    let mut paid = transaction(smb2(8), 0, MS);
    paid.payload_bytes = Some(4096);
    let mut never = unanswered(smb2(8), 0);
    never.outcome = Outcome::NeverSent;
    let mut broken = unanswered(smb2(8), 0);
    broken.outcome = Outcome::Failed;
    let statistics = of(Options::default(), &[paid, refused, unanswered(smb2(8), 20), never, broken]);
    let (procedure, row) = statistics.operations().next().unwrap();
    assert_eq!(procedure.name(), "READ");
    assert_eq!((row.count(), row.answered(), row.unanswered(), row.errors(), row.never_sent()), (4, 2, 1, 2, 1));
    assert_eq!((row.payload().exact(), row.wire().exact(), row.packets_mean()), (Some(4096), Some(500), Some(2.0)));
    let response = row.response();
    let moments = response.moments();
    assert_eq!((moments.count(), moments.mean_ns(), moments.max_ns()), (2, Some(2e6), Some(3_000_000)));
    assert_eq!(row.decades().in_use(), [(10_000_000, 2)]);
    let statuses: Vec<_> = row.statuses().iter().map(|s| (s.status, s.outcome, s.count)).collect();
    assert_eq!(statuses, [(0xC000_0011, Outcome::Refused, 1)], "plain success is not listed");
    assert_eq!(statistics.unanswered().count(), 1);
    assert_eq!(statistics.queue_depth().left_out, 2);
}

#[test]
fn statuses_are_bounded_and_the_rest_is_counted() {
    let statuses = (1..=100).map(|status| {
        let mut t = transaction(smb2(8), 0, MS);
        (t.status, t.outcome) = (Some(status), Outcome::Refused);
        t
    });
    let statistics = of(Options::default(), &statuses.collect::<Vec<_>>());
    let (_, row) = statistics.operations().next().unwrap();
    assert_eq!((row.statuses().len(), row.other_statuses()), (MAX_STATUSES, 100 - MAX_STATUSES as u64));
}

#[test]
fn a_negative_time_is_counted_and_in_no_distribution() {
    let statistics = of(Options::default(), &[transaction(smb2(8), 10, -5)]);
    let (_, row) = statistics.operations().next().unwrap();
    assert_eq!((row.count(), row.answered(), row.response().negative()), (1, 1, 1));
    assert_eq!(row.response().moments().count(), 0);
    assert!(row.decades().in_use().is_empty() && statistics.heat_maps().is_empty());
}

#[test]
fn long_lived_requests_stand_apart() {
    let mut waiting = transaction(smb2(0x0F), 0, 1_000 * MS);
    waiting.long_lived = true;
    let statistics = of(Options::default(), &[waiting]);
    assert_eq!((statistics.operations().count(), statistics.long_lived().count(), statistics.total()), (0, 1, 0));
    assert_eq!((statistics.slowest().count(), statistics.groups().count()), (0, 0));
    assert!(statistics.queue_depth().at_arrival.is_empty());
}

#[test]
fn an_nfs4_compound_counts_once() {
    let member = |op: u16, position: u16| {
        let mut t = transaction(Procedure::of(Protocol::Nfs4, op), 100, 5 * MS);
        (t.compound_position, t.counted) = (Some(position), op == 25);
        t
    };
    let mut whole = transaction(Procedure::of(Protocol::Nfs4, 1), 100, 5 * MS);
    whole.counted = false;
    // SEQUENCE, PUTFH, READ, GETATTR
    let all = [member(53, 0), member(22, 1), member(25, 2), member(9, 3), whole];
    let statistics = of(Options::default(), &all);
    assert_eq!(statistics.total(), 1);
    assert_eq!(statistics.queue_depth().at_arrival, [1]);
    assert_eq!(statistics.series().iter().map(|cell| cell.operations).sum::<u64>(), 1);
    let heat = statistics.heat_maps();
    assert_eq!(heat[0].cells.iter().map(|&(_, _, count)| count).sum::<u64>(), 1);
    let slowest: Vec<_> = statistics.slowest().map(|t| t.procedure.name()).collect();
    assert_eq!(slowest, ["READ"]);
    let groups: Vec<_> = statistics.groups().map(|(key, sum)| (key.label(), sum.count())).collect();
    assert_eq!(groups, [("Read", 1)]);
    let members: Vec<_> = statistics.members().map(|(procedure, sum)| (procedure.name(), sum.count())).collect();
    let members: Vec<_> = members.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(members, [("COMPOUND", 1), ("GETATTR", 1), ("PUTFH", 1), ("SEQUENCE", 1)]);
}

#[test]
fn a_sum_with_unknown_parts_says_so() {
    let read = |payload, outcome, status| Transaction {
        payload_bytes: payload,
        outcome,
        status: Some(status),
        ..transaction(smb2(8), 0, MS)
    };
    let known = read(Some(4096), Outcome::Succeeded, 0);
    let cut = read(None, Outcome::Succeeded, 0);
    // Neither moved any.
    let nothing = [read(None, Outcome::Expected, 0xC000_0011), read(None, Outcome::Refused, 0xC000_0022)];
    let sums = |all: &[Transaction]| of(Options::default(), all).operations().next().unwrap().1.clone();
    let payload = sums(&[known, cut.clone(), nothing[0].clone(), nothing[1].clone()]).payload();
    assert_eq!((payload.exact(), payload.at_least(), payload.unknown()), (None, Some(4096), 1));
    let payload = sums(std::slice::from_ref(&cut)).payload();
    assert_eq!((payload.exact(), payload.at_least(), payload.unknown()), (None, None, 1));
    assert_eq!(sums(&nothing).payload().exact(), Some(0));
    let mut call = cut;
    (call.request_bytes, call.response_bytes) = (None, None);
    assert_eq!(sums(std::slice::from_ref(&call)).wire().at_least(), None);
    let statistics = of(Options { by: Some(Dimension::Client.into()), ..Options::default() }, &[call]);
    assert_eq!(statistics.breakdown().unwrap().rows()[0].1.payload.at_least(), None);
    assert_eq!(statistics.series().iter().map(|cell| cell.payload_unknown).sum::<u64>(), 1);
}

#[test]
fn what_failed_or_had_no_answer_wrote_nothing() {
    let write = |outcome, status| Transaction {
        payload_bytes: Some(4096),
        outcome,
        status: Some(status),
        ..transaction(smb2(9), 0, MS)
    };
    let full = write(Outcome::Failed, 0xC000_007F);
    let denied = write(Outcome::Refused, 0xC000_0022);
    let all = [
        write(Outcome::Succeeded, 0),
        full,
        denied,
        Transaction { payload_bytes: Some(4096), ..unanswered(smb2(9), 0) },
    ];
    let statistics = of(Options { by: Some(Dimension::Client.into()), ..Options::default() }, &all);
    let row = statistics.operations().next().unwrap().1;
    assert_eq!((row.count(), row.payload().exact()), (4, Some(4096)));
    assert_eq!(statistics.breakdown().unwrap().rows()[0].1.payload.exact(), Some(4096));
    assert_eq!(statistics.series().iter().map(|cell| cell.write_bytes).sum::<u64>(), 4096);
    let mut recorder = IntervalRecorder::new(Intervals::growing());
    all.iter().for_each(|t| Sink::transaction(&mut recorder, t, &Names::default()));
    let bytes: u64 = recorder.finish().sum().rows().map(|(_, row)| row.payload_bytes).sum();
    assert_eq!(bytes, 4096);
}

#[test]
fn write_raws_asynchronous_part_is_a_row_but_no_operation() {
    let mut block = unanswered(Procedure::write_raw_async(), 50);
    (block.request_packets, block.payload_bytes, block.request_bytes) = (25, Some(60_000), Some(60_000));
    let raw = transaction(Procedure::of(Protocol::Smb1, 0x1D), 0, MS);
    let statistics = of(Options::default(), &[raw, block]);
    assert_eq!(statistics.total(), 1);
    let (_, row) = statistics.operations().find(|(p, _)| *p == Procedure::write_raw_async()).unwrap();
    assert_eq!((row.count(), row.unanswered(), row.packets_mean()), (1, 0, Some(25.0)));
    let group = statistics.group(GroupKey::One(Group::Write)).unwrap();
    assert_eq!((group.count(), group.payload().at_least(), group.packets_mean()), (1, Some(60_000), Some(2.0)));
    assert_eq!(statistics.unanswered().count(), 0);
    assert_eq!(statistics.with_subcommands(Procedure::of(Protocol::Smb1, 0x1D)).unwrap().count(), 1);
}

#[test]
fn other_is_the_sum_of_its_three_and_stands_before_them() {
    // QUERY_INFO, QUERY_DIRECTORY, LOCK, READ
    let all = [0x10, 0x0E, 0x0A, 0x08].map(|code| transaction(smb2(code), i64::from(code), MS));
    let statistics = of(Options::default(), &all);
    let groups: Vec<_> = statistics.groups().map(|(key, sum)| (key.label(), sum.count())).collect();
    let expected = [("Other", 3), ("Other.Attributes", 1), ("Other.Directory", 1), ("Other.Locking", 1), ("Read", 1)];
    assert_eq!(groups, expected);
    let maps: Vec<_> = statistics.heat_maps().iter().map(|map| map.group.map_or("All", GroupKey::label)).collect();
    assert_eq!(maps, ["All", "Other", "Other.Attributes", "Other.Directory", "Other.Locking", "Read"]);
    let all = &statistics.heat_maps()[0];
    let &[(0, row, 4)] = &all.cells[..] else { panic!("{:?}", all.cells) };
    assert_eq!(HEAT_EDGES_NS[row], 1_000_000, "1 ms begins its row");
}

#[test]
fn a_command_is_shown_with_its_subcommands() {
    let subs = [1, 1, 2, 3, 0x77].map(|sub| transaction(Procedure::of_sub(Protocol::Smb1, 0x32, sub), 0, MS));
    let statistics = of(Options::default(), &subs);
    let sum = statistics.with_subcommands(Procedure::of(Protocol::Smb1, 0x32)).unwrap();
    assert_eq!(sum.count(), 5);
    assert!(statistics.with_subcommands(smb2(8)).is_none());
}

#[test]
fn the_slowest_and_the_longest_waiting_come_first() {
    let times = [5, 1, 9, 7, 3, 9, 2];
    let all: Vec<_> = times.iter().enumerate().map(|(i, &ms)| transaction(smb2(8), i as i64, ms * MS)).collect();
    let waiting: Vec<_> = [30, 10, 20].iter().map(|&start| unanswered(smb2(8), start)).collect();
    let options = Options { slowest: 3, ..Options::default() };
    let statistics = of(options, &[all, waiting].concat());
    let slowest: Vec<_> = statistics.slowest().map(|t| (t.timeline.response_time(), t.id)).collect();
    assert_eq!(slowest, [(Some(9 * MS), Some(2)), (Some(9 * MS), Some(5)), (Some(7 * MS), Some(3))]);
    let waiting: Vec<_> = statistics.unanswered().map(|t| t.timeline.request_first).collect();
    assert_eq!(waiting, [Some(10), Some(20), Some(30)]);
    assert_eq!(of(Options { slowest: 0, ..Options::default() }, &all_of(10)).slowest().count(), 0);
}

fn all_of(n: i64) -> Vec<Transaction> {
    (0..n).map(|i| transaction(smb2(8), i * MS, (1 + i % 7) * MS)).collect()
}

#[test]
fn a_breakdown_has_its_keys_and_says_what_it_left_out() {
    let mut names = Names::default();
    let path = names.intern("a/b");
    let mut known = transaction(smb2(8), 0, 2 * MS);
    (known.share, known.path) = (names.intern("data"), path);
    let statistics = of(
        Options { by: Some(Dimension::Path.into()), ..Options::default() },
        &[known.clone(), transaction(smb2(8), 1, MS), known],
    );
    let breakdown = statistics.breakdown().unwrap();
    let rows = breakdown.rows();
    let key = rows[0].0.parts()[0].unwrap();
    assert_eq!((rows.len(), key.name(&names)), (2, Some("a/b")));
    assert_eq!((rows[0].1.count, rows[0].1.percentile_ns(50.0)), (2, Some(2_000_000)));
    assert_eq!((rows[1].0.parts(), rows[1].1.count), ([None].as_slice(), 1), "a path that is not known");
    assert_eq!(breakdown.others().count, 0);
}

#[test]
fn keys_combine_and_the_longest_waiting_comes_first() {
    let by = Dimensions::new(&[Dimension::Operation, Dimension::Status]).unwrap();
    let mut denied = transaction(smb2(8), 2, 9 * MS);
    (denied.status, denied.outcome) = (Some(0xC000_0022), Outcome::Refused);
    let statistics = of(
        Options { by: Some(by), ..Options::default() },
        &[transaction(smb2(8), 0, MS), transaction(smb2(8), 1, MS), denied.clone(), transaction(smb2(9), 3, MS)],
    );
    let rows = statistics.breakdown().unwrap().rows();
    assert_eq!(rows.iter().map(|(_, stats)| stats.count).collect::<Vec<_>>(), [1, 2, 1]);
    let first = [Some(Key::Operation(Operation::Read)), Some(Key::Status(Protocol::Smb2, 0xC000_0022))];
    assert_eq!((rows[0].0.parts(), rows[0].1.refused), (first.as_slice(), 1));
    let cell = rows[0].1.series.iter().next().unwrap();
    assert_eq!((cell.operations, cell.errors, cell.waited_ns), (1, 1, 9 * MS as u64));
    // One status of SMB, whichever version it answers.
    denied.procedure = Procedure::of(Protocol::Smb1, 0x0A);
    let statistics = of(Options { by: Some(by), ..Options::default() }, &[denied]);
    assert_eq!(statistics.breakdown().unwrap().rows()[0].0.parts(), first);
}

#[test]
fn a_breakdown_has_one_to_three_different_dimensions() {
    use Dimension::{Client, Path, Share, User};
    assert!(Dimensions::new(&[]).is_none() && Dimensions::new(&[Client, Share, Client]).is_none());
    assert!(Dimensions::new(&[Client, Share, Path, User]).is_none());
    assert_eq!(Dimensions::new(&[Client, Share, Path]).unwrap().as_slice(), [Client, Share, Path]);
}

#[test]
fn too_many_keys_are_summed_as_others() {
    let mut statistics = Statistics::new(Options { by: Some(Dimension::Connection.into()), ..Options::default() });
    for i in 0..MAX_KEYS as u32 + 5 {
        let mut t = transaction(smb2(8), 0, MS);
        t.connection = i;
        statistics.record(&t);
    }
    let breakdown = statistics.breakdown().unwrap();
    assert_eq!((breakdown.rows().len(), breakdown.others().count), (MAX_KEYS, 5));
    assert!(matches!(breakdown.rows()[0].0.parts(), [Some(Key::Connection(0, ..))]));
}

/// Of every kind: groups, subcommands, Write_Raw's parts, an NFSv4 compound and its members.
const MIX: [(Protocol, u16, u16); 9] = [
    (Protocol::Smb1, 0x1D, 0),
    (Protocol::Smb1, 0x1D, 1),
    (Protocol::Smb1, 0x32, 1),
    (Protocol::Smb2, 8, 0),
    (Protocol::Smb2, 0x10, 3),
    (Protocol::Nfs3, 7, 0),
    (Protocol::Nfs4, 1, 0),
    (Protocol::Nfs4, 25, 0),
    (Protocol::Nfs4, 53, 0),
];

prop_compose! {
    fn any_transaction()(
        index in 0..MIX.len(), start in 0i64..2_000_000_000, took in -1_000i64..40_000_000,
        kind in 0u8..12, host in 2u8..6, bytes in 0u64..100_000, position in prop::option::of(0u16..3),
    ) -> Transaction {
        let (protocol, code, sub) = MIX[index];
        let procedure = Procedure::of_sub(protocol, code, sub);
        let mut t = if kind == 0 { unanswered(procedure, start) } else { transaction(procedure, start, took) };
        if kind == 1 {
            (t.outcome, t.status) = (Outcome::Refused, Some(u32::from(host)));
        }
        t.long_lived = kind == 2;
        (t.client, t.payload_bytes, t.compound_position) = (endpoint(host, 900), Some(bytes), position);
        t
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn parts_merged_are_the_whole(all in prop::collection::vec(any_transaction(), 0..150)) {
        let options = Options { slowest: 5, by: Some(Dimension::Client.into()), ..Options::default() };
        let whole = of(options, &all);
        for parts in [1, 2, 7] {
            let mut merged = Statistics::new(options);
            for part in 0..parts {
                let mine: Vec<_> = all.iter().skip(part).step_by(parts).cloned().collect();
                merged.merge(&of(options, &mine));
            }
            same(&merged, &whole)?;
        }
    }
}

fn same(a: &Statistics, b: &Statistics) -> Result<(), TestCaseError> {
    // Statuses in a row are in the order of arrival, so rows are compared by their contents.
    let rows = |s: &Statistics| -> Vec<_> {
        let all = s.operations().chain(s.long_lived()).map(|(p, row)| (p.name(), row.clone()));
        all.chain(s.groups().map(|(key, row)| (key.label().to_owned(), row))).collect()
    };
    let (rows_a, rows_b) = (rows(a), rows(b));
    prop_assert_eq!(rows_a.len(), rows_b.len());
    for ((name_a, a), (name_b, b)) in rows_a.iter().zip(&rows_b) {
        prop_assert_eq!(name_a, name_b);
        prop_assert_eq!((a.count(), a.answered(), a.unanswered()), (b.count(), b.answered(), b.unanswered()));
        prop_assert_eq!((a.errors(), a.packets_mean()), (b.errors(), b.packets_mean()));
        prop_assert_eq!((a.payload(), a.wire()), (b.payload(), b.wire()));
        prop_assert_eq!((a.statuses(), a.decades()), (b.statuses(), b.decades()));
        prop_assert_eq!((a.response(), a.service()), (b.response(), b.service()));
    }
    prop_assert_eq!(a.total(), b.total());
    prop_assert_eq!(a.queue_depth(), b.queue_depth());
    prop_assert_eq!(a.series(), b.series());
    prop_assert_eq!(a.heat_maps(), b.heat_maps());
    prop_assert_eq!(a.breakdown().map(|b| b.rows()), b.breakdown().map(|b| b.rows()));
    let times = |s: &Statistics| -> Vec<_> {
        s.slowest().chain(s.unanswered()).map(|t| (t.timeline.response_time(), t.timeline.request_first)).collect()
    };
    prop_assert_eq!(times(a), times(b));
    Ok(())
}
