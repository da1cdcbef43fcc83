//! The lease in a CREATE response, as captured.
//!
//! Spec: MS-SMB2 2.2.14.2.10, 2.2.14.2.11

use core::ops::Range;

use super::context::{self, DATA_OFFSET, NAME_AT, NAME_OFFSET, NEXT};
use super::{Lease, RESPONSE_CONTEXTS, RESPONSE_END, Response};
use crate::smb2::fields::{Fields, to_len};

/// LeaseKey in the data of the context.
const KEY: Range<usize> = 0..16;
/// LeaseState.
const STATE: Range<usize> = 16..20;

/// Where a context stands, counted from the header of the message.
struct Place {
    at: usize,
    name: Range<usize>,
    data: Range<usize>,
}

impl Response<'_> {
    /// The granted lease; None without one, and if it was cut off.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        let data = self.lease_data()?;
        Some(Lease { key: self.fields.array(data.start)?, state: self.fields.u32(data.start + STATE.start)? })
    }

    /// The places of the parts that [`Response::lease`] reads: the heads of the contexts, the name, the state; and the key.
    pub(in crate::smb2) fn lease_places(&self) -> (Vec<Range<usize>>, Option<Range<usize>>) {
        let mut read: Vec<Range<usize>> = Vec::new();
        for place in places(self.fields) {
            read.push(place.at..place.at + NAME_AT);
            if self.is_lease(&place) {
                let at = place.data.start;
                read.extend([place.name, at + STATE.start..at + STATE.end]);
                return (read, Some(at..at + KEY.end));
            }
        }
        (read, None)
    }

    fn lease_data(&self) -> Option<Range<usize>> {
        places(self.fields).find(|place| self.is_lease(place)).map(|place| place.data)
    }

    fn is_lease(&self, place: &Place) -> bool {
        place.name.len() == context::LEASE.len()
            && self.fields.array(place.name.start) == Some(context::LEASE)
            && place.data.len() >= STATE.end
    }
}

/// The contexts. Each next one begins at least a head further on, so any input ends it.
fn places(fields: Fields<'_>) -> impl Iterator<Item = Place> {
    let field = move |at| to_len(fields.u32(at)?);
    let start = field(RESPONSE_CONTEXTS).filter(|&start| start >= RESPONSE_END);
    let end = start.zip(field(RESPONSE_CONTEXTS + 4)).and_then(|(start, length)| start.checked_add(length));
    let (mut next, end) = (start, end.unwrap_or(0));
    core::iter::from_fn(move || {
        let at = next.take().filter(|&at| at < end)?;
        let step = field(at + NEXT)?;
        next = at.checked_add(step).filter(|_| step >= NAME_AT);
        let part = |offset: usize, length: usize| {
            let range = at.checked_add(offset)?..at.checked_add(offset)?.checked_add(length)?;
            (offset >= NAME_AT || length == 0).then_some(range).filter(|range| range.end <= end)
        };
        let name = part(fields.u16(at + NAME_OFFSET)?.into(), fields.u16(at + NAME_OFFSET + 2)?.into())?;
        let data = part(fields.u16(at + DATA_OFFSET)?.into(), field(at + DATA_OFFSET + 2)?)?;
        Some(Place { at, name, data })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};
    use proptest::prelude::*;

    /// Hand-assembled from 2.2.14: a context MxAc of 8 bytes, then the lease.
    fn response() -> Message {
        let fixed = Message::response(5, 0).u16(89).u8(0xff).u8(0).u32(1).fill(48).u32(0).u32(0).put(&[3; 16]);
        let first =
            fixed.u32(0x98).u32(32 + 56).u32(32).u16(16).u16(4).u16(0).u16(24).u32(8).put(b"MxAc").u32(0).u64(0);
        first.u32(0).u16(16).u16(4).u16(0).u16(24).u32(32).put(b"RqLs").u32(0).put(&[7; 16]).u32(3).u32(0).u64(0)
    }

    #[test]
    fn the_lease_is_found_behind_other_contexts() {
        let bytes = response().bytes();
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.lease(), Some(Lease { key: [7; 16], state: 3 }));
        let (read, key) = view.lease_places();
        assert_eq!((read.len(), &bytes[key.unwrap()]), (4, &[7; 16][..]));
        truncations(&bytes[..bytes.len() - 12], |bytes| Response::new(bytes)?.lease());
    }

    #[test]
    fn contexts_that_point_backwards_or_out_of_the_message_are_none() {
        let bytes = response().bytes();
        for (at, wrong) in [(0x98, 8_u32), (0x98, u32::MAX), (0x50 + 64, u32::MAX), (0x50 + 64, 1), (0x54 + 64, 40)] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
            assert_eq!(Response::new(&bytes).unwrap().lease(), None, "{at:#x} {wrong:#x}");
        }
    }

    proptest! {
        #[test]
        fn any_contexts_read(body: Vec<u8>, offset in 0_u32..300, length: u32) {
            let fixed = Message::response(5, 0).u16(89).fill(78).u32(offset).u32(length).put(&body);
            let bytes = fixed.bytes();
            let view = Response::new(&bytes).unwrap();
            prop_assert!(view.lease_places().0.len() <= bytes.len() / NAME_AT + 3);
            prop_assert!(view.lease().is_none() || body.len() >= 20);
        }
    }
}
