//! A small capture many times over a day: a stream of packets that no disk has to hold.
//!
//! Copies have other clients and servers; times of day follow each other. Checksums are not made right: nothing looks at them.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;

/// Seconds of a day.
pub(crate) const DAY_S: u64 = 86_400;
/// A little-endian pcap file with microseconds.
const MAGIC: [u8; 4] = [0xd4, 0xc3, 0xb2, 0xa1];
/// Header of a pcap file, and of a packet in it, bytes.
const HEADER: usize = 24;
const RECORD: usize = 16;
/// Source and destination behind an Ethernet header, in a packet: the address of IPv4, and the port behind a header without options.
const ENDS: [(usize, usize); 2] = [(26, 34), (30, 36)];
/// Servers, and addresses of one client.
const SERVERS: u64 = 4;
const ALIASES: u64 = 16;
/// Below are ports of servers.
const LOWEST: u16 = 4_096;

/// The packets of a capture between the clients 10.77.0.101 and more, and the server 10.77.0.1.
pub(crate) struct Capture {
    header: Vec<u8>,
    /// Microseconds since the first packet; record and packet.
    packets: Vec<(u64, Vec<u8>)>,
}

impl Capture {
    /// A capture, with each packet cut to a length. Needs editcap.
    pub(crate) fn read(path: &Path, cut: u32, scratch: &Path) -> Self {
        let plain = scratch.join("plain.pcap");
        let mut editcap = Command::new("editcap");
        assert!(output(editcap.args(["-F", "pcap", "-s", &cut.to_string()]).args([path, &plain])).status.success());
        let bytes = std::fs::read(&plain).unwrap();
        assert_eq!(bytes[..4], MAGIC);
        let word = |at: usize| u64::from(u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()));
        let (mut at, mut packets) = (HEADER, Vec::new());
        while at < bytes.len() {
            let end = at + RECORD + word(at + 8) as usize;
            packets.push((word(at) * 1_000_000 + word(at + 4), bytes[at..end].to_vec()));
            at = end;
        }
        let first = packets.iter().map(|(time, _)| *time).min().unwrap();
        packets.iter_mut().for_each(|(time, _)| *time -= first);
        Self { header: bytes[..HEADER].to_vec(), packets }
    }

    /// Writes so many copies over the day that begins at an instant (s since the Unix epoch). Copies that do not fit one behind the other
    /// run at the same time, with a microsecond between their packets.
    pub(crate) fn write_day(&self, day_s: u64, copies: u64, out: &mut impl Write) {
        // A second of silence between two copies.
        let span_us = self.packets.iter().map(|(time, _)| *time).max().unwrap() + 1_000_000;
        let slots = copies.min(DAY_S * 1_000_000 / span_us);
        let slot_us = DAY_S * 1_000_000 / slots;
        out.write_all(&self.header).unwrap();
        let mut record = Vec::new();
        let mut written = 0;
        for slot in 0..slots {
            let until = copies * (slot + 1) / slots;
            for (time, packet) in &self.packets {
                for copy in written..until {
                    record.clone_from(packet);
                    let us = day_s * 1_000_000 + slot * slot_us + time + (copy - written);
                    record[..4].copy_from_slice(&u32::try_from(us / 1_000_000).unwrap().to_le_bytes());
                    record[4..8].copy_from_slice(&((us % 1_000_000) as u32).to_le_bytes());
                    rename(&mut record, copy);
                    out.write_all(&record).unwrap();
                }
            }
            written = until;
        }
        out.flush().unwrap();
    }
}

/// Gives client and server of a packet the addresses of a copy. A client has another port in each copy: with the same sequence numbers, a
/// connection of the same ports would be the old one, sent again.
fn rename(record: &mut [u8], copy: u64) {
    for (address, port) in ENDS.map(|(address, port)| (RECORD + address, RECORD + port)) {
        assert_eq!(record[address..address + 3], [10, 77, 0]);
        let is_server = record[address + 3] == 1;
        record[address + 2] = if is_server { copy % SERVERS } else { copy % ALIASES } as u8;
        if !is_server {
            let old = u64::from(u16::from_be_bytes([record[port], record[port + 1]]));
            let new = (old + copy) % u64::from(u16::MAX - LOWEST) + u64::from(LOWEST);
            record[port..port + 2].copy_from_slice(&(new as u16).to_be_bytes());
        }
    }
}
