//! What the shares of the procedures alone change: the same times, each procedure's of the baseline, with our shares and with theirs.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::Procedure;
use plimsoll_stats::{FineHistogram, IntervalRow};

/// Two mixes differ if the shares alone change the mean response time or a percentile by more than this fraction.
const OTHER_TIME: f64 = 0.05;
/// Sums of shares are this exact, relative to the whole.
const ROUNDING: f64 = 1e-9;

/// Requests and response times of each procedure.
pub(super) type Mix = BTreeMap<Procedure, IntervalRow>;

/// Requests of one response time.
struct Cell {
    ns: u64,
    /// Their part of all requests, in each mix.
    ours: f64,
    theirs: f64,
}

pub(super) fn share(of: &Mix, procedure: Procedure) -> f64 {
    let all: u64 = of.values().map(|row| row.count).sum();
    of.get(&procedure).map_or(0.0, |row| row.count as f64 / all.max(1) as f64)
}

/// Whether the shares alone change the mean of all operations together, or one of these percentiles (0..=100).
pub(super) fn changes_times(ours: &Mix, theirs: &Mix, percentiles: &[f64]) -> bool {
    let procedures: BTreeSet<Procedure> = ours.keys().chain(theirs.keys()).copied().collect();
    let mean_ns = |procedure: Procedure| {
        let mean = |of: &Mix| of.get(&procedure).and_then(|row| row.response.mean_ns());
        mean(ours).or_else(|| mean(theirs)).unwrap_or(0.0)
    };
    let all_ns = |of: &Mix| procedures.iter().map(|&one| share(of, one) * mean_ns(one)).sum::<f64>();
    let is_other = |before: f64, after: f64| (after - before).abs() > OTHER_TIME * before;
    if is_other(all_ns(ours), all_ns(theirs)) {
        return true;
    }
    let cells = cells(ours, theirs, &procedures);
    percentiles.iter().any(|&percentile| {
        is_other(
            percentile_ns(&cells, percentile, |cell| cell.ours),
            percentile_ns(&cells, percentile, |cell| cell.theirs),
        )
    })
}

/// By response time.
fn cells(ours: &Mix, theirs: &Mix, procedures: &BTreeSet<Procedure>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &one in procedures {
        let rows = [ours, theirs].into_iter().filter_map(|of| of.get(&one));
        let found: Option<&FineHistogram> = rows.map(|row| &row.histogram).find(|times| !times.is_empty());
        let Some(times) = found else { continue };
        let [ours, theirs] = [ours, theirs].map(|of| share(of, one) / times.count() as f64);
        cells.extend(times.iter().map(|cell| {
            let count = cell.count as f64;
            Cell { ns: cell.to_ns, ours: ours * count, theirs: theirs * count }
        }));
    }
    cells.sort_by_key(|cell| cell.ns);
    cells
}

/// The time that at least `percentile` per cent of the weight does not exceed; 0 without cells.
fn percentile_ns(cells: &[Cell], percentile: f64, weight: impl Fn(&Cell) -> f64) -> f64 {
    let all: f64 = cells.iter().map(&weight).sum();
    let wanted = all * percentile / 100.0 * (1.0 - ROUNDING);
    let mut sum = 0.0;
    let found = cells.iter().find(|&cell| {
        sum += weight(cell);
        sum >= wanted
    });
    found.or(cells.last()).map_or(0.0, |cell| cell.ns as f64)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Protocol;

    use super::*;

    const US: u64 = 1_000;

    /// Of each procedure: its number, its requests, and the time that all of them take, µs.
    fn mix(of: &[(u16, u64, u64)]) -> Mix {
        let row = |&(code, count, us): &(u16, u64, u64)| {
            let mut row = IntervalRow { count, ..IntervalRow::default() };
            (0..count).for_each(|_| row.response.record(us * US));
            row.histogram.record_many(us * US, count);
            (Procedure::of(Protocol::Nfs3, code), row)
        };
        of.iter().map(row).collect()
    }

    /// The mean changes by 3 %, but the median lies between short and long times.
    #[test]
    fn shares_that_move_only_a_percentile_change_times() {
        let of = |short: u64| mix(&[(1, short, 200), (6, 100 - short, 2_000)]);
        assert!(!changes_times(&of(51), &of(49), &[]), "the mean alone");
        assert!(!changes_times(&of(51), &of(49), &[90.0, 99.0]));
        assert!(changes_times(&of(51), &of(49), &[50.0]) && changes_times(&of(49), &of(51), &[50.0]));
        assert!(!changes_times(&of(50), &of(50), &[50.0]));
        let rare = |commits: u64| mix(&[(6, 1_000 - commits, 1_000), (21, commits, 3_000)]);
        assert!(!changes_times(&rare(5), &rare(15), &[50.0, 90.0, 95.0, 99.9]));
        assert!(changes_times(&rare(5), &rare(15), &[99.0]));
    }

    #[test]
    fn the_shares_count_and_not_the_requests_or_the_times() {
        let ours = mix(&[(1, 50, 200), (6, 50, 2_000)]);
        let theirs = mix(&[(1, 500, 900), (6, 500, 9_000)]);
        assert!(!changes_times(&ours, &theirs, &[50.0, 90.0, 95.0, 99.0, 99.9]));
        let new = mix(&[(1, 490, 200), (6, 490, 2_000), (21, 20, 2_300)]);
        assert!(changes_times(&ours, &new, &[99.0]), "a procedure without times of the baseline");
    }
}
