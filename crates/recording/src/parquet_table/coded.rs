//! A column of which many rows have the same value: each value once, and for each row which one it has.

use std::collections::HashMap;

use crate::columns::Key;
use crate::error::Cause;

/// Values found again without a search: those used last, of so many at first and at the most. Powers of two.
const RECENT: usize = 256;
const MOST_RECENT: usize = 16 << 10;

/// The code of a row without a value.
pub(super) const NONE: u32 = u32::MAX;

/// The values of a column since the last row group.
pub(super) struct Coded {
    /// Of numbers; texts have a length of their own.
    number_bytes: Option<usize>,
    /// The values as Parquet's plain encoding has them, in the order in which they came.
    pub(super) plain: Vec<u8>,
    pub(super) distinct: u32,
    /// Which value each row has, or [`NONE`].
    pub(super) codes: Vec<u32>,
    /// Rows without a value.
    pub(super) nulls: usize,
    pub(super) range: Range,
    by_key: HashMap<Key, u32>,
    by_text: HashMap<Box<str>, u32>,
    recent: Vec<(Option<Key>, u32)>,
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
            nulls: 0,
            range: Range::None,
            by_key: HashMap::new(),
            by_text: HashMap::new(),
            recent: vec![(None, 0); RECENT],
        }
    }

    /// Whether all rows have the same value, or none.
    pub(super) fn is_uniform(&self) -> bool {
        self.nulls == self.codes.len() || self.nulls == 0 && self.distinct == 1
    }

    /// More rows with these numbers, those that are known. Where all are alike, as they often are, one is looked up.
    #[inline]
    pub(super) fn put_numbers(&mut self, numbers: &[u64], known: &[bool]) -> Result<(), Cause> {
        let (Some(&number), Some(&is_known)) = (numbers.first(), known.first()) else { return Ok(()) };
        let others = numbers.iter().fold(0, |others, other| others | (other ^ number));
        let is_uniform = others == 0 && known.iter().fold(true, |alike, &other| alike & (other == is_known));
        match (is_uniform, is_known) {
            (true, false) => self.put_nothing(numbers.len()),
            (true, true) => {
                let code = self.code_of_number(number)?;
                self.codes.resize(self.codes.len() + numbers.len(), code);
            }
            (false, _) => {
                for (&number, &is_known) in numbers.iter().zip(known) {
                    let code = if is_known { self.code_of_number(number)? } else { NONE };
                    self.nulls += usize::from(!is_known);
                    self.codes.push(code);
                }
            }
        }
        Ok(())
    }

    /// More rows with the texts that `keys` stand for. `text` makes one, given its place in `keys`; it is asked only for new ones.
    #[inline]
    pub(super) fn put_texts(
        &mut self,
        keys: &[Option<Key>],
        mut text: impl FnMut(usize) -> Option<String>,
    ) -> Result<(), Cause> {
        let mut code_of = |coded: &mut Self, place, key| {
            coded.code(key, |coded| coded.code_of(&text(place).ok_or("a text that a row must have is not there")?))
        };
        match keys.first() {
            Some(&key) if keys.iter().all(|&other| other == key) => match key {
                Some(key) => {
                    let code = code_of(self, 0, key)?;
                    self.codes.resize(self.codes.len() + keys.len(), code);
                }
                None => self.put_nothing(keys.len()),
            },
            _ => {
                for (place, &key) in keys.iter().enumerate() {
                    let code = key.map_or(Ok(NONE), |key| code_of(self, place, key))?;
                    self.nulls += usize::from(key.is_none());
                    self.codes.push(code);
                }
            }
        }
        Ok(())
    }

    /// One more row with this text.
    pub(super) fn put_any_text(&mut self, text: &str) -> Result<(), Cause> {
        let code = self.code_of(text)?;
        self.codes.push(code);
        Ok(())
    }

    /// More rows without a value.
    pub(super) fn put_nothing(&mut self, rows: usize) {
        self.nulls += rows;
        self.codes.resize(self.codes.len() + rows, NONE);
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
        self.distinct = code.checked_add(1).ok_or("more distinct values than a row group has rows")?;
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
