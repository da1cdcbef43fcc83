//! Patched tcpdumps of old Linux distributions and of Nokia's appliances write longer record headers with the magic number of another
//! variant.
//!
//! The first records identify such a file: they are invalid with the usual record header, and valid with exactly one of the other
//! lengths. A file for which that is not certain is read with the usual length.

use super::super::MAX_PACKET_BYTES;
use super::super::byte_window::{ByteWindow, LONGEST_NEED};
use super::super::bytes::Order;
use super::super::error::Stop;
use super::{MODIFIED_RECORD_HEADER, RECORD_HEADER};

/// Red Hat Linux 6.1: interface, protocol, packet type.
const RED_HAT_RECORD_HEADER: usize = MODIFIED_RECORD_HEADER;
/// Nokia's IPSO: four additional bytes.
const NOKIA_RECORD_HEADER: usize = 20;
/// SuSE Linux 6.3: interface, protocol, packet type, two processors, padding.
const SUSE_RECORD_HEADER: usize = 28;

/// Records that are looked at.
const LOOKED_AT: usize = 4;
/// Minimum number of valid records before an unusual length is accepted.
const ENOUGH: usize = 2;
/// A packet is not expected to have been longer, in bytes, nor its timestamp further from the first, in seconds.
const LONGEST_PACKET: u32 = 1 << 20;
const FAR_S: u32 = 30 * 86_400;
/// Microseconds in a second.
const MICROSECONDS: u32 = 1_000_000;

/// Result of reading the first records with a certain header length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    /// Number of complete valid records; no record is invalid.
    Holds(usize),
    Contradicted,
}

/// The length of the record headers, and the reason why reading stopped, which is reported after the records before it were returned.
pub(super) fn record_header(window: &mut ByteWindow, order: Order, usual: usize) -> (usize, Option<Stop>) {
    let others: &[usize] = match usual {
        RECORD_HEADER => &[RED_HAT_RECORD_HEADER, NOKIA_RECORD_HEADER],
        _ => &[SUSE_RECORD_HEADER],
    };
    let mut stopped = None;
    let mut holds = |header| trial(window, order, header, &mut stopped);
    if holds(usual) != Trial::Contradicted {
        return (usual, stopped);
    }
    let mut believed = others.iter().copied().filter(|&header| matches!(holds(header), Trial::Holds(ENOUGH..)));
    let found = match (believed.next(), believed.next()) {
        (Some(only), None) => only,
        _ => usual,
    };
    (found, stopped)
}

/// Reads the first records with headers of this length.
fn trial(window: &mut ByteWindow, order: Order, header: usize, stopped: &mut Option<Stop>) -> Trial {
    let (mut at, mut first_s) = (0, None);
    for whole in 0..LOOKED_AT {
        if !has(window, at + RECORD_HEADER, stopped) {
            return Trial::Holds(whole);
        }
        let field = |offset| order.u32(window.available(), at + offset);
        let (seconds, fraction, captured, original) = (field(0), field(4), field(8), field(12));
        let near = seconds.abs_diff(*first_s.get_or_insert(seconds)) <= FAR_S;
        if !near
            || fraction >= MICROSECONDS
            || captured > MAX_PACKET_BYTES
            || captured > original
            || original > LONGEST_PACKET
        {
            return Trial::Contradicted;
        }
        at += header + captured as usize;
        if !has(window, at, stopped) {
            return Trial::Holds(whole);
        }
    }
    Trial::Holds(LOOKED_AT)
}

/// Whether the window has `bytes` bytes. False at the end of the file, or if `bytes` is too large for this check.
fn has(window: &mut ByteWindow, bytes: usize, stopped: &mut Option<Stop>) -> bool {
    if window.available().len() >= bytes {
        return true;
    }
    if bytes > LONGEST_NEED || stopped.is_some() {
        return false;
    }
    match window.need(bytes) {
        Ok(there) => there,
        Err(stop) => {
            *stopped = Some(stop);
            false
        }
    }
}
