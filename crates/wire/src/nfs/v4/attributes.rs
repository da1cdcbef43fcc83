//! Attributes in answers, and attributes to set.
//!
//! Spec: RFC 8881 3.3.7 (`bitmap4`), RFC 8881 3.3.9 (`fattr4`), RFC 8881 5

use crate::nfs::v3::FileType;
use crate::xdr::{Emit, Malformed, Strict, padding};

/// Words of a bitmap that are read, at most: there are attributes up to 88.
const WORDS: usize = 8;
/// Words of a bitmap that is sent: no attribute above 95 is asked for.
const ASKED_WORDS: usize = 3;
/// Bytes of the attributes of one object, at most: owners have names.
const LONGEST: usize = 64 << 10;

const TYPE: u8 = 1;
const SIZE: u8 = 4;
const LEASE_TIME: u8 = 10;
const ERROR: u8 = 11;
const FILE_HANDLE: u8 = 19;
const FILE_ID: u8 = 20;
const MAX_READ: u8 = 30;
const MAX_WRITE: u8 = 31;
const MODE: u8 = 33;
const SPACE_AVAILABLE: u8 = 42;
const SPACE_TOTAL: u8 = 44;
const MOUNTED_ON_FILE_ID: u8 = 55;

/// A set of attributes (`bitmap4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask([u32; ASKED_WORDS]);

impl Mask {
    /// What Linux' client asks for of a file or directory: type, change, size, fsid, fileid, mode, numlinks, owner, owner_group,
    /// rawdev, space_used, time_access, time_metadata, time_modify, mounted_on_fileid.
    pub const USUAL: Self = Self::of(&[1, 3, 4, 8, 20, 33, 35, 36, 37, 41, 45, 47, 52, 53, 55]);
    /// The same with handle and error, as Linux' client asks for when it lists.
    pub const OF_ENTRIES: Self = Self::of(&[1, 3, 4, 8, 11, 19, 20, 33, 35, 36, 37, 41, 45, 47, 52, 53, 55]);
    /// The least that a listing can ask for: error and mounted_on_fileid.
    pub const OF_NAMES: Self = Self::of(&[ERROR, MOUNTED_ON_FILE_ID]);
    /// Type and size.
    pub const KIND_AND_SIZE: Self = Self::of(&[TYPE, SIZE]);
    /// Attributes that a client needs of a server: type, lease_time, maxread, maxwrite.
    pub const OF_SERVER: Self = Self::of(&[TYPE, LEASE_TIME, MAX_READ, MAX_WRITE]);
    /// How large the file system is, and how much is free: files, and space.
    pub const OF_FILE_SYSTEM: Self = Self::of(&[21, 22, 23, SPACE_AVAILABLE, 43, SPACE_TOTAL]);

    /// The set of these attributes.
    #[must_use]
    pub const fn of(attributes: &[u8]) -> Self {
        let mut words = [0; ASKED_WORDS];
        let mut at = 0;
        while at < attributes.len() {
            words[(attributes[at] / 32) as usize] |= 1 << (attributes[at] % 32);
            at += 1;
        }
        Self(words)
    }

    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let words = self.0.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        out.put_u32(words as u32);
        self.0.iter().take(words).for_each(|&word| out.put_u32(word));
    }

    /// Any set; words that are not asked for are not kept.
    #[inline]
    pub(super) fn parse(reader: &mut Strict<'_>) -> Result<[u32; WORDS], Malformed> {
        let mut words = [0; WORDS];
        let count = reader.u32()? as usize;
        words.get_mut(..count).ok_or(Malformed)?.iter_mut().try_for_each(|word| {
            *word = reader.u32()?;
            Ok(())
        })?;
        Ok(words)
    }
}

/// The fields of `fattr4` that a client needs. Fields that were not requested, or are missing, are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The file's type.
    pub kind: Option<FileType>,
    /// Its size, bytes.
    pub size: Option<u64>,
    /// Its number in the file system.
    pub file_id: Option<u64>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Why an entry of a directory has no attributes.
    pub error: Option<u32>,
    /// How long state lives without a sign of its client, seconds.
    pub lease_seconds: Option<u32>,
    /// Longest READ, bytes.
    pub max_read: Option<u64>,
    /// Longest WRITE, bytes.
    pub max_write: Option<u64>,
    /// Bytes of the file system that the caller may use.
    pub space_available: Option<u64>,
    /// Bytes of the file system.
    pub space_total: Option<u64>,
}

impl Attributes {
    #[inline]
    pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        let words = Mask::parse(reader)?;
        let mut values = Strict::new(reader.opaque(LONGEST)?);
        let mut attributes = Self::default();
        for (at, mut word) in words.into_iter().enumerate() {
            while word != 0 {
                let number = at as u32 * 32 + word.trailing_zeros();
                word &= word - 1;
                attributes.value(u8::try_from(number).map_err(|_| Malformed)?, &mut values)?;
            }
        }
        values.end()?;
        Ok(attributes)
    }

    /// Reads one value. Attributes that are never requested are unknown here, and servers may not send them.
    #[inline]
    fn value(&mut self, number: u8, reader: &mut Strict<'_>) -> Result<(), Malformed> {
        match number {
            TYPE => self.kind = Some(FileType::parse(reader)?),
            SIZE => self.size = Some(reader.u64()?),
            LEASE_TIME => self.lease_seconds = Some(reader.u32()?),
            ERROR => self.error = Some(reader.u32()?),
            FILE_ID => self.file_id = Some(reader.u64()?),
            MAX_READ => self.max_read = Some(reader.u64()?),
            MAX_WRITE => self.max_write = Some(reader.u64()?),
            MODE => self.mode = Some(reader.u32()?),
            SPACE_AVAILABLE => self.space_available = Some(reader.u64()?),
            SPACE_TOTAL => self.space_total = Some(reader.u64()?),
            // change; files_avail, files_free, files_total; space_free, space_used; mounted_on_fileid; rawdev, which is two words.
            3 | 21..=23 | 41 | 43 | 45 | MOUNTED_ON_FILE_ID => reader.fixed(8).map(|_| ())?,
            // numlinks
            35 => reader.fixed(4).map(|_| ())?,
            // fsid
            8 => reader.fixed(16).map(|_| ())?,
            // time_access, time_metadata, time_modify
            47 | 52 | 53 => reader.fixed(12).map(|_| ())?,
            FILE_HANDLE => super::FileHandle::parse(reader).map(|_| ())?,
            // owner, owner_group
            36 | 37 => reader.opaque(LONGEST).map(|_| ())?,
            _ => return Err(Malformed),
        }
        Ok(())
    }
}

/// Attributes to set; attributes with `None` stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Size, bytes.
    pub size: Option<u64>,
    /// Permission bits.
    pub mode: Option<u32>,
}

impl SetAttributes {
    /// Only the permission bits.
    #[must_use]
    pub fn mode(mode: u32) -> Self {
        Self { mode: Some(mode), ..Self::default() }
    }

    /// Only the size.
    #[must_use]
    pub fn size(size: u64) -> Self {
        Self { size: Some(size), ..Self::default() }
    }

    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mask = match (self.size, self.mode) {
            (Some(_), Some(_)) => Mask::of(&[SIZE, MODE]),
            (Some(_), None) => Mask::of(&[SIZE]),
            (None, Some(_)) => Mask::of(&[MODE]),
            (None, None) => Mask::of(&[]),
        };
        mask.emit(out);
        let length = 8 * usize::from(self.size.is_some()) + 4 * usize::from(self.mode.is_some());
        debug_assert_eq!(padding(length), 0);
        out.put_u32(length as u32);
        if let Some(size) = self.size {
            out.put_u64(size);
        }
        if let Some(mode) = self.mode {
            out.put_u32(mode);
        }
    }
}
