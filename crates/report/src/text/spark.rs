//! Sparklines: numbers as heights.

/// Heights of a sparkline; every value above zero has a visible height.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const NOTHING: char = ' ';

/// A number as a height of which `most` is the highest.
pub(super) fn height(n: u64, most: u64) -> char {
    let steps = HEIGHTS.len() as u128;
    match n {
        0 => NOTHING,
        _ => HEIGHTS[((u128::from(n) * steps).div_ceil(u128::from(most)).min(steps) as usize).saturating_sub(1)],
    }
}

/// Numbers as heights, relative to the largest.
pub(super) fn spark(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    // Parts in a million are finer than the heights.
    let parts = |value: f64| if value > 0.0 { ((value / most * 1e6) as u64).max(1) } else { 0 };
    values.iter().map(|value| height(parts(*value), 1_000_000)).collect()
}

/// Values as heights between two numbers; the lowest has a height too.
pub(super) fn spark_between(values: &[f64], low: f64, high: f64) -> String {
    let parts = |value: f64| 1 + ((value - low) / (high - low) * 999_999.0) as u64;
    values.iter().map(|value| height(parts(*value), 1_000_000)).collect()
}

/// Whether a cell is a sparkline, for its colour.
pub(super) fn is_spark(cell: &str) -> bool {
    cell.chars().any(|c| HEIGHTS.contains(&c)) && cell.chars().all(|c| c == NOTHING || HEIGHTS.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::height;

    #[test]
    fn little_is_not_nothing_and_the_most_is_full() {
        assert_eq!(height(0, 1000), ' ');
        assert_eq!(height(1, 1000), '▁');
        assert_eq!(height(125, 1000), '▁');
        assert_eq!(height(126, 1000), '▂');
        assert_eq!(height(1000, 1000), '█');
        assert_eq!(height(u64::MAX, u64::MAX), '█');
    }
}
