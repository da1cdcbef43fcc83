//! Losses of a capture.

/// Losses of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveLosses {
    /// Packets for which the kernel had no room.
    pub kernel: u64,
    /// How often its buffer was full.
    pub freezes: u64,
    /// Packets that the interface lost.
    pub interface: u64,
    /// How often the interface went down.
    pub downs: u64,
}
