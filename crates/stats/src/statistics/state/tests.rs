use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZero;

use plimsoll_model::{
    Anomaly, Asked, Disposition, Endpoint, FileAccess, FileIdentity, Frames, Outcome, PacketCounts, Procedure,
    Protocol, Symbol, Timeline, Transaction, Vantage,
};
use proptest::prelude::*;

use super::*;
use crate::{Dimension, Dimensions, Key, KeyStats, Options};

/// Statistics of some thousand operations, with everything in them that a state can hold.
fn sample(names: &mut Names, by: &[Dimension]) -> (Statistics, Coverage) {
    let mut statistics =
        Statistics::new(Options { slowest: 7, by: Dimensions::new(by), tallies: true, ..Options::default() });
    let ip = IpAddr::V6(Ipv6Addr::LOCALHOST);
    for i in 0..600i64 {
        let start = 1_700_000_000_000_000_000 + i * 1_700_000;
        let end = start + 1000 + (i * 7919) % 90_000_000;
        let name = |names: &mut Names, what: &str, of: i64| names.intern(&format!("{what}\u{202e}{}", i % of));
        let mut t = Transaction {
            procedure: Procedure::of(
                [Protocol::Smb2, Protocol::Nfs3, Protocol::Nfs4][(i % 3) as usize],
                (i % 9) as u16,
            ),
            client: Endpoint { ip, port: (i % 5) as u16 },
            server: Endpoint { ip, port: 445 },
            connection: (i % 5) as u32,
            session: (i % 2 == 0).then_some(u64::MAX),
            share: name(names, "share", 2),
            path: name(names, "path", 70),
            user: Symbol::NONE,
            id: Some(i as u64),
            compound_position: (i % 4 == 0).then_some(1),
            status: Some((i % 50 / 49) as u32),
            outcome: if i % 50 == 49 { Outcome::Refused } else { Outcome::Succeeded },
            payload_bytes: Some(4096),
            request_bytes: Some(100),
            response_bytes: None,
            request_packets: 1,
            response_packets: Some(3),
            timeline: Timeline {
                intended: (i % 2 == 0).then_some(start - 5),
                request_first: Some(start),
                request_last: Some(start + 10),
                interim: None,
                response_first: Some(end - 3),
                response_last: Some(end),
            },
            frames: Frames { request_first: NonZero::new(i as u64), ..Frames::default() },
            vantage: Vantage::Wire,
            level: Some(3),
            long_lived: i % 101 == 0,
            counted: true,
            asked: Asked {
                file: FileIdentity::of_number(i as u64),
                offset: (i % 3 == 0).then_some(i as u64),
                bytes: Some(4096),
                second_path: name(names, "other", 3),
                disposition: Disposition::of_number((i % 7) as u32),
                access: FileAccess::ALL.get((i % 6) as usize).copied(),
                durable: [None, Some(false), Some(true)][i as usize % 3],
                unlock: [Some(true), None, Some(false)][i as usize % 3],
            },
            client_index: (i % 5 > 0).then_some(i as u32),
            resent_wait_ns: (i % 7 > 0).then(|| (i % 3).unsigned_abs()),
        };
        if i % 97 == 0 {
            (t.outcome, t.status) = (Outcome::Unanswered, None);
            (t.timeline.response_first, t.timeline.response_last) = (None, None);
        }
        statistics.record(&t);
    }
    let mut coverage = Coverage { first_ns: Some(-1), last_ns: Some(i64::MAX), ..Coverage::default() };
    coverage.packets = PacketCounts { total: 9, wire_bytes: u64::MAX, ..PacketCounts::default() };
    coverage.anomalies.add_many(Anomaly::IdReused, 12);
    coverage.last_responses = Some([(445, 7), (446, -9)].map(|(port, ns)| (Endpoint { ip, port }, ns)).to_vec());
    coverage.downtime.begin(5);
    coverage.downtime.end(5, 9);
    coverage.file_gaps.add(9, 40_000_000_000);
    (statistics, coverage)
}

/// Statistics that were read back are written the same again, and show the same.
#[test]
fn what_was_written_is_read_back() {
    let several: &[Dimension] = &[Dimension::Path, Dimension::Status, Dimension::Second];
    for by in Dimension::ALL.chunks(1).chain([&[], several]) {
        let mut names = Names::default();
        let (statistics, coverage) = sample(&mut names, by);
        let bytes = statistics.to_bytes(&coverage, &names);
        let mut again = Names::default();
        let (read, read_coverage) = Statistics::from_bytes(&bytes, &mut again).unwrap();
        assert_eq!(read_coverage, coverage);
        assert_eq!(read.queue_depth(), statistics.queue_depth());
        assert_eq!(read.heat_maps(), statistics.heat_maps());
        assert!(read.operations().eq(statistics.operations()) && read.long_lived().eq(statistics.long_lived()));
        let keys = |of: &Statistics, names: &Names| -> Vec<(Vec<Option<String>>, KeyStats)> {
            let text = |key: &Option<Key>| Some(key.as_ref()?.name(names)?.to_owned());
            let rows = of.breakdown().into_iter().flat_map(|all| all.rows());
            rows.map(|(key, row)| (key.parts().iter().map(text).collect(), row.clone())).collect()
        };
        assert_eq!(keys(&read, &again), keys(&statistics, &names), "in the same order");
        let slowest = |of: &Statistics| of.slowest().map(|t| t.timeline).collect::<Vec<_>>();
        assert_eq!(slowest(&read), slowest(&statistics));
        // Symbols have other numbers now, so bytes are compared after another round.
        let once = read.to_bytes(&coverage, &again);
        let mut third = Names::default();
        let (twice, _) = Statistics::from_bytes(&once, &mut third).unwrap();
        assert_eq!(twice.to_bytes(&coverage, &third), once);
    }
}

/// Parts that were written and read merge as if they had never been.
#[test]
fn read_parts_merge_as_the_originals_do() {
    let mut names = Names::default();
    let (mut statistics, coverage) = sample(&mut names, &[]);
    let bytes = statistics.to_bytes(&coverage, &names);
    let (mut read, _) = Statistics::from_bytes(&bytes, &mut names).unwrap();
    let copy = statistics.clone();
    statistics.merge(&copy);
    read.merge(&copy);
    assert_eq!(read.to_bytes(&coverage, &names), statistics.to_bytes(&coverage, &names));
}

#[test]
fn what_is_cut_off_anywhere_is_an_error() {
    let mut names = Names::default();
    let (statistics, coverage) = sample(&mut names, &[Dimension::Path]);
    let bytes = statistics.to_bytes(&coverage, &names);
    for length in (0..bytes.len()).step_by(bytes.len() / 40) {
        assert!(
            Statistics::from_bytes(&bytes[..length], &mut Names::default()).is_err(),
            "{length} of {}",
            bytes.len()
        );
    }
    assert!(Statistics::from_bytes(&[&bytes[..], &[0]].concat(), &mut Names::default()).is_err());
    assert!(
        Statistics::from_bytes(&bytes, &mut Names::with_limit(100))
            .unwrap_err()
            .to_string()
            .contains("room for a name")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any bytes give an error, or statistics that can be merged and shown: nothing panics.
    #[test]
    fn damage_is_an_error_or_harmless(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut names = Names::default();
        let (statistics, coverage) = sample(&mut names, &[Dimension::Share, Dimension::Operation]);
        let mut bytes = statistics.to_bytes(&coverage, &names);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok((mut read, _)) = Statistics::from_bytes(&bytes, &mut Names::default()) {
            read.merge(&statistics);
            read.queue_depth().mean();
            read.heat_maps();
            for (_, row) in read.groups() {
                row.response().curve();
                row.response().moments().stddev_ns();
            }
        }
    }
}
