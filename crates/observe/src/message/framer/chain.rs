//! Messages of which the header was seen, and the end not yet. A header is a weak sign, for file data may look like one; but where another
//! header begins exactly at its end, both are believed.

use serde::{Deserialize, Serialize};

/// Ends that are remembered; data that look like many headers push out the oldest.
const KEPT: usize = 8;

/// Stream offsets at which messages end, assuming that their headers are genuine; or at which messages that are due begin.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Chain {
    ends: Vec<u64>,
}

impl Chain {
    pub(super) fn expect(&mut self, end: u64) {
        if self.ends.len() == KEPT {
            self.ends.remove(0);
        }
        self.ends.push(end);
    }

    /// The first place in these bytes, which begin at `offset`, where a message ends and another one `begins`.
    pub(super) fn link(&mut self, offset: u64, bytes: &[u8], begins: impl Fn(&[u8]) -> bool) -> Option<usize> {
        self.ends.retain(|end| *end >= offset);
        let places = self.ends.iter().filter_map(|end| usize::try_from(end - offset).ok());
        places.filter(|at| bytes.get(*at..).is_some_and(&begins)).min()
    }

    pub(super) fn clear(&mut self) {
        self.ends = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::rpc;

    use super::*;

    /// A reply of 100 bytes behind its record mark, as far as its header.
    const HEADER: [u8; 28] = [0x80, 0, 0, 100, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn a_header_where_a_reply_ends_is_a_link() {
        let bytes = [&[0x55; 20][..], &HEADER].concat();
        let begins = |next: &[u8]| rpc::plausible_record(next).is_some();
        let mut chain = Chain::default();
        chain.expect(1_019);
        assert_eq!(chain.link(1_000, &bytes, begins), None, "one byte before the header");
        chain.expect(1_020);
        assert_eq!(chain.link(1_000, &bytes, begins), Some(20));
        assert_eq!(chain.link(1_000, &bytes[..40], begins), None, "too little of the header to tell");
        assert_eq!(chain.link(1_021, &bytes, begins), None, "the place was passed");
        assert!(chain.ends.is_empty());
    }

    #[test]
    fn few_ends_are_remembered() {
        let mut chain = Chain::default();
        (0..1_000).for_each(|end| chain.expect(end));
        assert_eq!(chain.ends, (992..1_000).collect::<Vec<u64>>());
    }
}
