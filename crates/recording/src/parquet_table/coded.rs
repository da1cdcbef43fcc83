//! A column in which many rows share a value: stores each value once, and its code for each row.

use std::collections::HashMap;

use super::alike::Alike;
use crate::columns::Key;
use crate::error::Cause;

/// Recently used values, found without a search: initial and maximum number. Powers of two.
const RECENT: usize = 256;
const MOST_RECENT: usize = 16 << 10;

/// The code of a row without a value.
pub(super) const NONE: u32 = u32::MAX;

/// The values of a column since the last row group.
pub(super) struct Coded {
    /// Width of numbers; texts have separate lengths.
    number_bytes: Option<usize>,
    /// The values as Parquet's plain encoding has them, in the order in which they came.
    pub(super) plain: Vec<u8>,
    pub(super) distinct: u32,
    /// Which value each row has, or [`NONE`].
    pub(super) codes: Alike<u32>,
    /// Rows without a value.
    pub(super) nulls: usize,
    pub(super) range: Range,
    by_key: HashMap<Key, u32>,
    by_text: HashMap<Box<str>, u32>,
    recent: Vec<(Option<Key>, u32)>,
    /// Codes of the rows being added.
    codes_put: Vec<u32>,
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
            codes: Alike::new(),
            nulls: 0,
            range: Range::None,
            by_key: HashMap::new(),
            by_text: HashMap::new(),
            recent: vec![(None, 0); RECENT],
            codes_put: Vec::new(),
        }
    }

    /// More rows with this number, or with none.
    #[inline]
    pub(super) fn put_same_number(&mut self, number: Option<u64>, rows: usize) -> Result<(), Cause> {
        match number {
            Some(number) => {
                let code = self.code_of_number(number)?;
                self.codes.put_same(code, rows);
            }
            None => self.put_nothing(rows),
        }
        Ok(())
    }

    /// More rows with these numbers, those that are known.
    #[inline]
    pub(super) fn put_numbers(&mut self, numbers: impl Iterator<Item = Option<u64>>) -> Result<(), Cause> {
        self.put_each(numbers, |coded, _, number| coded.code_of_number(number))
    }

    #[inline]
    fn put_each<T>(
        &mut self,
        values: impl Iterator<Item = Option<T>>,
        mut code: impl FnMut(&mut Self, usize, T) -> Result<u32, Cause>,
    ) -> Result<(), Cause> {
        let mut codes = std::mem::take(&mut self.codes_put);
        codes.clear();
        for (place, value) in values.enumerate() {
            self.nulls += usize::from(value.is_none());
            codes.push(value.map_or(Ok(NONE), |value| code(self, place, value))?);
        }
        self.codes.put(codes.iter().copied());
        self.codes_put = codes;
        Ok(())
    }

    /// Adds rows with the text of this key, or without a text. `text` is called only for a new key.
    #[inline]
    pub(super) fn put_same_text(
        &mut self,
        key: Option<Key>,
        rows: usize,
        text: impl FnOnce() -> Option<String>,
    ) -> Result<(), Cause> {
        match key {
            Some(key) => {
                let code = self.code_of_key(key, text)?;
                self.codes.put_same(code, rows);
            }
            None => self.put_nothing(rows),
        }
        Ok(())
    }

    /// The same of a key each; `text` is given its place.
    #[inline]
    pub(super) fn put_texts(
        &mut self,
        keys: &[Option<Key>],
        mut text: impl FnMut(usize) -> Option<String>,
    ) -> Result<(), Cause> {
        self.put_each(keys.iter().copied(), |coded, place, key| coded.code_of_key(key, || text(place)))
    }

    #[inline]
    fn code_of_key(&mut self, key: Key, text: impl FnOnce() -> Option<String>) -> Result<u32, Cause> {
        self.code(key, |coded| coded.code_of(&text().ok_or("a row has no text in a column that requires one")?))
    }

    /// More rows with this text.
    pub(super) fn put_any_text(&mut self, text: &str, rows: usize) -> Result<(), Cause> {
        let code = self.code_of(text)?;
        self.codes.put_same(code, rows);
        Ok(())
    }

    /// More rows without a value.
    pub(super) fn put_nothing(&mut self, rows: usize) {
        self.nulls += rows;
        self.codes.put_same(NONE, rows);
    }

    #[inline]
    fn code_of_number(&mut self, number: u64) -> Result<u32, Cause> {
        self.code(Key::of(number), |coded| {
            coded.range = match coded.range {
                Range::Numbers(least, greatest) => Range::Numbers(least.min(number), greatest.max(number)),
                _ => Range::Numbers(number, number),
            };
            let bytes = number.to_le_bytes();
            coded.plain.extend(bytes.iter().take(coded.number_bytes.unwrap_or(0)));
            coded.next()
        })
    }

    #[inline]
    fn code(&mut self, key: Key, new: impl FnOnce(&mut Self) -> Result<u32, Cause>) -> Result<u32, Cause> {
        match self.recent.get(key.slot() & (self.recent.len() - 1)) {
            Some(&(recent, code)) if recent == Some(key) => Ok(code),
            _ => self.search(key, new),
        }
    }

    fn search(&mut self, key: Key, new: impl FnOnce(&mut Self) -> Result<u32, Cause>) -> Result<u32, Cause> {
        let code = match self.by_key.get(&key) {
            Some(&code) => code,
            None => {
                let code = new(self)?;
                self.by_key.insert(key, code);
                code
            }
        };
        // Where values are many, more are remembered.
        if self.by_key.len() > self.recent.len() / 2 && self.recent.len() < MOST_RECENT {
            self.recent = vec![(None, 0); self.recent.len() * 4];
        }
        let slot = key.slot() & (self.recent.len() - 1);
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = (Some(key), code);
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
        self.distinct = code.checked_add(1).ok_or("a column has more distinct values than its row group has rows")?;
        Ok(code)
    }

    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.codes.clear();
        self.by_key.clear();
        self.by_text.clear();
        self.recent.fill((None, 0));
        (self.distinct, self.nulls, self.range) = (0, 0, Range::None);
    }
}
