//! A connection in the table: as it works, or packed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Stored<C> {
    /// On its own, so that a table that grows moves little.
    Open(Box<C>),
    /// As it is handed over to the analysis of the next file: without free room, and small numbers in few bytes.
    Packed(Box<[u8]>),
}

impl<C: Serialize + DeserializeOwned> Stored<C> {
    pub(super) fn new(connection: C) -> Self {
        Self::Open(Box::new(connection))
    }

    /// The connection, which is not packed from now on.
    #[inline]
    pub(super) fn open(&mut self) -> &mut C {
        if let Self::Packed(bytes) = self {
            *self = Self::Open(unpacked(bytes));
        }
        match self {
            Self::Open(connection) => connection,
            Self::Packed(_) => unreachable!("it has just been unpacked"),
        }
    }

    pub(super) fn into_open(self) -> C {
        match self {
            Self::Open(connection) => *connection,
            Self::Packed(bytes) => *unpacked(&bytes),
        }
    }

    /// Packs it; `room` is used for that.
    pub(super) fn pack(&mut self, room: &mut Vec<u8>) {
        let Self::Open(connection) = self else { return };
        room.clear();
        if let Ok(packed) = postcard::to_extend(&**connection, std::mem::take(room)) {
            *self = Self::Packed(packed.as_slice().into());
            *room = packed;
        }
    }

    /// The bytes of a packed one.
    pub(super) fn packed_len(&self) -> Option<usize> {
        match self {
            Self::Open(_) => None,
            Self::Packed(bytes) => Some(bytes.len()),
        }
    }
}

#[cold]
#[inline(never)]
fn unpacked<C: DeserializeOwned>(bytes: &[u8]) -> Box<C> {
    // Only what `pack` wrote is read here, by the same program.
    Box::new(postcard::from_bytes(bytes).expect("a packed connection can be read"))
}
