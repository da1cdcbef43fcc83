//! A segment that TCP sends again and again, because no copy of it arrives, while other packets pass: it is too large for the path.

use plimsoll_model::Stuck;

use crate::packet::Segment;

/// Copies of a segment that is stuck, at least: the loss of four one after the other is rare on a path that loses 10 % (1 in 10,000).
const COPIES: u64 = 4;
/// From the first retransmission to the last, ns: TCP doubles its timeout, which is 200 ms or longer (RFC 6298 5.5).
const STUCK_NS: i64 = 1_000_000_000;
/// A copy of less than this part of the former ones is another segment: TCP tries a smaller one (RFC 4821).
const SMALLER: f64 = 0.9;

/// The segment of one direction that was sent again last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeated {
    seq: u32,
    len: u32,
    /// Copies; 0: there is none.
    copies: u64,
    first_ns: i64,
    last_ns: i64,
    /// Its receiver sent something since.
    is_peer_there: bool,
    found: Stuck,
}

impl Repeated {
    /// Takes a retransmission.
    pub(super) fn again(&mut self, segment: &Segment<'_>, now_ns: i64) {
        let is_smaller = f64::from(segment.wire_len) < SMALLER * f64::from(self.len);
        if self.copies > 0 && segment.seq == self.seq && !is_smaller {
            (self.copies, self.last_ns) = (self.copies + 1, now_ns);
            return;
        }
        if self.copies > 0 && segment.seq == self.seq {
            self.settle();
        }
        let found = self.found;
        *self = Self {
            seq: segment.seq,
            len: segment.wire_len,
            first_ns: now_ns,
            last_ns: now_ns,
            copies: 2,
            found,
            ..Self::default()
        };
    }

    /// The receiver sent a segment, which acknowledges it or does not.
    pub(super) fn answered(&mut self, ack: u32) {
        self.is_peer_there = true;
        if ack.wrapping_sub(self.seq) as i32 > 0 {
            self.copies = 0;
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.copies > 0
    }

    fn settle(&mut self) {
        let passed_ns = self.last_ns.saturating_sub(self.first_ns);
        if self.copies >= COPIES && passed_ns >= STUCK_NS && self.is_peer_there {
            let (copies, ns, bytes) = (self.copies, passed_ns.unsigned_abs(), self.len);
            self.found.add(&Stuck { segments: 1, copies, ns, bytes });
        }
        self.copies = 0;
    }

    /// All that was stuck, one that still is too.
    pub(super) fn found(&self) -> Stuck {
        let mut last = *self;
        last.settle();
        last.found
    }
}
