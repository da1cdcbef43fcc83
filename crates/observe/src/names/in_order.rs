//! A map in the order of arrival.

use hashbrown::HashTable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map with values in insertion order: values used together were inserted together, so they share cache lines
/// (docs/decisions/0011-names-in-order.md). Keys are seeded hashes already; nothing is ever removed.
#[derive(Debug)]
pub(super) struct InOrder<T> {
    entries: Vec<(u64, T)>,
    /// The place of each entry, by its key.
    places: HashTable<u32>,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: HashTable::new() }
    }
}

impl<T> InOrder<T> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<&T> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        let place = self.place(key)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    #[inline]
    fn place(&self, key: u64) -> Option<usize> {
        self.places.find(key, |&place| self.entries[place as usize].0 == key).map(|&place| place as usize)
    }

    /// Takes a key that is not there, unless there is no room for it.
    pub(super) fn insert(&mut self, key: u64, value: T) {
        let Ok(place) = u32::try_from(self.entries.len()) else { return };
        self.entries.push((key, value));
        self.places.insert_unique(key, place, |&place| self.entries[place as usize].0);
    }
}

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut map = Self::default();
        Vec::<(u64, T)>::deserialize(from)?.into_iter().for_each(|(key, value)| map.insert(key, value));
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_value() {
        let mut map = InOrder::default();
        // Keys that share the bits by which a table places them.
        let keys: Vec<u64> = (0..1_000).map(|key| (key << 32) | (key % 7)).collect();
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(map.get(key), None);
            map.insert(key, at);
        }
        *map.get_mut(keys[3]).unwrap() = 77;
        assert!(map.get_mut(1 << 60).is_none());
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(map.get(key), Some(&if at == 3 { 77 } else { at }));
        }
        assert_eq!(map.len(), keys.len());
    }
}
