//! Breaks of leases and oplocks: sums become rows.

use std::cmp::Reverse;

use plimsoll_model::{CachingRight, Coverage, LeaseBreaks as Sums, Names};

use super::SECOND;
use crate::findings::{LeaseBreakRow, LeaseBreaks};

/// `None` without breaks.
pub(super) fn lease_breaks(coverage: &Coverage, names: &Names) -> Option<LeaseBreaks> {
    let breaks = &coverage.breaks;
    if breaks.notified == 0 && breaks.unsolicited == 0 && breaks.unmatched == 0 {
        return None;
    }
    let mut sums: Vec<&Sums> = coverage.lease_breaks.iter().collect();
    // All of a client and share: how long others waited, and how many notifications there were.
    let of_place = |one: &Sums| {
        let like = coverage.lease_breaks.iter().filter(|other| (other.client, other.share) == (one.client, one.share));
        like.fold((0, 0), |(wait, notified), other| {
            (wait + u128::from(other.wait_ns), notified + u128::from(other.notified))
        })
    };
    sums.sort_by_cached_key(|one| {
        let (wait, notified) = of_place(one);
        let share = names.text(one.share).map(str::to_owned);
        (
            Reverse((wait, notified)),
            one.client,
            share,
            Reverse((one.wait_ns, one.notified)),
            one.from,
            one.to,
            one.is_directory,
        )
    });
    let listed: u64 = sums.iter().map(|one| one.notified).sum();
    Some(LeaseBreaks {
        notified: breaks.notified,
        notified_left_out: breaks.notified.saturating_sub(listed),
        unsolicited: breaks.unsolicited,
        unmatched: breaks.unmatched,
        rows: sums.into_iter().map(|one| row(one, names)).collect(),
    })
}

fn row(one: &Sums, names: &Names) -> LeaseBreakRow {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let is_acknowledged = one.acknowledged > 0;
    let right = one.to.or(one.from).map(|right| match right {
        CachingRight::Lease(_) => "lease",
        CachingRight::Oplock(_) => "oplock",
    });
    LeaseBreakRow {
        client: one.client.to_string(),
        share: names.text(one.share).map(str::to_owned),
        right: right.map(str::to_owned),
        of: one.is_directory.map(|is_directory| if is_directory { "directory" } else { "file" }.to_owned()),
        from: one.from.map(state),
        to: one.to.map(state),
        notified: one.notified,
        acknowledged: one.acknowledged,
        acknowledged_mean_s: is_acknowledged.then(|| seconds(one.acknowledged_ns) / one.acknowledged as f64),
        acknowledged_max_s: is_acknowledged.then(|| seconds(one.longest_ns)),
        closed: one.closed,
        unanswered: one.unanswered,
        waits: one.waits,
        wait_s: seconds(one.wait_ns),
    }
}

/// The state in words.
///
/// Spec: MS-SMB2 2.2.13, 2.2.13.2.8
fn state(right: CachingRight) -> String {
    match right {
        CachingRight::Lease(0) | CachingRight::Oplock(0) => "none".to_owned(),
        CachingRight::Lease(bits @ 1..=7) => {
            let letters = [(1, 'R'), (4, 'W'), (2, 'H')];
            letters.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, letter)| letter).collect()
        }
        CachingRight::Oplock(1) => "level II".to_owned(),
        CachingRight::Oplock(8) => "exclusive".to_owned(),
        CachingRight::Oplock(9) => "batch".to_owned(),
        CachingRight::Lease(other) => format!("{other:#x}"),
        CachingRight::Oplock(other) => format!("{other:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Breaks;

    #[test]
    fn states_have_the_names_of_the_specification() {
        let words = [0, 1, 3, 5, 7, 9].map(|bits| state(CachingRight::Lease(bits)));
        assert_eq!(words, ["none", "R", "RH", "RW", "RWH", "0x9"]);
        let words = [0, 1, 8, 9, 255].map(|level| state(CachingRight::Oplock(level)));
        assert_eq!(words, ["none", "level II", "exclusive", "batch", "0xff"]);
    }

    #[test]
    fn rows_of_a_client_and_share_are_together_and_those_waited_for_come_first() {
        let mut names = Names::default();
        let share = names.intern_share(r"\\server1\data");
        let lease = |bits| Some(CachingRight::Lease(bits));
        let of = |client: u8, from, to| Sums::of([10, 0, 0, client].into(), share, Some(false), lease(from), lease(to));
        let lease_breaks = vec![
            Sums { notified: 9, ..of(1, 7, 3) },
            Sums { notified: 2, acknowledged: 2, acknowledged_ns: 30, longest_ns: 20, ..of(2, 7, 3) },
            Sums { notified: 1, waits: 1, wait_ns: 5, ..of(1, 3, 0) },
            Sums { notified: 1, waits: 2, wait_ns: 4, ..of(2, 3, 0) },
        ];
        let breaks = Breaks { notified: 20, unsolicited: 1, unmatched: 2, ..Breaks::default() };
        let coverage = Coverage { breaks, lease_breaks, ..Coverage::default() };
        let found = super::lease_breaks(&coverage, &names).unwrap();
        let order: Vec<_> = found.rows.iter().map(|row| (row.client.as_str(), row.to.as_deref().unwrap())).collect();
        assert_eq!(order, [("10.0.0.1", "none"), ("10.0.0.1", "RH"), ("10.0.0.2", "none"), ("10.0.0.2", "RH")]);
        assert_eq!((found.notified, found.notified_left_out, found.unsolicited, found.unmatched), (20, 7, 1, 2));
        let last = &found.rows[3];
        assert_eq!((last.acknowledged_mean_s, last.acknowledged_max_s), (Some(15e-9), Some(20e-9)));
        assert_eq!(
            (found.rows[0].acknowledged_mean_s, found.rows[0].share.as_deref()),
            (None, Some(r"\\server1\data"))
        );
        assert_eq!(super::lease_breaks(&Coverage::default(), &names), None);
    }
}
