//! A message under way, and the fields of its header that pair.

use plimsoll_wire::smb1::header::Header;
use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::pairing::ConnectionContext;

/// The fields of a header that pair.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Fields {
    /// PIDHigh << 32 | PID << 16 | MID, which pairs.
    pub(super) id: u64,
    pub(super) tid: u16,
    pub(super) uid: u16,
    pub(super) is_response: bool,
}

impl Fields {
    /// `None` where the header was cut off.
    pub(super) fn of(header: &Header<'_>) -> Option<Self> {
        Some(Self {
            id: u64::from(header.pid()?) << 16 | u64::from(header.mid()?),
            tid: header.tid()?,
            uid: header.uid()?,
            is_response: header.is_response()?,
        })
    }
}

/// A message under way.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'m, 'b> {
    pub(super) message: &'m Message<'b>,
    pub(super) fields: Fields,
    pub(super) direction: usize,
    pub(super) context: &'m ConnectionContext,
}
