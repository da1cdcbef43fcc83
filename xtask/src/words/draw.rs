//! Draws at random, the same for the same seed.

/// The places of `count` different things of `of`; each selection is equally likely.
pub(super) fn draw(count: usize, of: usize, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..of).collect();
    let mut state = seed;
    // Fisher and Yates, only as far as places are needed.
    for i in 0..count.min(of) {
        let left = of - i;
        let step = (u128::from(next(&mut state)) * left as u128) >> 64;
        places.swap(i, i + usize::try_from(step).unwrap_or_default());
    }
    places.truncate(count);
    places
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_nothing_twice() {
        assert_eq!(draw(30, 4_000, 7), draw(30, 4_000, 7));
        assert_ne!(draw(30, 4_000, 7), draw(30, 4_000, 8));
        let mut all = draw(50, 40, 1);
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn everything_is_drawn_equally_often() {
        let mut counts = [0_u32; 10];
        for place in (0..10_000).flat_map(|seed| draw(3, 10, seed)) {
            counts[place] += 1;
        }
        // 3,000 expected, with a standard deviation of 46.
        assert!(counts.iter().all(|count| (2_770..3_230).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first output of the authors' program for the seed 1234567.
        assert_eq!(next(&mut 1_234_567), 6_457_827_717_110_365_317);
    }
}
