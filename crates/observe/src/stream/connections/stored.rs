//! A connection in the table: as it works, or packed.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zstd::bulk::{Compressor, decompress};
use zstd::zstd_safe::get_frame_content_size;

/// The fastest of the usual levels.
const LEVEL: i32 = 1;

/// Can be packed into bytes and unpacked. No function is generic, so its code is compiled only where the macro `packable` is used.
pub trait Packable: Sized {
    /// Appends its bytes. None if there is no memory.
    fn pack(&self, into: Vec<u8>) -> Option<Vec<u8>>;
    /// The value of these bytes. None if they are damaged.
    fn unpack(bytes: &[u8]) -> Option<Box<Self>>;
}

macro_rules! packable {
    ($($type:ty)*) => {$(
        impl $crate::stream::Packable for $type {
            fn pack(&self, into: Vec<u8>) -> Option<Vec<u8>> {
                postcard::to_extend(self, into).ok()
            }
            fn unpack(bytes: &[u8]) -> Option<Box<Self>> {
                postcard::from_bytes(bytes).ok().map(Box::new)
            }
        }
    )*};
}
pub(crate) use packable;

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

    fn pack(&mut self, connection: &impl Packable) -> Option<Box<[u8]>> {
        self.plain.clear();
        self.plain = connection.pack(std::mem::take(&mut self.plain))?;
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(self.plain.len()));
        self.compressor.compress_to_buffer(&self.plain, &mut self.compressed).ok()?;
        Some(self.compressed.as_slice().into())
    }
}

/// A connection.
#[derive(Debug)]
pub(super) enum Stored<C> {
    /// On its own, so that a table that grows moves little.
    Open(Box<C>),
    /// As it is handed over to the analysis of the next file (without free room, and small numbers in few bytes), and compressed.
    Packed(Box<[u8]>),
}

impl<C: Packable> Stored<C> {
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

/// Whether the bytes are compressed, and the bytes.
impl<C: Packable> Serialize for Stored<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Open(connection) => {
                let bytes = connection.pack(Vec::new()).ok_or_else(|| S::Error::custom("no memory"))?;
                (false, bytes).serialize(serializer)
            }
            Self::Packed(bytes) => (true, bytes).serialize(serializer),
        }
    }
}

impl<'de, C: Packable> Deserialize<'de> for Stored<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (is_compressed, bytes) = <(bool, Vec<u8>)>::deserialize(deserializer)?;
        if is_compressed {
            return Ok(Self::Packed(bytes.into()));
        }
        C::unpack(&bytes).map(Self::Open).ok_or_else(|| D::Error::custom("a damaged connection"))
    }
}

#[cold]
#[inline(never)]
fn unpacked<C: Packable>(bytes: &[u8]) -> Box<C> {
    // Only what `pack` wrote is read here, by the same program.
    let len = get_frame_content_size(bytes).ok().flatten().and_then(|len| usize::try_from(len).ok());
    let plain = len.and_then(|len| decompress(bytes, len).ok()).expect("a packed connection can be decompressed");
    C::unpack(&plain).expect("a packed connection can be read")
}
