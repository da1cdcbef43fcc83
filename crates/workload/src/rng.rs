//! Randomness that costs eight bytes a slot and is the same everywhere.

use rand::RngCore;

/// SplitMix64 (Steele, Lea, Flood 2014): every seed gives an independent sequence.
#[derive(Clone, Copy, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl RngCore for Rng {
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.iter_mut().zip(word).for_each(|(byte, random)| *byte = random);
        }
    }
}

/// The seed of one slot of one client. It depends on nothing else, so clients can be distributed over any number of threads.
#[must_use]
pub fn seed_of(seed: u64, client_index: u32, slot: u32) -> u64 {
    mix(mix(seed ^ 0x706C_696D_736F_6C6C).wrapping_add(u64::from(client_index) << 32 | u64::from(slot)))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_reference() {
        // First outputs for seed 1234567 of the reference C code (Vigna, prng.di.unimi.it/splitmix64.c).
        let mut rng = Rng::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn slots_and_clients_have_seeds_of_their_own() {
        let mut seeds: Vec<u64> = (0..100).flat_map(|s| (0..100).map(move |l| seed_of(7, s, l))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 10_000);
        assert_ne!(seed_of(1, 0, 0), seed_of(2, 0, 0));
    }
}
