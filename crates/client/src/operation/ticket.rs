//! Who requested an operation, when it is due, and the path that reports show for it.

use plimsoll_model::Symbol;

/// Identifies the requester: chosen by the caller, returned with everything that belongs to the operation. The engine's tags have the
/// client's number in the upper 32 bits and the slot's in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

impl Tag {
    /// The connecting itself: negotiation, logon, mount.
    pub const CONNECT: Tag = Tag(u64::MAX);
    /// The leaving: tree disconnect, logoff, unmount.
    pub const LEAVE: Tag = Tag(u64::MAX - 1);
    /// Below it are the binding of further connections to a session.
    const CHANNELS: u64 = u64::MAX - 2;

    /// The binding of another connection to a session: the channel of this number, from 1.
    #[must_use]
    pub const fn channel(channel: u32) -> Tag {
        Tag(Self::CHANNELS - channel as u64)
    }

    /// The channel whose binding this is. No client of an engine has so high a number.
    #[must_use]
    pub const fn bound_channel(self) -> Option<u32> {
        match Self::CHANNELS.checked_sub(self.0) {
            Some(channel) if channel >= 1 && channel <= MOST_CHANNELS as u64 => Some(channel as u32),
            _ => None,
        }
    }
}

/// Maximum number of connections per session. Windows clients have up to 64.
pub const MOST_CHANNELS: u32 = 64;

/// Facts about a requested operation that the operation does not contain.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The requester.
    pub tag: Tag,
    /// When the schedule meant it to start, ns since the Unix epoch; `None` where no schedule drives.
    pub intended: Option<i64>,
    /// The path acted on, for the record; `Symbol::NONE` where it is not recorded.
    pub path: Symbol,
}
