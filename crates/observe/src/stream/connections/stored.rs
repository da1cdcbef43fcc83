//! A connection in the table: as it works, or packed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, decompress};
use zstd::zstd_safe::get_frame_content_size;

/// The fastest of the usual levels.
const LEVEL: i32 = 1;

/// What packing needs.
pub(super) struct Packer {
    compressor: Compressor<'static>,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl Packer {
    /// None if the system has no memory for it.
    pub(super) fn new() -> Option<Self> {
        Some(Self { compressor: Compressor::new(LEVEL).ok()?, plain: Vec::new(), compressed: Vec::new() })
    }

    fn pack<C: Serialize>(&mut self, connection: &C) -> Option<Box<[u8]>> {
        self.plain.clear();
        self.plain = postcard::to_extend(connection, std::mem::take(&mut self.plain)).ok()?;
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(self.plain.len()));
        self.compressor.compress_to_buffer(&self.plain, &mut self.compressed).ok()?;
        Some(self.compressed.as_slice().into())
    }
}

/// A connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Stored<C> {
    /// On its own, so that a table that grows moves little.
    Open(Box<C>),
    /// As it is handed over to the analysis of the next file (without free room, and small numbers in few bytes), and compressed.
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

    /// Packs it, if `may_pack` allows it: that may first drop parts that are not worth their memory.
    pub(super) fn pack(&mut self, packer: &mut Packer, may_pack: impl FnOnce(&mut C) -> bool) {
        let Self::Open(connection) = self else { return };
        if may_pack(connection)
            && let Some(packed) = packer.pack(&**connection)
        {
            *self = Self::Packed(packed);
        }
    }

    /// The connection, unless it is packed.
    pub(super) fn unpacked(&self) -> Option<&C> {
        match self {
            Self::Open(connection) => Some(connection),
            Self::Packed(_) => None,
        }
    }

    /// The same, to change it.
    pub(super) fn unpacked_mut(&mut self) -> Option<&mut C> {
        match self {
            Self::Open(connection) => Some(connection),
            Self::Packed(_) => None,
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
    let len = get_frame_content_size(bytes).ok().flatten().and_then(|len| usize::try_from(len).ok());
    let plain = len.and_then(|len| decompress(bytes, len).ok()).expect("a packed connection can be decompressed");
    Box::new(postcard::from_bytes(&plain).expect("a packed connection can be read"))
}
