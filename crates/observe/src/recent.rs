//! A map that forgets what was inserted long ago.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// The last `GENERATION` entries are known in any case, and at most twice as many.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize, V: Serialize",
    deserialize = "K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>"
))]
pub(crate) struct Recent<K, V, const GENERATION: usize> {
    young: HashMap<K, V, foldhash::fast::RandomState>,
    old: HashMap<K, V, foldhash::fast::RandomState>,
}

impl<K, V, const GENERATION: usize> Default for Recent<K, V, GENERATION> {
    fn default() -> Self {
        Self { young: HashMap::default(), old: HashMap::default() }
    }
}

impl<K: Eq + Hash, V: Copy, const GENERATION: usize> Recent<K, V, GENERATION> {
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= GENERATION && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.young.get_mut(key).or_else(|| self.old.get_mut(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entries_are_known_and_the_number_of_entries_has_a_bound() {
        const GENERATION: usize = 1_024;
        let mut recent = Recent::<_, _, GENERATION>::default();
        assert!(recent.is_empty());
        for key in 0..5 * GENERATION {
            recent.insert(key, key);
            assert!(recent.young.len() + recent.old.len() <= 2 * GENERATION);
            assert_eq!(recent.get(&key.saturating_sub(GENERATION - 1)), Some(key.saturating_sub(GENERATION - 1)));
        }
        assert_eq!(recent.get(&0), None);
        // One that was inserted again stands in both generations.
        let (oldest, newest) = (4 * GENERATION, 5 * GENERATION - 1);
        (0..GENERATION / 2).for_each(|key| recent.insert(key, key));
        recent.insert(newest, 7);
        assert_eq!((recent.get(&oldest), recent.get(&newest)), (Some(oldest), Some(7)));
        [oldest, newest].iter().for_each(|key| recent.remove(key));
        assert_eq!((recent.get(&oldest), recent.get(&newest)), (None, None));
    }
}
