//! Hashes with a stored seed, so that the hashes of one capture file can be found when the next one is read.

use std::hash::{BuildHasher, Hash};

use foldhash::SharedSeed;
use foldhash::quality::{RandomState, SeedableRandomState};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A hasher with a random seed.
#[derive(Debug)]
pub(super) struct Seeded {
    seed: u64,
    state: SeedableRandomState,
}

impl Seeded {
    fn of(seed: u64) -> Self {
        // Some hundred bytes, once or twice in a process.
        let shared = Box::leak(Box::new(SharedSeed::from_u64(seed)));
        Self { seed, state: SeedableRandomState::with_seed(seed, shared) }
    }

    #[inline]
    pub(super) fn hash_one(&self, value: &impl Hash) -> u64 {
        self.state.hash_one(value)
    }
}

impl Default for Seeded {
    fn default() -> Self {
        Self::of(RandomState::default().hash_one(0_u64))
    }
}

impl Serialize for Seeded {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.seed.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Seeded {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Self::of)
    }
}
