//! The keys of a dimension of the cube, and the small numbers that stand for them.

use std::collections::HashMap;
use std::hash::Hash;

/// The number of everything for which there was no room.
pub(super) const OTHERS: u16 = 0;

/// Keys in the order in which they came, at most `limit`.
#[derive(Clone, Debug)]
pub(super) struct Keys<K> {
    limit: usize,
    numbers: HashMap<K, u16>,
    keys: Vec<K>,
    // The key asked for last: transactions of one key come in runs.
    last: Option<(K, u16)>,
}

impl<K: Copy + Eq + Hash> Keys<K> {
    pub(super) fn new(limit: u16) -> Self {
        Self { limit: limit.into(), numbers: HashMap::new(), keys: Vec::new(), last: None }
    }

    /// The number of a key, from 1; [`OTHERS`] if there is no room for it.
    #[inline]
    pub(super) fn number(&mut self, key: K) -> u16 {
        match self.last {
            Some((last, number)) if last == key => number,
            _ => self.look_up(key),
        }
    }

    fn look_up(&mut self, key: K) -> u16 {
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None if self.keys.len() >= self.limit => return OTHERS,
            None => {
                self.keys.push(key);
                let number = self.keys.len() as u16; // at most the limit
                self.numbers.insert(key, number);
                number
            }
        };
        self.last = Some((key, number));
        number
    }

    /// The key of number 1 first.
    pub(super) fn iter(&self) -> impl Iterator<Item = K> {
        self.keys.iter().copied()
    }
}
