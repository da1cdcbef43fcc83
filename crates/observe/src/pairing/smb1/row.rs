//! One command of a request: a row of the table of transactions.

use serde::{Deserialize, Serialize};

use crate::pairing::Pending;

/// One command of a request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) pending: Pending,
    pub(super) command: u8,
    /// What its answer will teach.
    pub(super) binding: Binding,
}

/// The kind of fact that a request's answer adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Binding {
    /// Nothing.
    None,
    /// The FID that the path was opened with.
    Open,
    /// Likewise, for an open that is a transaction with this function.
    OpenBy(u16),
    /// The FID is free again.
    Close(u16),
    /// The TID of the share.
    Share,
    /// The TID is free again.
    NoShare,
    /// The UID of the user.
    User,
    /// The UID is free again.
    NoUser,
}

/// The id in a row: PID << 16 | MID, as in Wireshark's filters. Without PIDHigh, which has another meaning in clients before NT.
pub(super) fn shown(id: u64) -> u64 {
    id & 0xffff_ffff
}
