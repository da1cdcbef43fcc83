//! The index of a percentile among sorted values.

/// The rank, from 1, of the smallest of `total` sorted values that at least `percentile` (0..=100) per cent do not exceed
/// (nearest rank).
pub(crate) fn rank(percentile: f64, total: u64) -> u64 {
    let place = percentile / 100.0 * total as f64;
    // 99.9 % of 1,000 are 999, and 999.0000000000001 in floating point, of which the next integer is one too many.
    let place = place * (1.0 - 4.0 * f64::EPSILON);
    (place.ceil() as u64).clamp(1, total.max(1))
}

/// The cell, of those that rise, in which the value of a percentile's rank counts; `None` where there are no values.
pub(crate) fn cell_at<C>(percentile: f64, cells: impl Iterator<Item = (C, u64)> + Clone) -> Option<C> {
    let add = |sum: u64, count: u64| sum.saturating_add(count);
    let rank = rank(percentile, cells.clone().map(|(_, count)| count).fold(0, add));
    let mut below = 0;
    let mut cells = cells.map(|(cell, count)| {
        below = add(below, count);
        (cell, below)
    });
    cells.find(|&(_, below)| below >= rank).map(|(cell, _)| cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_round_numbers_is_no_rank_too_high() {
        for total in [1_000u64, 2_000, 10_000, 1_000_000, 123_000_000_000] {
            for thousandths in [100u64, 1_000, 5_000, 50_000, 75_000, 90_000, 95_000, 99_000, 99_900, 99_990, 99_999] {
                let exact = (u128::from(thousandths) * u128::from(total)).div_ceil(100_000) as u64;
                assert_eq!(rank(thousandths as f64 / 1e3, total), exact, "{thousandths} of {total}");
            }
        }
        let cells = || [('a', 2), ('b', 0), ('c', 6), ('d', 2)].into_iter();
        assert_eq!([20.0, 20.1, 80.0, 80.1].map(|p| cell_at(p, cells())), ['a', 'c', 'c', 'd'].map(Some));
        assert_eq!(cell_at(50.0, std::iter::empty::<(u16, u64)>()), None);
        assert_eq!((rank(0.0, 5), rank(100.0, 5), rank(50.0, 0), rank(20.1, 5)), (1, 5, 1, 2));
    }
}
