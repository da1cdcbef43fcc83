//! Dimensions of a breakdown of transactions.

use plimsoll_model::Transaction;
use serde::{Deserialize, Serialize};

use super::Key;
use crate::state::{Reader, State, StateError, Writer, choice};

/// Most dimensions of one breakdown.
pub const MAX_DIMENSIONS: usize = 3;

/// A dimension of a breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dimension {
    /// Client address.
    Client,
    /// Server address and port.
    Server,
    /// Share or export.
    Share,
    /// Account or numeric uid.
    User,
    /// Path, within its share.
    Path,
    /// Connection.
    Connection,
    /// Operation.
    Operation,
    /// Status, or how the request ended where it has none.
    Status,
    /// Protocol.
    Protocol,
    /// Second in which the request began.
    Second,
    /// Minute in which the request began.
    Minute,
    /// Hour in which the request began.
    Hour,
}

plimsoll_model::words! {
    Dimension,
    "Every dimension; recordings hold their places, so new ones go to the end.",
    "The word used in flags and files.":
    Client "client", Server "server", Share "share", User "user", Path "path", Connection "connection",
    Operation "operation", Status "status", Protocol "protocol", Second "second", Minute "minute", Hour "hour"
}

/// One to [`MAX_DIMENSIONS`] different dimensions, in the order in which keys name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimensions {
    all: [Dimension; MAX_DIMENSIONS],
    count: usize,
}

impl Dimensions {
    /// `None` if there are no dimensions, too many, or duplicates.
    pub fn new(wanted: &[Dimension]) -> Option<Self> {
        let mut dimensions = Self { all: [*wanted.first()?; MAX_DIMENSIONS], count: wanted.len() };
        dimensions.all.get_mut(..wanted.len())?.copy_from_slice(wanted);
        let twice = |place: usize| wanted.iter().take(place).any(|earlier| *earlier == wanted[place]);
        (!(0..wanted.len()).any(twice)).then_some(dimensions)
    }

    /// The dimensions.
    pub fn as_slice(&self) -> &[Dimension] {
        self.all.get(..self.count).unwrap_or_default()
    }

    /// The key of a transaction.
    #[inline]
    pub(super) fn key(&self, t: &Transaction) -> CompositeKey {
        let mut parts = [None; MAX_DIMENSIONS];
        for (part, dimension) in parts.iter_mut().zip(self.as_slice()) {
            *part = Key::of(*dimension, t);
        }
        CompositeKey { parts, count: self.count }
    }
}

impl From<Dimension> for Dimensions {
    fn from(one: Dimension) -> Self {
        Self { all: [one; MAX_DIMENSIONS], count: 1 }
    }
}

/// A key for each dimension of a breakdown; `None` where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CompositeKey {
    parts: [Option<Key>; MAX_DIMENSIONS],
    count: usize,
}

impl CompositeKey {
    /// The keys, one for each dimension.
    pub fn parts(&self) -> &[Option<Key>] {
        self.parts.get(..self.count).unwrap_or_default()
    }

    /// Replaces the keys.
    pub(super) fn map(self, key: impl Fn(Key) -> Key) -> Self {
        Self { parts: self.parts.map(|part| part.map(&key)), ..self }
    }
}

choice!("dimension", Dimension, Dimension::ALL);

impl State for Dimensions {
    fn put(&self, out: &mut Writer) {
        self.as_slice().to_vec().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Dimensions::new(&Vec::<Dimension>::take(from)?).ok_or_else(|| from.no("dimensions"))
    }
}

impl State for CompositeKey {
    fn put(&self, out: &mut Writer) {
        self.parts().to_vec().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let taken = Vec::<Option<Key>>::take(from)?;
        let mut parts = [None; MAX_DIMENSIONS];
        let Some(places) = parts.get_mut(..taken.len()) else { return Err(from.no("key")) };
        places.copy_from_slice(&taken);
        Ok(Self { parts, count: taken.len() })
    }
}
