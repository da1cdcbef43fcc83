//! Jumps: a stream continues at a position that is unrelated to the bytes so far.

use super::{JUMP_MAX, TcpFlow, is_ahead};
use crate::stream::{Receiver, offset};

/// No sender goes back so far behind acknowledged bytes, bytes: more than the windows that systems use.
const BEHIND_MIN: u64 = 64 << 20;

impl TcpFlow {
    /// Whether a sequence number is further behind the acknowledged bytes than a sender goes back.
    pub fn is_far_behind(&self, seq: u32) -> bool {
        let start = offset::nearest(seq, self.next);
        self.known && start.saturating_add(BEHIND_MIN) < self.next.min(self.acknowledged)
    }

    /// Whether `ack` is ahead of all acknowledgements so far, but not further ahead than a window may be.
    pub fn is_first_ack(&self, ack: u32) -> bool {
        let acked = offset::nearest(ack, self.next);
        self.known && acked > self.acknowledged && acked.saturating_sub(self.next) <= JUMP_MAX
    }

    /// Whether data at this sequence number would be the first of the stream, with missing bytes before them, and behind all acknowledged
    /// bytes.
    pub fn begins_behind(&self, seq: u32) -> bool {
        let is_behind_acknowledged = || offset::nearest(seq, self.next) >= self.acknowledged;
        self.known && !self.is_followed() && is_ahead(seq, self.next) && is_behind_acknowledged()
    }

    /// The bytes before these first data passed before the capture began, unless they still come.
    pub fn begin_later(&mut self) {
        self.begins_later = true;
    }

    /// The stream continues at this sequence number, after its sequence numbers have wrapped.
    pub fn come_round(&mut self, seq: u32, out: &mut impl Receiver) {
        self.jump(offset::nearest(seq, self.next), out);
    }

    /// The stream continues at `start`; returns the offset of this position from now on. If no bytes came before, this is no loss.
    pub(super) fn jump(&mut self, start: u64, out: &mut impl Receiver) -> u64 {
        if self.is_followed() {
            self.finish(out);
            out.restart();
        }
        // Never back: offsets stay comparable, and far from 0.
        let ahead = if start < self.next { start + (1 << 32) } else { start };
        (self.next, self.acknowledged) = (ahead, ahead);
        // The number of bytes since the first one is not known any more.
        self.origin = None;
        ahead
    }
}
