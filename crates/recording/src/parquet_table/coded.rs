//! A column of which many rows have the same value: each value once, and for each row which one it has.

use std::collections::HashMap;

use crate::columns::Key;
use crate::error::Cause;

/// Values found again without a search: those used last, of so many.
const RECENT: usize = 256;

/// The values of a column since the last row group.
pub(super) struct Coded {
    /// Of numbers; texts have a length of their own.
    number_bytes: Option<usize>,
    /// The values as Parquet's plain encoding has them, in the order in which they came.
    pub(super) plain: Vec<u8>,
    pub(super) distinct: u32,
    /// Which value each row has that has one.
    pub(super) codes: Vec<u32>,
    pub(super) range: Range,
    by_key: HashMap<Key, u32>,
    by_text: HashMap<Box<str>, u32>,
    recent: Vec<Option<(Key, u32)>>,
}

/// The least and the greatest value, where there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Range {
    #[default]
    None,
    Numbers(u64, u64),
    Texts(Box<str>, Box<str>),
}

impl Coded {
    pub(super) fn texts() -> Self {
        Self::of(None)
    }

    pub(super) fn numbers(bytes: usize) -> Self {
        Self::of(Some(bytes))
    }

    fn of(number_bytes: Option<usize>) -> Self {
        Self {
            number_bytes,
            plain: Vec::new(),
            distinct: 0,
            codes: Vec::new(),
            range: Range::None,
            by_key: HashMap::new(),
            by_text: HashMap::new(),
            recent: vec![None; RECENT],
        }
    }

    /// One more row with this number.
    #[inline]
    pub(super) fn put_number(&mut self, number: u64) -> Result<(), Cause> {
        self.put(Key(number.into(), 0), |coded| {
            coded.range = match coded.range {
                Range::Numbers(least, greatest) => Range::Numbers(least.min(number), greatest.max(number)),
                _ => Range::Numbers(number, number),
            };
            let bytes = number.to_le_bytes();
            coded.plain.extend(bytes.iter().take(coded.number_bytes.unwrap_or(0)));
            coded.next()
        })
    }

    /// One more row with the text that `key` stands for: it is made only where it is new.
    #[inline]
    pub(super) fn put_text<'t>(&mut self, key: Key, text: impl FnOnce() -> &'t str) -> Result<(), Cause> {
        self.put(key, |coded| coded.code_of(text()))
    }

    /// One more row with this text.
    pub(super) fn put_any_text(&mut self, text: &str) -> Result<(), Cause> {
        let code = self.code_of(text)?;
        self.codes.push(code);
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: Key, new: impl FnOnce(&mut Self) -> Result<u32, Cause>) -> Result<(), Cause> {
        let slot = key.slot() % RECENT;
        let code = match self.recent.get(slot) {
            Some(&Some((recent, code))) if recent == key => code,
            _ => self.search(key, slot, new)?,
        };
        self.codes.push(code);
        Ok(())
    }

    fn search(
        &mut self,
        key: Key,
        slot: usize,
        new: impl FnOnce(&mut Self) -> Result<u32, Cause>,
    ) -> Result<u32, Cause> {
        let code = match self.by_key.get(&key) {
            Some(&code) => code,
            None => {
                let code = new(self)?;
                self.by_key.insert(key, code);
                code
            }
        };
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = Some((key, code));
        }
        Ok(code)
    }

    /// The code of a text, which may have come under another key.
    fn code_of(&mut self, text: &str) -> Result<u32, Cause> {
        if let Some(&code) = self.by_text.get(text) {
            return Ok(code);
        }
        let (least, greatest) = match std::mem::take(&mut self.range) {
            Range::Texts(least, greatest) => (least, greatest),
            _ => (text.into(), text.into()),
        };
        self.range = Range::Texts(
            if text < &*least { text.into() } else { least },
            if text > &*greatest { text.into() } else { greatest },
        );
        self.plain.extend(u32::try_from(text.len())?.to_le_bytes());
        self.plain.extend(text.as_bytes());
        let code = self.next()?;
        self.by_text.insert(text.into(), code);
        Ok(code)
    }

    fn next(&mut self) -> Result<u32, Cause> {
        let code = self.distinct;
        self.distinct = code.checked_add(1).ok_or("more distinct values than a row group has rows")?;
        Ok(code)
    }

    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.codes.clear();
        self.by_key.clear();
        self.by_text.clear();
        self.recent.fill(None);
        (self.distinct, self.range) = (0, Range::None);
    }
}
