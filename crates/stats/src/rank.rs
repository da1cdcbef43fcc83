//! Which of so many sorted values is a percentile.

/// The rank, from 1, of the smallest of `total` sorted values that at least `percentile` (0..=100) per cent do not exceed
/// (nearest rank).
pub(crate) fn rank(percentile: f64, total: u64) -> u64 {
    let place = percentile / 100.0 * total as f64;
    // 99.9 % of 1,000 are 999, and 999.0000000000001 in floating point, of which the next integer is one too many.
    let place = place * (1.0 - 4.0 * f64::EPSILON);
    (place.ceil() as u64).clamp(1, total.max(1))
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
        assert_eq!((rank(0.0, 5), rank(100.0, 5), rank(50.0, 0), rank(20.1, 5)), (1, 5, 1, 2));
    }
}
