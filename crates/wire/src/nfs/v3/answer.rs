//! How results begin: a status that decides what follows.
//!
//! Spec: RFC 1813 2.6 (`nfsstat3`), RFC 1813 3.3

use super::attributes::{skip_attributes, skip_change};
use crate::nfs::Facts;
use crate::xdr::{Malformed, Strict};

/// A procedure's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// NFS3_OK, and the results.
    Done(T),
    /// Any other status, including unspecified ones.
    Refused(u32),
}

/// Reads results to their end: a status, then `done` or `refused`.
#[inline]
pub(super) fn answer<'a, T>(
    bytes: &'a [u8],
    done: impl FnOnce(&mut Strict<'a>) -> Result<T, Malformed>,
    refused: impl FnOnce(&mut Strict<'a>) -> Result<(), Malformed>,
) -> Result<Answer<T>, Malformed> {
    let mut reader = Strict::new(bytes);
    let answer = match reader.u32()? {
        0 => Answer::Done(done(&mut reader)?),
        status => {
            refused(&mut reader)?;
            Answer::Refused(status)
        }
    };
    reader.end()?;
    Ok(answer)
}

/// Results of which both kinds are `wcc_data`, as often as `changes` says.
#[inline]
pub(super) fn changed(bytes: &[u8], changes: usize) -> Result<Answer<()>, Malformed> {
    let skip = |reader: &mut Strict<'_>| (0..changes).try_for_each(|_| skip_change(reader));
    answer(bytes, skip, skip)
}

/// A refusal that says `post_op_attr`.
#[inline]
pub(super) fn refused_with_attributes(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    skip_attributes(reader)
}

/// A refusal that says `wcc_data`.
#[inline]
pub(super) fn refused_with_change(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    skip_change(reader)
}

/// The arguments of one procedure.
pub trait Call {
    /// The procedure's number.
    const PROCEDURE: u32;
    /// Appends the arguments.
    fn emit(&self, out: &mut Vec<u8>);
    /// Facts of the arguments, as [`super::arguments`] reads them from the bytes that [`Call::emit`] appended. A call that is sent often
    /// states them, because it knows them.
    #[inline]
    fn facts<'a>(&'a self, arguments: &'a [u8]) -> Facts<'a> {
        super::arguments(Self::PROCEDURE, arguments)
    }
}
