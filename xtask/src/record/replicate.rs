//! Copies of the same traffic, for benches: copies differ only in their client's ports and in time.
//!
//! Checksums are not corrected. The traffic is read again for every copy, so memory does not grow with it.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use crate::Outcome;

mod headers;
mod ports;

use ports::{Ports, Renaming};

/// The first four bytes of a little-endian pcap file with microseconds and with nanoseconds.
const MICROSECONDS: [u8; 4] = [0xd4, 0xc3, 0xb2, 0xa1];
const NANOSECONDS: [u8; 4] = [0x4d, 0x3c, 0xb2, 0xa1];
/// The longest packet that is believed.
const LONGEST_PACKET: usize = 16 << 20;
/// Size of a read or write.
const BLOCK: usize = 1 << 20;

/// A pcap file read one packet at a time.
struct Reader {
    input: BufReader<File>,
    /// The file's header, as it was.
    header: [u8; 24],
    /// Fractions in a second.
    fractions: u64,
    record: [u8; 16],
    packet: Vec<u8>,
}

impl Reader {
    fn open(path: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut input = BufReader::with_capacity(BLOCK, File::open(path).map_err(failed)?);
        let mut header = [0; 24];
        input.read_exact(&mut header).map_err(failed)?;
        let fractions = match header.first_chunk() {
            Some(&MICROSECONDS) => 1_000_000,
            Some(&NANOSECONDS) => 1_000_000_000,
            _ => return Err(format!("{}: not a little-endian pcap file", path.display())),
        };
        Ok(Self { input, header, fractions, record: [0; 16], packet: Vec::new() })
    }

    fn link_type(&self) -> u32 {
        // The upper bits tell of a frame check sequence.
        word(&self.header, 20) & 0x0fff_ffff
    }

    /// Reads the next packet; whether there was one. A packet cut by the file's end is none.
    fn advance(&mut self) -> Result<bool, String> {
        match self.input.read_exact(&mut self.record) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
        let length = usize::try_from(word(&self.record, 8)).unwrap_or(usize::MAX);
        if length > LONGEST_PACKET {
            return Err(format!("a packet of {length} bytes; the file is damaged"));
        }
        self.packet.resize(length, 0);
        match self.input.read_exact(&mut self.packet) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The packet's time in fractions since the epoch.
    fn time(&self) -> u64 {
        let seconds = u64::from(word(&self.record, 0)).saturating_mul(self.fractions);
        seconds.saturating_add(u64::from(word(&self.record, 4)))
    }
}

/// Results of a first reading.
struct Survey {
    ports: Ports,
    packets: u64,
    first: u64,
    last: u64,
}

pub(crate) fn write(input: &Path, output: &Path, copies: u64, interleave: bool) -> Outcome {
    let survey = survey(input)?;
    let renamings = survey.ports.renamings(copies)?;
    let failed = |error: std::io::Error| format!("{}: {error}", output.display());
    let file = File::create(output).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(BLOCK, file);
    writer.write_all(&Reader::open(input)?.header).map_err(failed)?;
    if interleave {
        copy(input, &mut writer, &renamings, 0)?;
    } else {
        let mut shift: u64 = 0;
        for renaming in &renamings {
            let fractions = copy(input, &mut writer, std::slice::from_ref(renaming), shift)?;
            // A second of silence between two copies.
            let span = survey.last.saturating_sub(survey.first);
            shift = shift.saturating_add(span).saturating_add(fractions);
        }
    }
    writer.flush().map_err(failed)?;
    let packets = survey.packets.saturating_mul(copies);
    println!("replicate: {}: {packets} packets in {copies} copies", output.display());
    Ok(())
}

fn survey(input: &Path) -> Result<Survey, String> {
    let mut reader = Reader::open(input)?;
    let mut survey = Survey { ports: Ports::default(), packets: 0, first: u64::MAX, last: 0 };
    let link_type = reader.link_type();
    while reader.advance()? {
        survey.packets = survey.packets.saturating_add(1);
        survey.first = survey.first.min(reader.time());
        survey.last = survey.last.max(reader.time());
        if let Some(pair) = headers::ports(link_type, &mut reader.packet) {
            survey.ports.saw(pair.values());
        }
    }
    Ok(survey)
}

/// Writes every packet once for each renaming; the fractions in a second.
fn copy(input: &Path, writer: &mut impl Write, renamings: &[Renaming], shift: u64) -> Result<u64, String> {
    let mut reader = Reader::open(input)?;
    let (link_type, fractions) = (reader.link_type(), reader.fractions);
    while reader.advance()? {
        let time = reader.time().saturating_add(shift);
        let seconds = u32::try_from(time / fractions).map_err(|_| "the copies go on beyond the year 2106")?;
        let fraction = u32::try_from(time % fractions).unwrap_or_default();
        let [.., c0, c1, c2, c3, o0, o1, o2, o3] = reader.record;
        let [s0, s1, s2, s3] = seconds.to_le_bytes();
        let [f0, f1, f2, f3] = fraction.to_le_bytes();
        let record = [s0, s1, s2, s3, f0, f1, f2, f3, c0, c1, c2, c3, o0, o1, o2, o3];
        let original = headers::ports(link_type, &mut reader.packet).map(|pair| pair.values());
        for renaming in renamings {
            if let (Some(ports), Some(original)) = (headers::ports(link_type, &mut reader.packet), original) {
                ports.write(renaming.rename(original));
            }
            writer.write_all(&record).map_err(|error| error.to_string())?;
            writer.write_all(&reader.packet).map_err(|error| error.to_string())?;
        }
    }
    Ok(fractions)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;
