//! Puts addresses into a server's list of its addresses, which Samba leaves empty on loopback.

use std::net::Ipv4Addr;

use plimsoll_wire::smb2::ioctl::{CTL_CODE, OUTPUT_OFFSET, RESPONSE_END, fsctl};
use plimsoll_wire::smb2::{Command, Header};

/// Bytes of the framing in front of a message.
const PREFIX: usize = 4;
/// Bytes of a NETWORK_INTERFACE_INFO (MS-SMB2 2.2.32.5).
const ENTRY: usize = 152;
/// RSS_CAPABLE, in Capability.
const RSS_CAPABLE: u32 = 1;
/// Bits per second, in LinkSpeed.
const SPEED: u64 = 1_000_000_000;
/// InterNetwork, in SockAddr_Storage.
const INET: u16 = 2;

/// If this is a successful response to FSCTL_QUERY_NETWORK_INTERFACE_INFO, its list has these addresses afterwards.
pub(super) fn list(message: &mut Vec<u8>, addresses: &[Ipv4Addr]) {
    if !message.get(PREFIX..).is_some_and(is_list) {
        return;
    }
    let mut output: Vec<u8> = Vec::new();
    for (place, ip) in addresses.iter().enumerate() {
        let next = if place + 1 < addresses.len() { ENTRY as u32 } else { 0 };
        for field in [next, 1, RSS_CAPABLE, 0] {
            output.extend(field.to_le_bytes());
        }
        output.extend(SPEED.to_le_bytes());
        output.extend(INET.to_le_bytes());
        // The protocol ignores the port.
        output.extend([0; 2]);
        output.extend(ip.octets());
        output.resize((place + 1) * ENTRY, 0);
    }
    message.truncate(PREFIX + OUTPUT_OFFSET);
    message.extend((RESPONSE_END as u32).to_le_bytes());
    message.extend((output.len() as u32).to_le_bytes());
    message.resize(PREFIX + RESPONSE_END, 0);
    message.append(&mut output);
    let length = (message.len() - PREFIX) as u32;
    if let Some(framing) = message.first_chunk_mut::<PREFIX>() {
        *framing = length.to_be_bytes();
    }
}

/// Whether a message may be changed: a signature would not fit any more.
fn is_list(bytes: &[u8]) -> bool {
    let code = fsctl::QUERY_NETWORK_INTERFACES.to_le_bytes();
    let has_code = bytes.len() >= RESPONSE_END && bytes.get(CTL_CODE..).is_some_and(|rest| rest.starts_with(&code));
    let is_success = |header: &Header<'_>| header.command() == Command::Ioctl && header.status() == Some(0);
    has_code && Header::new(bytes).filter(is_success).is_some_and(|header| !header.is_signed())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use plimsoll_wire::smb2::{Reply, header, ioctl};

    use super::*;

    /// A response to a control with an empty output, framing included.
    fn response(code: u32, flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; PREFIX + RESPONSE_END];
        bytes[3] = RESPONSE_END as u8;
        let mut put = |at: usize, field: &[u8]| bytes[PREFIX + at..][..field.len()].copy_from_slice(field);
        put(0, &header::MAGIC);
        put(header::STRUCTURE_SIZE, &[64]);
        put(header::COMMAND, &[11]);
        put(header::FLAGS, &flags.to_le_bytes());
        put(header::LEN, &[49]);
        put(CTL_CODE, &code.to_le_bytes());
        bytes
    }

    #[test]
    fn an_empty_list_gets_addresses() {
        let addresses = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];
        let mut message = response(fsctl::QUERY_NETWORK_INTERFACES, header::FLAG_RESPONSE);
        list(&mut message, &addresses);
        let bytes = &message[PREFIX..];
        assert_eq!(message[..PREFIX], (bytes.len() as u32).to_be_bytes());
        let controlled = ioctl::parse(&Reply::new(bytes, bytes.len()).unwrap()).unwrap().done().unwrap();
        let listed = fsctl::interfaces(&controlled.output).unwrap();
        assert_eq!(listed.iter().map(|one| one.address).collect::<Vec<_>>(), addresses.map(|ip| Some(IpAddr::V4(ip))));
        assert!(listed.iter().all(|one| one.rss && one.speed == SPEED));
    }

    #[test]
    fn other_responses_and_signed_ones_stay() {
        let signed = header::FLAG_RESPONSE | header::FLAG_SIGNED;
        for (code, flags) in
            [(fsctl::VALIDATE_NEGOTIATE, header::FLAG_RESPONSE), (fsctl::QUERY_NETWORK_INTERFACES, signed)]
        {
            let before = response(code, flags);
            let mut message = before.clone();
            list(&mut message, &[Ipv4Addr::LOCALHOST]);
            assert_eq!(message, before);
        }
    }
}
