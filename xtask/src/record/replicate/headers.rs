//! Where the ports of a packet are.

/// The two ports of a TCP or UDP packet.
#[derive(Debug)]
pub(crate) struct Pair<'a>(&'a mut [u8; 4]);

impl Pair<'_> {
    /// Source and destination.
    pub(crate) fn values(&self) -> (u16, u16) {
        let [a, b, c, d] = *self.0;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }

    /// Sets source and destination.
    pub(crate) fn write(self, (source, destination): (u16, u16)) {
        let ([a, b], [c, d]) = (source.to_be_bytes(), destination.to_be_bytes());
        *self.0 = [a, b, c, d];
    }
}

/// The ports of a packet; none when it is neither TCP nor UDP, or a later fragment of one.
pub(crate) fn ports(link_type: u32, packet: &mut [u8]) -> Option<Pair<'_>> {
    let at = match link_type {
        // BSD loopback: a 32-bit family.
        0 | 108 => 4,
        1 => after_ethernet(packet)?,
        12 | 14 | 101 | 228 | 229 => 0,
        // Linux cooked, versions 1 and 2.
        113 => 16,
        276 => 20,
        _ => return None,
    };
    let (protocol, at) = after_ip(packet, at)?;
    if !matches!(protocol, 6 | 17) {
        return None;
    }
    packet.get_mut(at..)?.first_chunk_mut().map(Pair)
}

fn after_ethernet(packet: &[u8]) -> Option<usize> {
    let mut at: usize = 12;
    // Two VLAN tags at most, which is what occurs.
    for _ in 0..2 {
        if !matches!(packet.get(at..at.checked_add(2)?)?, [0x81, 0x00] | [0x88, 0xa8]) {
            break;
        }
        at = at.checked_add(4)?;
    }
    at.checked_add(2)
}

/// The protocol that IP carries and where it begins.
fn after_ip(packet: &[u8], at: usize) -> Option<(u8, usize)> {
    let header = packet.get(at..)?;
    let first = *header.first()?;
    match first >> 4 {
        4 => {
            let fragment = u16::from_be_bytes([*header.get(6)?, *header.get(7)?]) & 0x1fff;
            let length = usize::from(first & 0x0f).checked_mul(4)?;
            (fragment == 0).then_some((*header.get(9)?, at.checked_add(length)?))
        }
        6 => {
            let (mut next, mut at) = (*header.get(6)?, at.checked_add(40)?);
            // Hop-by-hop, routing and destination options have their length in units of 8 bytes, themselves apart.
            while matches!(next, 0 | 43 | 60) {
                let length = usize::from(*packet.get(at.checked_add(1)?)?).checked_add(1)?.checked_mul(8)?;
                next = *packet.get(at)?;
                at = at.checked_add(length)?;
            }
            Some((next, at))
        }
        _ => None,
    }
}
