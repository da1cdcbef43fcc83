//! READ: file data.
//!
//! Spec: RFC 8881 18.22

use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict, padding};

/// A call that reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading<const OPERATION: u32> {
    /// The open that it belongs to.
    pub state: StateId,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub count: u32,
}

/// READ.
pub type Read = Reading<25>;

impl<const OPERATION: u32> Call for Reading<OPERATION> {
    const OPERATION: u32 = OPERATION;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
        out.put_u64(self.offset);
        out.put_u32(self.count);
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

/// Reads the results. `missing` bytes of the message were dropped after these bytes: they must be the rest of the data.
#[inline]
pub(super) fn parse<'a>(reader: &mut Strict<'a>, missing: &mut usize) -> Result<Data<'a>, Malformed> {
    let (eof, count) = (reader.boolean()?, reader.u32()?);
    let whole = count as usize + padding(count as usize);
    if *missing == 0 {
        let kept = reader.fixed(whole)?;
        return Ok(Data { count, eof, kept: kept.get(..count as usize).unwrap_or(kept) });
    }
    let kept = reader.fixed(reader.rest().len())?;
    if kept.len() + *missing != whole {
        return Err(Malformed);
    }
    *missing = 0;
    Ok(Data { count, eof, kept: kept.get(..count as usize).unwrap_or(kept) })
}
