//! READ_PLUS: file data, and holes without their zeros.
//!
//! Spec: RFC 7862 15.10

use crate::xdr::{Malformed, Strict};

/// READ_PLUS.
pub type ReadPlus = super::read::Reading<68>;

/// A part of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// File data.
    Data {
        /// Where it begins.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes that are all zero.
    Hole {
        /// Where it begins: perhaps before the range.
        offset: u64,
        /// How many: perhaps more than the range has.
        length: u64,
    },
}

/// The results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents<'a> {
    /// The file ends behind them.
    pub eof: bool,
    /// Bytes of data in all segments.
    pub data: u32,
    /// The segments, which were read once.
    segments: &'a [u8],
}

impl<'a> Contents<'a> {
    /// The segments, in order.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + use<'a> {
        let mut reader = Strict::new(self.segments);
        std::iter::from_fn(move || segment(&mut reader).ok())
    }

    /// Whether the file ends with this range, or before. A hole may go on behind the range: then only the hole ends with the file.
    #[must_use]
    pub fn ends_by(&self, offset: u64, count: u32) -> bool {
        let end = offset.saturating_add(count.into());
        let goes_on = |segment: Segment<'a>| match segment {
            Segment::Hole { offset: from, length } => from.saturating_add(length) > end,
            Segment::Data { .. } => false,
        };
        self.eof && !self.segments().any(goes_on)
    }

    /// How many bytes from `offset` on the segments say, of the `count` that were asked for. `piece` gets each part of the range.
    ///
    /// # Errors
    /// The segments do not follow each other from the offset on, or data goes beyond the range.
    pub fn read(&self, offset: u64, count: u32, mut piece: impl FnMut(Segment<'a>)) -> Result<u32, Malformed> {
        let end = offset.checked_add(count.into()).ok_or(Malformed)?;
        let mut at = offset;
        for segment in self.segments() {
            let stop = match segment {
                Segment::Data { offset: from, bytes } if from == at && bytes.len() as u64 <= end - at => {
                    piece(segment);
                    at + bytes.len() as u64
                }
                Segment::Hole { offset: from, length } if from <= at => {
                    let stop = from.checked_add(length).filter(|stop| *stop >= at).ok_or(Malformed)?.min(end);
                    piece(Segment::Hole { offset: at, length: stop.saturating_sub(at) });
                    stop
                }
                _ => return Err(Malformed),
            };
            at = stop;
        }
        u32::try_from(at - offset).map_err(|_| Malformed)
    }
}

/// The next segment.
fn segment<'a>(reader: &mut Strict<'a>) -> Result<Segment<'a>, Malformed> {
    let (kind, offset) = (reader.u32()?, reader.u64()?);
    match kind {
        0 => Ok(Segment::Data { offset, bytes: reader.opaque(usize::MAX)? }),
        1 => Ok(Segment::Hole { offset, length: reader.u64()? }),
        _ => Err(Malformed),
    }
}

pub(super) fn parse<'a>(reader: &mut Strict<'a>) -> Result<Contents<'a>, Malformed> {
    let (eof, count) = (reader.boolean()?, reader.u32()?);
    let segments = reader.rest();
    let mut data = 0_u32;
    // Each takes bytes of the message, so their number is not checked.
    for _ in 0..count {
        if let Segment::Data { bytes, .. } = segment(reader)? {
            let bytes = u32::try_from(bytes.len()).map_err(|_| Malformed)?;
            data = data.checked_add(bytes).ok_or(Malformed)?;
        }
    }
    let segments = segments.get(..segments.len() - reader.rest().len()).unwrap_or_default();
    Ok(Contents { eof, data, segments })
}
