//! Where a packet lies.

use super::link::LinkType;

/// The position of a packet in the window, and the fields of its record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Located {
    /// Its first byte, see [`ByteWindow::place`](super::byte_window::ByteWindow::place).
    pub(super) start: u64,
    pub(super) len: usize,
    pub(super) original_len: u32,
    pub(super) time_ns: Option<i64>,
    pub(super) link: LinkType,
}
