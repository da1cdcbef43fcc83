//! Where one message ends.

/// How a stream is cut into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Direct TCP: a zero byte and 24 bits of length (MS-SMB2 2.1).
    Smb,
    /// Record marks; a record may have several fragments (RFC 5531 11).
    Rpc,
}

impl Framing {
    /// Bytes of the first message, framing included; `None` while more is needed to tell, or to have it.
    pub(super) fn whole(self, bytes: &[u8]) -> Option<usize> {
        let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
        let length = match self {
            Framing::Smb => 4 + (word(0)? & 0x00ff_ffff) as usize,
            Framing::Rpc => {
                let mut at = 0;
                loop {
                    let mark = word(at)?;
                    at += 4 + (mark & 0x7fff_ffff) as usize;
                    if mark & 0x8000_0000 != 0 {
                        break at;
                    }
                }
            }
        };
        (bytes.len() >= length).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc;

    #[test]
    fn messages_end_where_their_framing_says() {
        let record = rpc::record(&[7; 10]);
        assert_eq!(Framing::Rpc.whole(&[record.clone(), vec![1; 9]].concat()), Some(14));
        let pieces = rpc::record_in_fragments(&[7; 10], 4);
        assert_eq!(Framing::Rpc.whole(&pieces), Some(22));
        assert_eq!(Framing::Smb.whole(&[0, 0, 0, 2, 5, 5, 5]), Some(6));
        for short in 0..14 {
            assert_eq!(Framing::Rpc.whole(&record[..short]), None);
        }
        assert_eq!(Framing::Smb.whole(&[0, 0, 0, 2, 5]), None);
    }
}
