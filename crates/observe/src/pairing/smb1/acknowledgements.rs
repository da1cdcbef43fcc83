//! Acknowledgements of oplock breaks: a server answers one only if it refuses it.
//!
//! Spec: MS-CIFS 3.3.5.30

use std::collections::VecDeque;

use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::locking::Locking;
use serde::{Deserialize, Serialize};

use super::arrival::Arrival;
use super::exchange::Exchange;

/// Acknowledgements that are remembered on a connection: a server refuses one at once.
const ACKNOWLEDGEMENTS_MAX: usize = 16;

/// The last acknowledgements of a connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Acknowledgements(VecDeque<Exchange>);

impl Acknowledgements {
    pub(super) fn add(&mut self, one: Exchange) {
        if self.0.len() >= ACKNOWLEDGEMENTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(one);
    }

    /// Another request uses this id.
    #[inline]
    pub(super) fn forget(&mut self, id: u64) {
        if !self.0.is_empty() {
            self.0.retain(|one| one.id != id);
        }
    }

    /// Takes out the acknowledgement that this response refuses.
    pub(super) fn take_refused(&mut self, command: u8, arrival: &Arrival<'_, '_>) -> Option<Exchange> {
        let is_it = |one: &Exchange| {
            one.id == arrival.fields.id
                && one.is_answered_by(command, arrival)
                && !one.is_ambiguous(arrival.message, arrival.context)
        };
        let at = self.0.iter().position(is_it)?;
        self.0.remove(at)
    }
}

/// Whether a command only acknowledges a break.
pub(super) fn is_acknowledgement(command: &Command<'_>) -> bool {
    Locking::new(command).is_some_and(|locking| locking.is_oplock_acknowledgment())
}
