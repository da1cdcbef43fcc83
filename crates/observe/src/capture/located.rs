//! Where a packet lies.

use super::link::LinkType;

/// Where a packet lies in the window, and what its record says of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Located {
    /// Its first byte, see [`Source::place`](super::source::Source::place).
    pub(super) start: u64,
    pub(super) len: usize,
    pub(super) original_len: u32,
    pub(super) time_ns: Option<i64>,
    pub(super) link: LinkType,
}
