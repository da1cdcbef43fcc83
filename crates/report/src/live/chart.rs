//! Lines of blocks: one character per second.

/// Eighths of a character.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Values from 0 to the largest; a space where there is none.
pub(super) fn sparkline(values: &[Option<f64>]) -> String {
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    let block = |value: f64| {
        let eighth = if largest > 0.0 { (value / largest * 7.0).round() as usize } else { 0 };
        BLOCKS[eighth.min(7)]
    };
    values.iter().map(|value| value.map_or(' ', block)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_full_and_none_is_blank() {
        assert_eq!(sparkline(&[Some(0.0), None, Some(5.0), Some(10.0)]), "▁ ▅█");
        assert_eq!(sparkline(&[Some(0.0)]), "▁");
    }
}
