//! tcpdump at an end of the wire, as a check of the log.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{DEVICE, Wire};
use crate::Side;
use crate::command::{LIMIT, Running};
use crate::servers::Unavailable;

/// More than the MTU of the devices, 1,500 bytes. tcpdump's buffer reserves this size for each packet.
const LONGEST: &str = "2048";
/// tcpdump's buffer, KiB.
const BUFFER_KIB: &str = "32768";

/// A packet in a capture: its time, ns since the Unix epoch, and its bytes from the IP header on.
pub type Captured = (i64, Vec<u8>);

/// A running tcpdump.
#[derive(Debug)]
pub struct Capture {
    tcpdump: Running,
    end: Side,
    file: PathBuf,
}

/// Packets that an end sent and received, as tcpdump saw them.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Packets that the end sent.
    pub sent: Vec<Captured>,
    /// Packets that it received.
    pub received: Vec<Captured>,
}

impl Capture {
    pub(super) fn start(wire: &Wire, end: Side, file: &Path) -> Result<Self, Unavailable> {
        let mut command = Command::new("tcpdump");
        command.args(["-i", DEVICE, "-n", "-U", "--immediate-mode", "-s", LONGEST, "-B", BUFFER_KIB, "-Z", "root"]);
        command.args(["--time-stamp-precision", "nano", "-w"]).arg(file);
        let started = wire.at(end, || Running::start(&mut command));
        let mut tcpdump = started.map_err(|_| Unavailable("needs tcpdump"))?;
        let ended = tcpdump.wait_until(|running| running.said()[1].contains("listening on"));
        assert_eq!(ended, None, "{:?}", tcpdump.said());
        Ok(Self { tcpdump, end, file: file.to_owned() })
    }

    /// Ends the capture when it has everything that has happened so far; it may have what happened since, too.
    ///
    /// # Panics
    /// It has not within [`LIMIT`], or tcpdump lost packets.
    #[must_use]
    pub fn end(self, wire: &Wire) -> Seen {
        let log = wire.settled();
        let begun = Instant::now();
        let is_there = |seen: Seen| {
            seen.sent.len() >= log.sent(self.end).count() && seen.received.len() >= log.arrived(self.end).len()
        };
        while !is_there(self.seen()) {
            assert!(begun.elapsed() < LIMIT, "not all packets within {LIMIT:?}: {:?}", self.tcpdump.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        let Self { tcpdump, end, file } = self;
        tcpdump.signal(Signal::INT);
        let said = String::from_utf8_lossy(&tcpdump.end().stderr).into_owned();
        assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
        read(&file, end)
    }

    fn seen(&self) -> Seen {
        read(&self.file, self.end)
    }
}

fn read(file: &Path, end: Side) -> Seen {
    let own = Wire::address(end).octets();
    let packets = packets(&std::fs::read(file).expect("tcpdump made it"));
    let (sent, received) = packets.into_iter().partition(|(_, packet)| packet.get(12..16) == Some(&own[..]));
    Seen { sent, received }
}

/// The packets of a capture that may still grow.
///
/// Spec: draft-ietf-opsawg-pcap, with times in nanoseconds
fn packets(bytes: &[u8]) -> Vec<Captured> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let magic = word(0);
    assert!(matches!(magic, None | Some(0xa1b2_3c4d)), "no pcap with nanoseconds: {magic:?}");
    let (mut packets, mut at) = (Vec::new(), 24);
    while let (Some(seconds), Some(ns), Some(length)) = (word(at), word(at + 4), word(at + 8))
        && let Some(packet) = bytes.get(at + 16..at + 16 + length as usize)
    {
        packets.push((i64::from(seconds) * 1_000_000_000 + i64::from(ns), packet.to_vec()));
        at += 16 + length as usize;
    }
    packets
}
