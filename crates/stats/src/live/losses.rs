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
    /// Whether that number is unknown: Linux may not show it.
    pub interface_unknown: bool,
    /// Packets that a pipe or files report as lost, whoever lost them. A pcap file can report none.
    pub reported: u64,
    /// How often the interface went down.
    pub downs: u64,
    /// Whether it is up now.
    pub state: InterfaceState,
}

impl LiveLosses {
    /// Since when the interface is down, ns since the Unix epoch.
    pub fn down_since_ns(&self) -> Option<i64> {
        match self.state {
            InterfaceState::DownSince(ns) => Some(ns),
            InterfaceState::NoInterface | InterfaceState::Up => None,
        }
    }
}

/// State of the interface of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceState {
    /// The input is a pipe or files.
    #[default]
    NoInterface,
    /// Packets are captured.
    Up,
    /// No packets are captured since this time, ns since the Unix epoch: the interface is down or was removed.
    DownSince(i64),
}
