use super::*;

/// Ethernet, IPv4 and UDP from one port to another, with a VLAN tag or without; then a payload of three bytes.
fn packet(source: u16, destination: u16, vlan: bool) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend(if vlan { [0x81, 0, 0, 7].as_slice() } else { &[] });
    bytes.extend([0x08, 0x00, 0x45, 0, 0, 31, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend([0, 11, 0, 0, 1, 2, 3]);
    bytes
}

fn capture(packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = MICROSECONDS.to_vec();
    bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for (seconds, packet) in packets {
        let length = u32::try_from(packet.len()).unwrap();
        for word in [*seconds, 5, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packet);
    }
    bytes
}

/// Seconds and ports of every packet.
type Seen = Vec<(u32, (u16, u16))>;

fn replicate(bytes: &[u8], copies: u64, interleave: bool) -> Result<Seen, String> {
    let folder = super::super::folder::Folder::new()?;
    let input = folder.write("in.pcap", bytes)?;
    let output = folder.path().join("out.pcap");
    write(&input, &output, copies, interleave)?;
    let mut reader = Reader::open(&output)?;
    let mut seen = Vec::new();
    while reader.advance()? {
        assert_eq!(reader.packet.last_chunk(), Some(&[1, 2, 3]), "the payload is untouched");
        let seconds = word(&reader.record, 0);
        seen.push((seconds, headers::ports(1, &mut reader.packet).unwrap().values()));
    }
    Ok(seen)
}

#[test]
fn copies_follow_one_another_from_ports_of_their_own() {
    let call_and_reply = capture(&[(100, packet(700, 2049, false)), (103, packet(2049, 700, true))]);
    let seen = replicate(&call_and_reply, 3, false).unwrap();
    let expected = [
        (100, (700, 2049)),
        (103, (2049, 700)),
        (104, (1024, 2049)),
        (107, (2049, 1024)),
        (108, (1025, 2049)),
        (111, (2049, 1025)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn copies_interleave() {
    let seen = replicate(&capture(&[(9, packet(445, 1024, true))]), 2, true).unwrap();
    assert_eq!(seen, [(9, (445, 1024)), (9, (445, 1025))]);
}

#[test]
fn a_cut_file_gives_what_is_whole() {
    let whole = capture(&[(1, packet(700, 2049, false)), (2, packet(701, 2049, false))]);
    for end in 24..whole.len() {
        let packets = replicate(whole.get(..end).unwrap(), 1, false).unwrap().len();
        assert!(packets < 2, "{end}");
    }
    assert!(replicate(&whole[..23], 1, false).is_err());
}

#[test]
fn more_copies_than_ports_are_refused() {
    assert!(replicate(&capture(&[(1, packet(700, 2049, false))]), 70000, false).is_err());
}
