//! A map that remembers the entries used last.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// A map in two generations: what was not used while the young one filled up is forgotten.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize + Eq + Hash, V: Serialize",
    deserialize = "K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>"
))]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V, foldhash::fast::RandomState>,
    /// The entries of the previous generation, without those used since.
    old: HashMap<K, V, foldhash::fast::RandomState>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::default(), old: HashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V: Default> Generations<K, V> {
    /// The value of a key, new or not. `forget` gets the old generation, in any order, if there are `most` young entries.
    pub(crate) fn at(&mut self, key: K, most: usize, forget: impl FnMut((K, V))) -> &mut V {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key).unwrap_or_default();
            if self.young.len() >= most {
                let gone = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
                gone.into_iter().for_each(forget);
            }
            self.young.insert(key, value);
        }
        self.young.entry(key).or_default()
    }

    /// The value of a key, if it is remembered. It is not used by that.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self.young.get_mut(key) {
            Some(value) => Some(value),
            None => self.old.get_mut(key),
        }
    }

    /// All entries, in any order.
    pub(super) fn all(self) -> impl Iterator<Item = (K, V)> {
        self.young.into_iter().chain(self.old)
    }
}
