//! A block of the ring: consecutive packets, each with a header from the kernel.
//!
//! Spec: Linux' include/uapi/linux/if_packet.h (tpacket_block_desc, tpacket3_hdr)

/// Where a block says whose it is.
pub(super) const STATUS_AT: usize = 8;
/// Where it says how many packets it has, and where the first is.
const PACKETS_AT: usize = 12;
const FIRST_AT: usize = 16;
/// Flag in a packet's status: the network card removed a VLAN tag, whose type is in the header too.
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TYPE_VALID: u32 = 1 << 6;
/// The type of a VLAN tag whose own is not there: 802.1Q.
const VLAN: u16 = 0x8100;

/// A packet in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingPacket<'a> {
    /// When it came, ns since the Unix epoch.
    pub(super) time_ns: u64,
    pub(super) captured: &'a [u8],
    pub(super) original_len: u32,
    /// The VLAN tag that the network card removed.
    pub(super) vlan: Option<[u8; 4]>,
}

/// The packets of a block, in order. A packet that does not fit the block ends it.
pub(super) fn packets(block: &[u8]) -> impl Iterator<Item = RingPacket<'_>> {
    let (mut at, mut left) = (word(block, FIRST_AT) as usize, word(block, PACKETS_AT));
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let header = block.get(at..)?;
        at = at.checked_add(word(header, 0) as usize)?;
        packet(header)
    })
}

fn packet(header: &[u8]) -> Option<RingPacket<'_>> {
    let seconds_ns = u64::from(word(header, 4)) * 1_000_000_000;
    let (captured, original_len, status) = (word(header, 12), word(header, 16), word(header, 20));
    let start = usize::from(half(header, 24));
    let captured = header.get(start..start.checked_add(captured as usize)?)?;
    let vlan = (status & VLAN_VALID != 0).then(|| {
        let tag_type = if status & VLAN_TYPE_VALID != 0 { half(header, 36) } else { VLAN };
        let [[a, b], [c, d]] = [tag_type.to_be_bytes(), (word(header, 32) as u16).to_be_bytes()];
        [a, b, c, d]
    });
    Some(RingPacket { time_ns: seconds_ns + u64::from(word(header, 8)), captured, original_len, vlan })
}

/// In the byte order of this machine, as the kernel writes; 0 past the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|tail| tail.first_chunk()).map_or(0, |raw| u32::from_ne_bytes(*raw))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|tail| tail.first_chunk()).map_or(0, |raw| u16::from_ne_bytes(*raw))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(block: &mut [u8], at: usize, number: u32) {
        block[at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }

    /// A block of two packets, as include/uapi/linux/if_packet.h lays them out.
    fn block() -> Vec<u8> {
        let mut block = vec![0; 512];
        put(&mut block, PACKETS_AT, 2);
        put(&mut block, FIRST_AT, 48);
        for (at, status, len) in [(48, VLAN_VALID | VLAN_TYPE_VALID | 1, 20), (160, 1, 10)] {
            let words = [112, 5, 7, len, 1_500, status];
            (0..).zip(words).for_each(|(place, number)| put(&mut block, at + 4 * place, number));
            block[at + 24..at + 26].copy_from_slice(&82u16.to_ne_bytes());
            put(&mut block, at + 32, 0x2007);
            block[at + 36..at + 38].copy_from_slice(&0x88a8u16.to_ne_bytes());
            block[at + 82..at + 82 + len as usize].fill(at as u8);
        }
        block
    }

    #[test]
    fn packets_come_with_their_times_lengths_and_tags() {
        let block = block();
        let found: Vec<RingPacket<'_>> = packets(&block).collect();
        let expected = |captured, vlan| RingPacket { time_ns: 5_000_000_007, captured, original_len: 1_500, vlan };
        assert_eq!(found, [expected(&[48; 20], Some([0x88, 0xa8, 0x20, 0x07])), expected(&[160; 10], None)]);
    }

    proptest! {
        #[test]
        fn a_damaged_block_is_read_as_far_as_it_makes_sense(changes in prop::collection::vec((0usize..512, any::<u8>()), 0..20)) {
            let mut block = block();
            changes.into_iter().for_each(|(at, byte)| block[at] = byte);
            for packet in packets(&block).take(10_000) {
                prop_assert!(packet.captured.len() <= block.len());
            }
        }
    }
}
