//! Strings that recur (shares, paths, users), kept once and passed around as numbers, and names of hosts.

mod state;

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use crate::HostNames;

/// A name held in [`Names`]; `Symbol::NONE` where nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Symbol(u32);

impl Symbol {
    /// Not known. (0, so that a default is honest.)
    pub const NONE: Symbol = Symbol(0);

    /// Whether a name is known.
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The symbol at an index of all names.
    fn at(place: usize) -> Self {
        Self(u32::try_from(place + 1).unwrap_or(0))
    }

    /// A dense index, 0 for [`Symbol::NONE`]; below [`Names::len`] + 1.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Other people choose the names, so the hash has a random seed.
type Seeded = foldhash::quality::RandomState;

/// All names so far. Bounded in bytes: further names are refused and counted, never silently merged.
#[derive(Debug)]
pub struct Names {
    texts: IndexSet<Box<str>, Seeded>,
    /// Shares by their names in lower case.
    shares: IndexMap<String, Symbol, Seeded>,
    bytes: usize,
    limit: usize,
    refused: u64,
    /// Names of hosts, by address.
    pub hosts: HostNames,
}

impl Names {
    /// Room for 16 MiB of text and its index: some 200,000 paths. A capture that names more keeps its first ones.
    pub const DEFAULT_LIMIT: usize = 16 << 20;

    /// An empty set that will hold at most about `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            texts: IndexSet::default(),
            shares: IndexMap::default(),
            bytes: 0,
            limit,
            refused: 0,
            hosts: HostNames::default(),
        }
    }

    /// The symbol of `text`, kept from now on; `Symbol::NONE` (and counted in [`Names::refused`]) when full.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(known) = self.texts.get_index_of(text) {
            return Symbol::at(known);
        }
        // An entry costs its text, where that is, its hash and a slot.
        let cost = text.len() + 64;
        if self.bytes + cost > self.limit {
            self.refused += 1;
            return Symbol::NONE;
        }
        self.bytes += cost;
        Symbol::at(self.texts.insert_full(text.into()).0)
    }

    /// The symbol of a share of an SMB server, which ignores case: that of the first spelling.
    pub fn intern_share(&mut self, text: &str) -> Symbol {
        let text = if text.is_empty() { "\\" } else { text };
        let folded = text.to_lowercase();
        if let Some(&known) = self.shares.get(&folded) {
            return known;
        }
        let symbol = self.intern(text);
        let cost = folded.len() + 64;
        if symbol.is_some() && self.bytes + cost <= self.limit {
            self.bytes += cost;
            self.shares.insert(folded, symbol);
        }
        symbol
    }

    /// The text of a symbol of this set; `None` for [`Symbol::NONE`].
    pub fn text(&self, symbol: Symbol) -> Option<&str> {
        self.texts.get_index(symbol.index().checked_sub(1)?).map(AsRef::as_ref)
    }

    /// The names after the first `known`, in the order of their symbols: a set that interns them in this order has the same symbols.
    pub fn behind(&self, known: usize) -> impl Iterator<Item = &str> {
        self.texts.iter().skip(known).map(AsRef::as_ref)
    }

    /// How many names are held.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether no name is held.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// How often a name was not kept for want of room.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_symbol() {
        let mut names = Names::default();
        let (a, b) = (names.intern("share"), names.intern("path"));
        assert_eq!(names.intern("share"), a);
        assert_ne!(a, b);
        assert_eq!(names.text(b), Some("path"));
        assert_eq!(names.text(Symbol::NONE), None);
    }

    #[test]
    fn a_set_that_follows_another_has_the_same_symbols() {
        let (mut names, mut others) = (Names::default(), Names::default());
        for text in ["a", "b", "a", "c", "\\\\server\\Data", "b", "d"] {
            let symbol = if text.starts_with('\\') { names.intern_share(text) } else { names.intern(text) };
            let known = others.len();
            names.behind(known).for_each(|text| {
                others.intern(text);
            });
            assert_eq!((others.len(), others.text(symbol)), (names.len(), Some(text)));
        }
    }

    #[test]
    fn a_share_has_one_symbol_however_it_is_spelled() {
        let mut names = Names::default();
        let share = names.intern_share("\\\\server\\Data");
        assert_eq!(names.intern_share("\\\\SERVER\\DATA"), share);
        assert_eq!(names.text(share), Some("\\\\server\\Data"), "the first spelling is shown");
        assert_ne!(names.intern_share("\\\\server\\data2"), share);
        assert_eq!(names.intern_share(""), names.intern("\\"));
    }

    #[test]
    fn a_full_set_refuses_and_counts() {
        let mut names = Names::with_limit(100);
        assert!(names.intern("one").is_some());
        assert_eq!(names.intern("two"), Symbol::NONE);
        assert!(names.intern("one").is_some(), "what is held stays");
        assert_eq!(names.refused(), 1);
    }
}
