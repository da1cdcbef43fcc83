//! The SMB2 views on published captures, if they are present. The expected numbers are tshark 4's, with `-o
//! tcp.desegment_tcp_streams:FALSE`: like the walk here, it then sees the messages that begin a segment, and those after them in the same
//! segment.

// A skipped test says so.

use plimsoll_wire::smb2::compound::Members;
use plimsoll_wire::smb2::{Command, Kind, create, read, write};

/// Counts of one capture.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Messages, each member of a compound by itself.
    messages: usize,
    /// The number of responses among them.
    responses: usize,
    /// CREATE requests with a name that is not empty.
    names: usize,
    /// Offsets of READ and WRITE requests.
    offsets: usize,
    /// Compounds that ended in a link or header that cannot be right.
    malformed: usize,
}

/// TCP payload of an Ethernet frame with IPv4.
fn tcp_payload(frame: &[u8]) -> Option<&[u8]> {
    (frame.get(12..14)? == [8, 0] && *frame.get(23)? == 6).then_some(())?;
    let ip_len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let tcp = 14 + usize::from(*frame.get(14)? & 15) * 4;
    let data = tcp + usize::from(*frame.get(tcp + 12)? >> 4) * 4;
    frame.get(data..(14 + ip_len).min(frame.len()))
}

fn see(payload: &[u8], seen: &mut Seen) -> Option<()> {
    let mut rest = payload;
    loop {
        let len = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
        let message = rest.get(4..)?;
        (len < 1 << 24 && Kind::of(message)? == Kind::Plain).then_some(())?;
        let mut members = Members::new(message, len);
        for member in members.by_ref() {
            seen.messages += 1;
            seen.responses += usize::from(member.header.is_response());
            let name = create::Request::new(member.bytes).and_then(|view| view.name());
            seen.names += usize::from(name.is_some_and(|name| !name.is_empty()));
            let offset = match member.header.command() {
                Command::Read => read::Request::new(member.bytes).and_then(|view| view.offset()),
                Command::Write => write::Request::new(member.bytes).and_then(|view| view.offset()),
                _ => None,
            };
            seen.offsets += usize::from(offset.is_some());
        }
        seen.malformed += usize::from(members.malformed());
        rest = message.get(len..)?;
    }
}

/// Walks a little-endian pcap; None, with the reason printed, when the folder is not there.
fn walk(name: &str) -> Option<Seen> {
    let bytes = std::fs::read(plimsoll_testkit::shared_capture(name)?).unwrap();
    let mut seen = Seen::default();
    let mut rest = &bytes[24..];
    while let Some(record) = rest.first_chunk::<16>() {
        let len = u32::from_le_bytes([record[8], record[9], record[10], record[11]]) as usize;
        let Some(frame) = rest.get(16..16 + len) else { break };
        let _ = tcp_payload(frame).and_then(|payload| see(payload, &mut seen));
        rest = &rest[16 + len..];
    }
    Some(seen)
}

#[test]
fn plain_traffic() {
    let Some(seen) = walk("smb2-clean.pcap") else { return };
    assert_eq!(seen, Seen { messages: 465, responses: 233, names: 51, offsets: 55, malformed: 0 });
}

#[test]
fn compounds_and_interim_answers() {
    let Some(seen) = walk("smb2-pending-cancel-notify.pcap") else { return };
    assert_eq!(seen, Seen { messages: 1391, responses: 698, names: 128, offsets: 133, malformed: 0 });
}
