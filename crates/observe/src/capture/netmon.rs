//! The capture format of Microsoft Network Monitor 2.x.
//!
//! Spec: Network Monitor 3.4 help, "Capture File Format" (field layout also in Wireshark's wiretap/netmon.c)
//!
//! A table, usually at the end of the file, contains the position of each frame, so the file is read out of order. Before version 2.3 the
//! start of the capture is in local time, and the file does not contain the time zone: the reader assumes UTC. This changes only the
//! dates of a report, not the response times.

use super::byte_window::ByteWindow;
use super::bytes::Order::Little;
use super::error::Stop;
use super::link::LinkType;
use super::located::Located;
use super::{CaptureAnomalies, MAX_PACKET_BYTES};

/// The first four bytes.
pub(super) const MAGIC: &[u8] = b"GMBU";
/// The part of the file header that is of use.
const FILE_HEADER: usize = 40;
/// Time since the start in microseconds (64 bits), original length, captured length.
const RECORD_HEADER: usize = 16;
/// Entries of the frame table that are held at a time; each has 4 bytes.
const TABLE_PART: u32 = 16 << 10;
/// 100 ns units from 1601 (Windows) to 1970 (Unix).
const FILETIME_UNIX_EPOCH: i128 = 116_444_736_000_000_000;

/// A reader of one NetMon file.
#[derive(Debug)]
pub(super) struct NetMon {
    version_minor: u8,
    /// The link type of all frames in version 2.0; later each frame has its own.
    network: u16,
    start_ns: i64,
    table_offset: u64,
    frames: u32,
    /// The next frame to give out, and the part of the table that it is in.
    next: u32,
    part: Vec<u32>,
}

impl NetMon {
    /// Reads the file header.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Self, Stop> {
        window.rest(FILE_HEADER)?;
        let header = window.available();
        let version = (header.get(5).copied().unwrap_or(0), header.get(4).copied().unwrap_or(0));
        if version.0 != 2 {
            return Err(Stop::Unsupported(format!("NetMon version {}.{} is not supported", version.0, version.1)));
        }
        let start_ns = start(header)
            .ok_or_else(|| Stop::Bad { offset: 8, what: "the start date of the capture is invalid".into() })?;
        let (table_offset, table_bytes) = (u64::from(Little.u32(header, 24)), Little.u32(header, 28));
        if !table_bytes.is_multiple_of(4) {
            let what = format!("the length of the frame table, {table_bytes} bytes, is not a multiple of 4");
            return Err(Stop::Bad { offset: 28, what });
        }
        let (version_minor, network) = (version.1, Little.u16(header, 6));
        window.make_seekable()?;
        let frames = table_bytes / 4;
        Ok(Self { version_minor, network, start_ns, table_offset, frames, next: 0, part: Vec::new() })
    }

    /// Nanoseconds in a unit of the timestamps.
    pub(super) fn tick_ns(&self) -> u64 {
        if self.version_minor >= 3 { 100 } else { 1000 }
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(
        &mut self,
        window: &mut ByteWindow,
        anomalies: &mut CaptureAnomalies,
    ) -> Result<Option<Located>, Stop> {
        while self.next < self.frames {
            let at = self.frame_offset(window)?;
            self.next += 1;
            if let Some(located) = self.frame(window, at, anomalies)? {
                return Ok(Some(located));
            }
        }
        Ok(None)
    }

    /// Where the next frame stands, in bytes from the start of the file.
    fn frame_offset(&mut self, window: &mut ByteWindow) -> Result<u64, Stop> {
        let index = (self.next % TABLE_PART) as usize;
        if index == 0 {
            let count = TABLE_PART.min(self.frames - self.next) as usize;
            window.seek(self.table_offset + 4 * u64::from(self.next))?;
            window.rest(4 * count)?;
            let table = window.available().get(..4 * count).unwrap_or_default();
            self.part.clear();
            self.part.extend(table.chunks_exact(4).map(|entry| Little.u32(entry, 0)));
        }
        self.part.get(index).map(|&at| u64::from(at)).ok_or(Stop::Truncated)
    }

    /// The frame at `at`, None if it is a note of NetMon's own and no packet.
    fn frame(
        &self,
        window: &mut ByteWindow,
        at: u64,
        anomalies: &mut CaptureAnomalies,
    ) -> Result<Option<Located>, Stop> {
        window.seek(at)?;
        window.rest(RECORD_HEADER)?;
        let header = window.available();
        let (delta, original_len, captured) = (Little.u64(header, 0), Little.u32(header, 8), Little.u32(header, 12));
        if captured > MAX_PACKET_BYTES {
            let what = format!("a frame header says {captured} captured bytes; the limit is {MAX_PACKET_BYTES}");
            return Err(Stop::Bad { offset: at, what });
        }
        let len = captured as usize;
        let trailer_len = match self.version_minor {
            0 => 0,
            1 => 2,
            2 => 6,
            _ => 15,
        };
        window.rest(RECORD_HEADER + len + trailer_len)?;
        let trailer = window.available().get(RECORD_HEADER + len..).unwrap_or_default();
        let network = if trailer_len == 0 { self.network } else { Little.u16(trailer, 0) };
        let time_ns = if self.version_minor >= 3 {
            let since_1970 = i128::from(Little.u64(trailer, 6)) - FILETIME_UNIX_EPOCH;
            i64::try_from(since_1970 * 100).ok()
        } else {
            // Unsigned microseconds, which times ten are to be taken as signed: a frame may precede the start.
            let delta_ns = (delta.wrapping_mul(10) as i64).checked_mul(100);
            delta_ns.and_then(|delta_ns| self.start_ns.checked_add(delta_ns))
        };
        let start = window.place() + RECORD_HEADER as u64;
        window.consume(RECORD_HEADER + len + trailer_len);
        let Some(link) = link(network) else { return Ok(None) };
        anomalies.unusable_times += u64::from(time_ns.is_none());
        Ok(Some(Located { start, len, original_len, time_ns, link }))
    }
}

/// The link layer of a NetMon media type. None for NetMon's own records between the packets: network info, reassembled payload, cached
/// names. (As in Wireshark; filters and events have a frame number there and here.)
fn link(network: u16) -> Option<LinkType> {
    match network {
        0 | 1 => Some(LinkType::Ethernet),
        2 => Some(LinkType::Other(6)),
        3 => Some(LinkType::Other(10)),
        7..=9 => Some(LinkType::RawIp),
        0xfffc..=0xfffe => None,
        0xe080..=0xe08a => Some(LinkType::unregistered(u32::from(network))),
        0xe000..=0xefff => Some(LinkType::from_registry(u32::from(network & 0x0fff))),
        other => Some(LinkType::unregistered(u32::from(other))),
    }
}

/// The start of the capture from the file header's broken-down date, in nanoseconds since the epoch.
fn start(header: &[u8]) -> Option<i64> {
    let field = |at| i64::from(Little.u16(header, at));
    let (year, month, day) = (field(8), field(10), field(14));
    let (hour, minute, second, milli) = (field(16), field(18), field(20), field(22));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=2261).contains(&year) {
        return None;
    }
    // Days from the civil date, counted in years that begin in March so that the leap day is the last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(milli * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn the_start_is_told_from_a_broken_down_date() {
        // Friday 2010-02-19 13:25:30.000, the header of a capture that tshark dates 1266585930.
        let header = [0, 0, 0, 0, 0, 0, 0, 0, 0xda, 7, 2, 0, 5, 0, 19, 0, 13, 0, 25, 0, 30, 0, 0, 0];
        assert_eq!(start(&header), Some(1_266_585_930_000_000_000));
        let mut leap = header;
        leap[8..16].copy_from_slice(&[0xd0, 7, 2, 0, 2, 0, 29, 0]);
        leap[16..24].fill(0);
        assert_eq!(start(&leap), Some(951_782_400_000_000_000));
        leap[10] = 13;
        assert_eq!(start(&leap), None);
    }
}
