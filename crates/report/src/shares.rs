//! Percentages of a table: if the numbers of a column are parts of one whole, the shown percentages add up to 100.
//!
//! Separate rounding can give 99.9 or 100.1. Here the tenths of a per cent are distributed by largest remainder: each number is rounded
//! down, and the remaining tenths go to the numbers with the largest remainders. Every number stays within 0.1 of the exact one.

use crate::findings::OperationRow;

/// Tenths of a per cent in 100 %.
const WHOLE: i64 = 1000;
/// Maximum relative deviation of a sum of shares from its whole by rounding of `f64`.
const EXACT: f64 = 1e-9;

/// A percentage as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percentage {
    /// Tenths of a per cent; below 0 for a remainder of parts that overlap.
    pub(crate) tenths: i64,
    /// Whether it is not 0, whatever its tenths.
    pub(crate) some: bool,
}

/// Percentages of the parts of `whole`. A remaining part is not in the table. If the parts together exceed the whole (rows that count
/// something twice), each is rounded separately. None without a whole.
pub(crate) fn of(parts: &[f64], whole: f64) -> Vec<Option<Percentage>> {
    within(parts, whole, WHOLE, whole)
}

/// Percentages of the parts of `whole`, which is a part of `total` itself and shows `shown`.
pub(crate) fn of_part(parts: &[f64], whole: f64, shown: Option<Percentage>, total: f64) -> Vec<Option<Percentage>> {
    shown.map_or_else(|| vec![None; parts.len()], |shown| within(parts, whole, shown.tenths, total))
}

/// [`of`], of counts.
pub(crate) fn of_counts(parts: impl IntoIterator<Item = u64>, whole: u64) -> Vec<Option<Percentage>> {
    of(&parts.into_iter().map(|part| part as f64).collect::<Vec<_>>(), whole as f64)
}

/// The share of each row in all requests. Subcommands share what their command shows, subgroups what their group shows.
pub(crate) fn of_rows(rows: &[OperationRow]) -> Vec<Option<Percentage>> {
    of_rows_by(rows, |row| row.share, 1.0)
}

/// [`of_rows`], of another number of a row.
pub(crate) fn of_rows_by(
    rows: &[OperationRow],
    number: fn(&OperationRow) -> f64,
    whole: f64,
) -> Vec<Option<Percentage>> {
    let parents: Vec<Option<usize>> =
        rows.iter().map(|row| rows.iter().position(|other| is_part_of(row, other))).collect();
    let mut shown = vec![None; rows.len()];
    let mut fill = |parent: Option<usize>, of: f64, tenths: i64| {
        let places = parents.iter().enumerate().filter(|(_, its)| **its == parent).map(|(at, _)| at);
        let (places, parts): (Vec<usize>, Vec<f64>) = places.filter_map(|at| Some((at, number(rows.get(at)?)))).unzip();
        let found = within(&parts, of, tenths, whole);
        for (&at, percentage) in places.iter().zip(&found) {
            if let Some(row) = shown.get_mut(at) {
                *row = *percentage;
            }
        }
        places.into_iter().zip(found).collect::<Vec<_>>()
    };
    for (at, percentage) in fill(None, whole, WHOLE) {
        if let Some((row, percentage)) = rows.get(at).zip(percentage) {
            fill(Some(at), number(row), percentage.tenths);
        }
    }
    shown
}

/// Whether a row is a part of another one: a subcommand of its command, a subgroup of its group.
fn is_part_of(row: &OperationRow, whole: &OperationRow) -> bool {
    match &row.parent {
        Some(parent) => *parent == whole.procedure && row.protocol == whole.protocol && whole.parent.is_none(),
        // Rows of procedures have the names of subgroups too, and no part in one another.
        None if row.procedure.is_empty() => row.group.split_once('.').is_some_and(|(group, _)| group == whole.group),
        None => false,
    }
}

/// Parts of `whole`, which shows `units` itself, and which is a part of `total`.
fn within(parts: &[f64], whole: f64, units: i64, total: f64) -> Vec<Option<Percentage>> {
    if whole <= 0.0 || !whole.is_finite() {
        return vec![None; parts.len()];
    }
    let rest = whole - parts.iter().sum::<f64>();
    if rest.is_nan() || rest < -EXACT * whole {
        return parts.iter().map(|&part| alone(part / total)).collect();
    }
    let hidden = (rest > EXACT * whole).then_some(rest);
    let exact: Vec<f64> = parts.iter().copied().chain(hidden).map(|part| part / whole * units as f64).collect();
    let mut tenths: Vec<i64> = exact.iter().map(|tenths| tenths.floor() as i64).collect();
    let left = units.saturating_sub(tenths.iter().sum());
    let lost = |at: usize| exact.get(at).map_or(0.0, |tenths| tenths - tenths.floor());
    // A part smaller than the whole never reads as 100 %.
    let would_be_all = |at: usize| exact.get(at).is_some_and(|tenths| tenths.ceil() >= WHOLE as f64);
    let mut order: Vec<usize> = (0..exact.len()).filter(|&at| lost(at) > 0.0 && !would_be_all(at)).collect();
    order.sort_by(|&a, &b| lost(b).total_cmp(&lost(a)).then(a.cmp(&b)));
    for at in order.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        if let Some(tenths) = tenths.get_mut(at) {
            *tenths += 1;
        }
    }
    parts.iter().zip(tenths).map(|(&part, tenths)| Some(Percentage { tenths, some: part != 0.0 })).collect()
}

/// A share (0..=1) outside of a table of parts: rounded, but to 100 % only if it is exactly 1.
pub(crate) fn alone(share: f64) -> Option<Percentage> {
    share.is_finite().then(|| {
        let tenths = (share * WHOLE as f64).round() as i64;
        Percentage { tenths: if share < 1.0 { tenths.min(WHOLE - 1) } else { tenths }, some: share != 0.0 }
    })
}

impl Percentage {
    /// Digits without the sign: `33.3`.
    pub(crate) fn digits(self) -> String {
        let size = self.tenths.unsigned_abs();
        format!("{}.{}", size / 10, size % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::Random;

    fn tenths(shown: &[Option<Percentage>]) -> Vec<i64> {
        shown.iter().map(|shown| shown.map_or(-1, |shown| shown.tenths)).collect()
    }

    #[test]
    fn parts_of_a_whole_add_up_to_it_and_stay_near_the_truth() {
        let mut random = Random::new(41);
        for round in 0..20_000 {
            let count = 1 + (random.bits() % 40) as usize;
            // Some rows are rare, as operations are.
            let parts: Vec<u64> = (0..count).map(|_| (10_f64.powf(random.uniform() * 7.0)) as u64).collect();
            let hidden = if round % 3 == 0 { random.bits() % 1000 } else { 0 };
            let whole = parts.iter().sum::<u64>() + hidden;
            let shown = of_counts(parts.iter().copied(), whole);
            let sum: i64 = tenths(&shown).iter().sum();
            assert!(if hidden == 0 { sum == WHOLE } else { sum <= WHOLE }, "{sum} of {parts:?} and {hidden}");
            for (part, shown) in parts.iter().zip(tenths(&shown)) {
                let exact = *part as f64 / whole as f64 * 1000.0;
                assert!((shown as f64 - exact).abs() < 1.0, "{shown} for {exact} in {parts:?}");
                assert!(shown < WHOLE || *part == whole, "not all reads 100 %: {parts:?}");
            }
        }
    }

    #[test]
    fn shares_that_are_rounded_one_by_one_are_off() {
        let three = of_counts([1, 1, 1], 3);
        assert_eq!(tenths(&three), [334, 333, 333], "each by itself: 33.3 three times, 99.9 together");
        assert_eq!(tenths(&of_counts([1, 1, 1, 3], 6)), [167, 167, 166, 500], "each by itself: 100.1 together");
        assert_eq!(tenths(&of_counts([99_960, 40], 100_000)), [999, 1], "not all is not 100 %");
        assert_eq!(tenths(&of(&[0.7, 0.5, -0.2], 1.0)), [700, 500, -200], "an overlap");
        assert_eq!(tenths(&of_counts([1, 0], 0)), [-1, -1], "no whole, no share");
        assert_eq!(tenths(&of_counts([80, 75], 100)), [800, 750], "no parts of this whole");
        assert_eq!(
            of_counts([1, 0], 1_000_000).iter().map(|one| one.is_some_and(|p| p.some)).collect::<Vec<_>>(),
            [true, false]
        );
    }
}
