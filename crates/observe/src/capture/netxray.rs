//! The capture format of NetXRay 2.x and of the Windows Sniffer, for Ethernet captured on an ordinary adapter.
//!
//! There is no public specification. The layout was worked out by the authors of Wireshark (wiretap/netxray.c) and
//! is stated here in our own words; the sample that we test with agrees with tshark to the microsecond.
//!
//! The data may wrap: then it starts at `start`, runs to the end of the file and goes on behind the file header.

use super::byte_window::ByteWindow;
use super::bytes::Order::Little;
use super::error::Stop;
use super::link::LinkType;
use super::located::Located;
use super::{CaptureAnomalies, MAX_PACKET_BYTES};

/// The first four bytes.
pub(super) const MAGIC: &[u8] = b"XCP\0";
/// The file header, and where data goes on after it wrapped.
const FILE_HEADER: usize = 128;
/// Time (64 bits), original length, captured length, 28 bytes, two of which describe junk after the packet.
const RECORD_HEADER: usize = 40;
/// Behind a packet with `ff ff` in its header: a frame check sequence or junk, in bytes.
const TRAILER: u16 = 4;

/// A reader of one NetXRay file.
#[derive(Debug)]
pub(super) struct NetXRay {
    /// Seconds since the epoch at which the capture started.
    start_s: u32,
    /// The clock's reading at that moment.
    start_ticks: u64,
    ticks_per_second: u32,
    start: u64,
    end: u64,
    /// The data starts behind its end, and the end of the file was not reached yet.
    to_wrap: bool,
    first_missing: bool,
}

impl NetXRay {
    /// Reads the file header and goes to the first packet.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Self, Stop> {
        window.rest(FILE_HEADER)?;
        let header = window.available();
        let version = header.get(4..12).unwrap_or_default();
        let known = [b"002.000\0", b"002.001\0", b"002.002\0", b"002.003\0"];
        if !known.iter().any(|known| known.as_slice() == version) {
            let version = version.escape_ascii();
            return Err(Stop::Unsupported(format!("NetXRay version {version} is not supported")));
        }
        // The network type is counted from 0, or from 1 if the byte behind it is 2.
        let network = (header.get(44).copied().unwrap_or(0), header.get(45).copied().unwrap_or(0));
        let pod = header.get(84).copied().unwrap_or(0);
        if !matches!(network, (0, 0) | (1, 2)) || pod != 0 {
            let what = format!(
                "NetXRay network type {}/{} with capture hardware {pod} is not supported (supported: Ethernet with hardware 0)",
                network.0, network.1
            );
            return Err(Stop::Unsupported(what));
        }
        let ticks_per_second = match header.get(48).copied().unwrap_or(0) {
            0 => 1_000_000,
            1 => 1_193_000,
            2 => Little.u32(header, 76),
            other => {
                return Err(Stop::Unsupported(format!(
                    "NetXRay time unit {other} is not supported (supported: 0, 1 and 2)"
                )));
            }
        };
        if ticks_per_second == 0 {
            return Err(Stop::Bad { offset: 76, what: "the header says 0 clock ticks per second".into() });
        }
        let (start_s, start_ticks) = (Little.u32(header, 12), Little.u64(header, 52));
        let (start, end) = (u64::from(Little.u32(header, 24)), u64::from(Little.u32(header, 28)));
        if start < FILE_HEADER as u64 || end < FILE_HEADER as u64 {
            return Err(Stop::Bad { offset: 24, what: format!("invalid packet range: {start} to {end}") });
        }
        window.make_seekable()?;
        window.seek(start)?;
        Ok(Self { start_s, start_ticks, ticks_per_second, start, end, to_wrap: start > end, first_missing: false })
    }

    /// Nanoseconds in a tick, rounded up.
    pub(super) fn tick_ns(&self) -> u64 {
        1_000_000_000_u64.div_ceil(u64::from(self.ticks_per_second))
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(
        &mut self,
        window: &mut ByteWindow,
        anomalies: &mut CaptureAnomalies,
    ) -> Result<Option<Located>, Stop> {
        if window.offset() == self.end && !self.to_wrap {
            return if self.first_missing { Err(Stop::Truncated) } else { Ok(None) };
        }
        if !window.record(RECORD_HEADER)? {
            if !self.to_wrap {
                return Err(Stop::Truncated);
            }
            // A file that ends before its first packet: the rest is read, and then called truncated.
            self.first_missing = window.offset() == self.start;
            self.to_wrap = false;
            window.seek(FILE_HEADER as u64)?;
            return self.next(window, anomalies);
        }
        if !self.to_wrap && window.offset() > self.end {
            let what = format!("a record ends after offset {}, the end of the packet data", self.end);
            return Err(Stop::Bad { offset: window.offset(), what });
        }
        let header = window.available();
        let time_ns = self.time(Little.u64(header, 0));
        let (original, captured) = (Little.u16(header, 8), Little.u16(header, 10));
        let trailer = if header.get(14..16) == Some(&[0xff, 0xff]) { TRAILER } else { 0 };
        let Some(len) = captured.checked_sub(trailer) else {
            let what = format!("a record has {captured} bytes, but its trailer alone has {trailer} bytes");
            return Err(Stop::Bad { offset: window.offset(), what });
        };
        debug_assert!(u32::from(len) <= MAX_PACKET_BYTES);
        window.rest(RECORD_HEADER + usize::from(captured))?;
        let start = window.place() + RECORD_HEADER as u64;
        window.consume(RECORD_HEADER + usize::from(captured));
        anomalies.unusable_times += u64::from(time_ns.is_none());
        let original_len = u32::from(original.saturating_sub(trailer));
        Ok(Some(Located { start, len: usize::from(len), original_len, time_ns, link: LinkType::Ethernet }))
    }

    /// The clock's reading as nanoseconds since the epoch, rounded down.
    fn time(&self, ticks: u64) -> Option<i64> {
        let elapsed = i128::from(ticks) - i128::from(self.start_ticks);
        let elapsed_ns = (elapsed * 1_000_000_000).div_euclid(i128::from(self.ticks_per_second));
        i64::try_from(i128::from(self.start_s) * 1_000_000_000 + elapsed_ns).ok()
    }
}
