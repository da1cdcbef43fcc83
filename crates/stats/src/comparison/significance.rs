//! Many differences at once.

/// The differences that remain significant if the probability of any false one is to be at most `alpha` (Holm 1979), in the order of
/// `p_values`. `None`s were not tested.
pub fn holm(p_values: &[Option<f64>], alpha: f64) -> Vec<bool> {
    let mut tested: Vec<(usize, f64)> = p_values.iter().enumerate().filter_map(|(at, p)| p.map(|p| (at, p))).collect();
    tested.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut remain = vec![false; p_values.len()];
    let count = tested.len();
    for (rank, (at, p)) in tested.into_iter().enumerate() {
        if p > alpha / (count - rank) as f64 {
            break;
        }
        if let Some(remains) = remain.get_mut(at) {
            *remains = true;
        }
    }
    remain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holm 1979, section 2, by hand: 0.01 ≤ 0.05/4, 0.013 ≤ 0.05/3, 0.03 > 0.05/2: the rest falls with it.
    #[test]
    fn the_first_that_fails_takes_the_larger_ones_with_it() {
        let p = [Some(0.03), Some(0.01), None, Some(0.013), Some(0.04)];
        assert_eq!(holm(&p, 0.05), [false, true, false, true, false]);
        assert_eq!(holm(&[Some(0.05)], 0.05), [true]);
        assert!(holm(&[], 0.05).is_empty());
    }
}
