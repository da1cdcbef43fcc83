//! Attributes in answers, and attributes to set.
//!
//! Spec: RFC 1813 2.6 (`fattr3`, `post_op_attr`, `wcc_data`, `sattr3`)

use crate::xdr::{Emit, Malformed, Strict};

/// Length of `post_op_attr` including attributes, bytes.
pub const POST_OP_ATTR: usize = 4 + 84;

/// `ftype3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// NF3REG: a file.
    Regular = 1,
    /// NF3DIR: a directory.
    Directory = 2,
    /// NF3BLK: a block device.
    Block = 3,
    /// NF3CHR: a character device.
    Character = 4,
    /// NF3LNK: a symbolic link.
    Link = 5,
    /// NF3SOCK: a socket.
    Socket = 6,
    /// NF3FIFO: a named pipe.
    Fifo = 7,
}

impl FileType {
    #[inline]
    pub(in crate::nfs) fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        Ok(match reader.u32()? {
            1 => Self::Regular,
            2 => Self::Directory,
            3 => Self::Block,
            4 => Self::Character,
            5 => Self::Link,
            6 => Self::Socket,
            7 => Self::Fifo,
            _ => return Err(Malformed),
        })
    }
}

/// The fields of `fattr3` that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The file's type.
    pub kind: FileType,
    /// Permission bits.
    pub mode: u32,
    /// Hard links.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Its size, bytes.
    pub size: u64,
    /// Its number in the file system.
    pub file_id: u64,
    /// Last change of its data: seconds and nanoseconds since 1970.
    pub modified: (u32, u32),
}

impl Attributes {
    #[inline]
    pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        let kind = FileType::parse(reader)?;
        let (mode, links, uid, gid) = (reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?);
        let size = reader.u64()?;
        // Space used, device numbers and file system.
        reader.fixed(24)?;
        let file_id = reader.u64()?;
        reader.fixed(8)?;
        let modified = (reader.u32()?, reader.u32()?);
        reader.fixed(8)?;
        Ok(Self { kind, mode, links, uid, gid, size, file_id, modified })
    }

    /// `post_op_attr`.
    #[inline]
    pub(super) fn parse_optional(reader: &mut Strict<'_>) -> Result<Option<Self>, Malformed> {
        if reader.boolean()? { Self::parse(reader).map(Some) } else { Ok(None) }
    }
}

/// Steps over `post_op_attr`.
#[inline]
pub(super) fn skip_attributes(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    if reader.boolean()? {
        FileType::parse(reader)?;
        reader.fixed(80)?;
    }
    Ok(())
}

/// Steps over `wcc_data`: size and times before, attributes after.
#[inline]
pub(super) fn skip_change(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    if reader.boolean()? {
        reader.fixed(24)?;
    }
    skip_attributes(reader)
}

/// `sattr3`: attributes with `None`, and times, stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size, bytes.
    pub size: Option<u64>,
}

impl SetAttributes {
    /// Only the permission bits.
    #[must_use]
    pub fn mode(mode: u32) -> Self {
        Self { mode: Some(mode), ..Self::default() }
    }

    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_optional_u32(self.mode);
        out.put_optional_u32(self.uid);
        out.put_optional_u32(self.gid);
        out.put_u32(u32::from(self.size.is_some()));
        if let Some(size) = self.size {
            out.put_u64(size);
        }
        // DONT_CHANGE, for both times.
        out.put_u64(0);
    }
}
