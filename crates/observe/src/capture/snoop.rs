//! The capture format of Solaris snoop.
//!
//! Spec: RFC 1761

use super::byte_window::ByteWindow;
use super::bytes::Order;
use super::error::Stop;
use super::link::LinkType;
use super::located::Located;
use super::{CaptureAnomalies, MAX_PACKET_BYTES};

/// The first eight bytes.
pub(super) const MAGIC: &[u8] = b"snoop\0\0\0";
/// Magic, version, data link type.
const FILE_HEADER: usize = 16;
/// Original length, included length, record length, cumulative drops, seconds, microseconds.
const RECORD_HEADER: usize = 24;
/// Maximum difference between the lengths of a record and its packet, bytes. Writers pad to 4; this leaves room for others.
const MAX_PADDING: u32 = 64 << 10;
/// Nanoseconds in a unit of the timestamp.
pub(super) const TICK_NS: u64 = 1000;

/// A reader of one snoop file.
#[derive(Debug)]
pub(super) struct Snoop {
    link: LinkType,
    /// Padding behind the last packet that was given out, in bytes.
    padding: usize,
    /// Packets that snoop had lost so far.
    drops: u32,
}

/// RFC 1761's numbers; link layers that are not in the registry keep their snoop number.
fn link(datalink: u32) -> LinkType {
    match datalink {
        0 | 4 => LinkType::Ethernet,
        2 => LinkType::Other(6),
        8 => LinkType::Other(10),
        other => LinkType::unregistered(other),
    }
}

impl Snoop {
    /// Reads the file header.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Self, Stop> {
        window.rest(FILE_HEADER)?;
        let header = window.available();
        let version = Order::Big.u32(header, 8);
        if version != 2 {
            return Err(Stop::Unsupported(format!("snoop version {version} is not supported")));
        }
        let link = link(Order::Big.u32(header, 12));
        window.consume(FILE_HEADER);
        Ok(Self { link, padding: 0, drops: 0 })
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(
        &mut self,
        window: &mut ByteWindow,
        anomalies: &mut CaptureAnomalies,
    ) -> Result<Option<Located>, Stop> {
        let padding = std::mem::take(&mut self.padding);
        window.rest(padding)?;
        window.consume(padding);
        if !window.record(RECORD_HEADER)? {
            return Ok(None);
        }
        let header = window.available();
        let field = |at| Order::Big.u32(header, at);
        let (original_len, captured, record) = (field(0), field(4), field(8));
        let (drops, seconds, micros) = (field(12), field(16), field(20));
        let padding = record.checked_sub(RECORD_HEADER as u32).and_then(|room| room.checked_sub(captured));
        let padding = match padding {
            Some(padding) if captured <= MAX_PACKET_BYTES && padding <= MAX_PADDING => padding as usize,
            _ => {
                let what = format!("a record header says {captured} captured bytes in a record of {record} bytes");
                return Err(Stop::Bad { offset: window.offset(), what });
            }
        };
        let len = captured as usize;
        window.rest(RECORD_HEADER + len)?;
        let start = window.place() + RECORD_HEADER as u64;
        window.pass(RECORD_HEADER + len);
        self.padding = padding;
        anomalies.reported_drops += u64::from(drops.saturating_sub(self.drops));
        self.drops = self.drops.max(drops);
        let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(micros) * TICK_NS as i64;
        Ok(Some(Located { start, len, original_len, time_ns: Some(time_ns), link: self.link }))
    }
}
