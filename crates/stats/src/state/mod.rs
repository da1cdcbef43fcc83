//! Statistics and intervals as bytes, and back: the exact basis of all reports and comparisons.
//!
//! The bytes are LEB128 numbers, in the order of the fields, after the names that they refer to. They are made for a recording, which
//! frames, compresses and versions them ([`STATE_VERSION`]). The reader accepts any input: it checks lengths against the remaining bytes
//! and numbers against their limits, and reports an invalid state with its position.

mod coverage;
mod number;
mod words;

pub(crate) use words::choice;

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use plimsoll_model::{Names, Symbol};

/// Counts up when the bytes change their meaning.
pub const STATE_VERSION: u32 = 35;

/// No counter that counts something real gets there; below it, sums of counters cannot overflow.
pub(crate) const MOST: u64 = 1 << 56;

/// Bytes that are no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateError {
    /// The field being read.
    pub what: &'static str,
    /// How many bytes were left.
    pub left: usize,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, {} bytes before the end of the input", self.what, self.left)
    }
}

impl std::error::Error for StateError {}

/// Something that can be written and read back.
pub(crate) trait State: Sized {
    fn put(&self, out: &mut Writer);
    fn take(from: &mut Reader<'_>) -> Result<Self, StateError>;
}

/// What mentions no names, as bytes.
pub(crate) fn to_bytes<T: State>(of: &T) -> Vec<u8> {
    let mut out = Writer::default();
    of.put(&mut out);
    out.bytes
}

/// The bytes written so far.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    used: BTreeSet<Symbol>,
}

impl Writer {
    /// The written bytes, after the names that they refer to.
    pub(crate) fn with_names(mut self, names: &Names) -> Vec<u8> {
        let mut out = Writer::default();
        // In the order of their numbers, which orders keys with equal counts.
        let named: Vec<(u64, &str)> =
            self.used.iter().filter_map(|&symbol| Some((symbol.index() as u64, names.text(symbol)?))).collect();
        (named.len() as u64).put(&mut out);
        for (number, text) in named {
            number.put(&mut out);
            (text.len() as u64).put(&mut out);
            out.bytes.extend_from_slice(text.as_bytes());
        }
        out.bytes.append(&mut self.bytes);
        out.bytes
    }
}

/// The bytes still to read.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    symbols: HashMap<u32, Symbol>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, symbols: HashMap::new() }
    }

    /// Reads the names in front of the rest, into `names`.
    pub(crate) fn with_names(bytes: &'a [u8], names: &mut Names) -> Result<Self, StateError> {
        let mut from = Self::new(bytes);
        for _ in 0..from.length()? {
            let number = u32::take(&mut from)?;
            let length = from.length()?;
            let text = std::str::from_utf8(from.bytes(length)?).map_err(|_| from.no("name"))?;
            let symbol = names.intern(text);
            if !symbol.is_some() {
                return Err(from.no("room for a name"));
            }
            from.symbols.insert(number, symbol);
        }
        Ok(from)
    }

    /// Reads the last thing: nothing comes after it.
    pub(crate) fn last<T: State>(mut self) -> Result<T, StateError> {
        let taken = T::take(&mut self)?;
        if self.bytes.is_empty() { Ok(taken) } else { Err(self.no("end")) }
    }

    /// The error that `what` is not here.
    pub(crate) fn no(&self, what: &'static str) -> StateError {
        StateError { what, left: self.bytes.len() }
    }

    /// A number of things that follow, each of at least a byte: so memory is bounded by the bytes that there are.
    pub(crate) fn length(&mut self) -> Result<usize, StateError> {
        let length = usize::take(self)?;
        if length > self.bytes.len() { Err(self.no("list that fits into the rest of the input")) } else { Ok(length) }
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], StateError> {
        let (taken, rest) =
            self.bytes.split_at_checked(length).ok_or_else(|| self.no("text that fits into the rest of the input"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, StateError> {
        let (&first, rest) = self.bytes.split_first().ok_or_else(|| self.no("byte"))?;
        self.bytes = rest;
        Ok(first)
    }
}

/// A counter: a number small enough for sums without overflow.
pub(crate) struct Counter;

impl Counter {
    /// Whether all of them are small enough.
    pub(crate) fn all(counters: &[u64]) -> bool {
        counters.iter().all(|&count| count < MOST)
    }

    /// Whether it can be a sum of times, ns.
    pub(crate) fn sum(sum: u128) -> bool {
        sum < 1 << 120
    }
}

/// Consecutive fields, optionally followed by a consistency check. (With `;` after the text rustfmt leaves the lists as they are.)
macro_rules! fields {
    ($what:literal; $of:ident { $($field:tt),+ $(,)? } $(if $check:expr)?) => {
        impl crate::state::State for $of {
            fn put(&self, out: &mut crate::state::Writer) {
                $(crate::state::State::put(&self.$field, out);)+
            }

            fn take(from: &mut crate::state::Reader<'_>) -> Result<Self, crate::state::StateError> {
                let taken = $of { $($field: crate::state::State::take(from)?,)+ };
                $(
                    let check: fn(&Self) -> bool = $check;
                    if !check(&taken) {
                        return Err(from.no($what));
                    }
                )?
                Ok(taken)
            }
        }
    };
}
pub(crate) use fields;

/// What mentions no names, for `serde`: as the bytes of its state.
macro_rules! as_bytes {
    ($of:ident) => {
        impl serde::Serialize for $of {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&crate::state::to_bytes(self), to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $of {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let bytes: Vec<u8> = serde::Deserialize::deserialize(from)?;
                crate::state::Reader::new(&bytes).last().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use as_bytes;
