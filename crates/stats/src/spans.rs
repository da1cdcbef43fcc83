//! Start and end of requests as bytes, from which the common queue depth of several processes is computed.
//!
//! A request is two numbers in LEB128 with zigzag: its end minus the previous request's end, and its length, ns.

use std::io::{self, ErrorKind, Read};

use crate::state::{State, Writer};

/// Most bytes of a number of 64 bits.
const LONGEST: u32 = 10;

/// Encodes requests, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpansWriter {
    last_end: i64,
}

impl SpansWriter {
    /// Some requests, from when to when, ns.
    pub fn bytes(&mut self, spans: &[(i64, i64)]) -> Vec<u8> {
        let mut out = Writer::default();
        for &(start, end) in spans {
            end.wrapping_sub(self.last_end).put(&mut out);
            end.wrapping_sub(start).put(&mut out);
            self.last_end = end;
        }
        out.bytes
    }
}

/// Reads them again.
#[derive(Debug)]
pub struct SpansReader<R> {
    from: R,
    last_end: i64,
}

impl<R: Read> SpansReader<R> {
    /// From what [`SpansWriter`] made.
    pub fn new(from: R) -> Self {
        Self { from, last_end: 0 }
    }

    fn span(&mut self) -> io::Result<Option<(i64, i64)>> {
        let Some(step) = self.number()? else { return Ok(None) };
        let length = self.number()?.ok_or(ErrorKind::UnexpectedEof)?;
        self.last_end = self.last_end.wrapping_add(step);
        Ok(Some((self.last_end.wrapping_sub(length), self.last_end)))
    }

    /// `None` where the input has ended before it.
    fn number(&mut self) -> io::Result<Option<i64>> {
        let mut bits = 0_u64;
        for place in 0..LONGEST {
            let mut byte = [0];
            if self.from.read(&mut byte)? == 0 {
                return if place == 0 { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
            bits |= u64::from(byte[0] & 0x7F) << (7 * place);
            if byte[0] < 0x80 {
                return Ok(Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed()));
            }
        }
        Err(ErrorKind::InvalidData.into())
    }
}

impl<R: Read> Iterator for SpansReader<R> {
    type Item = io::Result<(i64, i64)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.span().transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(spans in prop::collection::vec((any::<i64>(), any::<i64>()), 0..100), cut in 0usize..200) {
            let mut writer = SpansWriter::default();
            let (first, second) = spans.split_at(spans.len() / 2);
            let bytes = [writer.bytes(first), writer.bytes(second)].concat();
            let read: io::Result<Vec<_>> = SpansReader::new(bytes.as_slice()).collect();
            prop_assert_eq!(read.unwrap(), spans.clone());
            let cut = cut.min(bytes.len());
            let some: Vec<_> = SpansReader::new(&bytes[..cut]).take_while(Result::is_ok).map(Result::unwrap).collect();
            prop_assert_eq!(&some[..], &spans[..some.len()]);
        }

        #[test]
        fn anything_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read = SpansReader::new(bytes.as_slice()).take_while(Result::is_ok).count();
            prop_assert!(read <= bytes.len());
        }
    }
}
