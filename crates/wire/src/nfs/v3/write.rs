//! WRITE: file data.
//!
//! Spec: RFC 1813 3.3.7

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_change};
use super::attributes::skip_change;
use crate::nfs::Facts;
use crate::xdr::{Emit, Malformed, Strict};

/// `stable_how`: how durable the data must be before the answer, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stable {
    /// UNSTABLE: not until a COMMIT.
    #[default]
    Unstable = 0,
    /// DATA_SYNC: the data.
    DataSync = 1,
    /// FILE_SYNC: the data and all attributes.
    FileSync = 2,
}

impl Stable {
    #[inline]
    pub(in crate::nfs) fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        match reader.u32()? {
            0 => Ok(Self::Unstable),
            1 => Ok(Self::DataSync),
            2 => Ok(Self::FileSync),
            _ => Err(Malformed),
        }
    }
}

/// The call, up to its data: `count` bytes and their padding follow.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The file.
    pub file: &'a FileHandle,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub count: u32,
    /// How durable.
    pub stable: Stable,
}

impl Call for Write<'_> {
    const PROCEDURE: u32 = 7;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.file.emit(out);
        out.put_u64(self.offset);
        out.put_u32(self.count);
        out.put_u32(self.stable as u32);
        // The length of the data that follows.
        out.put_u32(self.count);
    }

    #[inline]
    fn facts<'a>(&'a self, _: &'a [u8]) -> Facts<'a> {
        Facts {
            handle: Some(self.file.as_bytes()),
            offset: Some(self.offset),
            count: Some(self.count.into()),
            payload: Some(self.count),
            stable: Some(self.stable as u32),
            ..Facts::default()
        }
    }
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many bytes.
    pub count: u32,
    /// How durable they are.
    pub committed: Stable,
    /// The server's verifier: a different one means that the server has lost data that was not durable.
    pub verifier: [u8; 8],
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Written>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_change(reader)?;
            Ok(Written { count: reader.u32()?, committed: Stable::parse(reader)?, verifier: reader.array()? })
        },
        refused_with_change,
    )
}
