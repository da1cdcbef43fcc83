//! Asking memory for what will be looked at soon.
//!
//! Of a large packet only the headers are looked at, and where the next one begins stands in the record before: a chain in which
//! each link waits for memory. But packets come in runs of one length, so a guess breaks it; a wrong one costs a line of the cache.

/// Records shorter than this, in bytes, are looked at whole.
const WHOLE: usize = 512;
/// Distance of the prefetch for short records, bytes.
const SHORT_AHEAD: usize = 1_024;
/// Distance of the prefetch for long ones, in records of the same length.
const LONG_AHEAD: usize = 4;
/// Bytes to prefetch of a long record: its own header and those of Ethernet, IP and TCP.
const HEADERS: usize = 128;
/// Bytes in a line of the cache.
const LINE: usize = 64;

/// Prefetches records after `at`, assuming that they are as long as the last one: `record` bytes.
#[inline]
pub(super) fn ask(window: &[u8], at: usize, record: usize) {
    let (from, bytes) = if record < WHOLE { (at + SHORT_AHEAD, record) } else { (at + LONG_AHEAD * record, HEADERS) };
    ask_range(window, from, bytes);
}

/// A packet of `len` bytes at `at` will be looked at.
#[inline]
pub(super) fn ask_packet(window: &[u8], at: usize, len: usize) {
    ask_range(window, at, if len < WHOLE { len } else { HEADERS });
}

#[inline]
fn ask_range(window: &[u8], from: usize, bytes: usize) {
    // None at the end of the window, where it does not matter.
    let soon = window.get(from..from + bytes).unwrap_or_default();
    // A plain loop: it runs for every packet, and takes half the time of `chunks`.
    let mut line = 0;
    while let Some(byte) = soon.get(line) {
        prefetch(byte);
        line += LINE;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn prefetch<T>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch does not load data into the program, and the address is that of a live value.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
}

/// Elsewhere there is no such call in stable Rust, and nothing is asked.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn prefetch<T>(_value: &T) {}
