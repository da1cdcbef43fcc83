//! What a call asks for.

use plimsoll_model::{Asked, Disposition, FileAccess};
use plimsoll_wire::nfs::Facts;

/// Notes which bytes are asked for, and how a file is opened.
#[inline]
pub(super) fn note_asked(asked: &mut Asked, facts: &Facts<'_>) {
    asked.offset = facts.offset;
    asked.bytes = facts.asked_bytes();
    // DATA_SYNC and FILE_SYNC.
    asked.durable = facts.stable.map(|stable| stable > 0);
    asked.disposition = facts.disposition().and_then(Disposition::of_number);
    asked.access = facts.access.map(FileAccess::of_share_access);
}
