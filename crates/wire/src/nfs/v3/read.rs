//! READ: file data.
//!
//! Spec: RFC 1813 3.3.6

use super::FileHandle;
use super::answer::{Answer, Call, refused_with_attributes};
use super::attributes::{POST_OP_ATTR, skip_attributes};
use crate::nfs::Facts;
use crate::xdr::{Emit, Malformed, Strict, padding};

/// Bytes of the results before the data: status, attributes, count, eof, length.
pub const BEFORE_DATA: usize = 4 + POST_OP_ATTR + 12;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The file.
    pub file: &'a FileHandle,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub count: u32,
}

impl Call for Read<'_> {
    const PROCEDURE: u32 = 6;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.file.emit(out);
        out.put_u64(self.offset);
        out.put_u32(self.count);
    }

    #[inline]
    fn facts<'a>(&'a self, _: &'a [u8]) -> Facts<'a> {
        let (handle, offset, count) = (self.file.as_bytes(), self.offset, u64::from(self.count));
        Facts { handle: Some(handle), offset: Some(offset), count: Some(count), ..Facts::default() }
    }
}

/// The data that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// How many bytes.
    pub count: u32,
    /// The file ends behind them.
    pub eof: bool,
    /// The bytes that were kept.
    pub kept: &'a [u8],
}

/// Reads the results, `length` bytes long, of which `head` was kept. Only data may be missing from the head; the length is checked even
/// so.
#[inline]
pub fn parse(head: &[u8], length: usize) -> Result<Answer<Data<'_>>, Malformed> {
    let mut reader = Strict::new(head);
    let status = reader.u32()?;
    if status != 0 {
        refused_with_attributes(&mut reader)?;
        reader.end()?;
        return Ok(Answer::Refused(status));
    }
    skip_attributes(&mut reader)?;
    let (count, eof, data) = (reader.u32()?, reader.boolean()?, reader.u32()?);
    let before = head.len() - reader.rest().len();
    let whole = before as u64 + u64::from(data) + padding(data as usize) as u64;
    if count != data || whole != length as u64 {
        return Err(Malformed);
    }
    let kept = reader.rest();
    Ok(Answer::Done(Data { count, eof, kept: kept.get(..data as usize).unwrap_or(kept) }))
}
