//! A segment that TCP retransmits repeatedly because no copy arrives, while other packets pass: it is too large for the path.

use plimsoll_model::Stuck;
use serde::{Deserialize, Serialize};

use crate::packet::Segment;

/// Minimum number of copies of a stuck segment: the loss of four in a row is rare on a path that loses 10 % (1 in 10,000).
const COPIES: u64 = 4;
/// From the first retransmission to the last, ns: TCP doubles its timeout, which is 200 ms or longer (RFC 6298 5.5).
const STUCK_NS: i64 = 1_000_000_000;
/// A copy of less than this part of the former ones is another segment: TCP tries a smaller one (RFC 4821).
const SMALLER: f64 = 0.9;

/// A segment of fewer bytes passes each path (RFC 791 has packets of 576 bytes).
const SMALL: u32 = 512;

/// The segment of one direction that was sent again last.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Repeated {
    seq: u32,
    len: u32,
    /// Number of copies; 0 without a retransmitted segment.
    copies: u64,
    first_ns: i64,
    last_ns: i64,
    /// Its receiver sent something since; and before the last copy.
    is_peer_there: bool,
    was_peer_there: bool,
    /// Its receiver sent a small segment again: acknowledgements do not arrive there either.
    is_cut_off: bool,
    /// Larger copies of the segment without an answer so far: a smaller one may still arrive, which shows that the receiver was there.
    unanswered: Unanswered,
    found: Found,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Unanswered {
    stuck: Stuck,
    from_ns: Option<i64>,
}

/// Segments that were stuck.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) stuck: Stuck,
    /// First and last retransmission of the first stuck segment, ns.
    pub(super) span_ns: Option<(i64, i64)>,
    /// Whether its receiver sent something meanwhile.
    pub(super) was_peer_there: bool,
    /// Stuck segments whose receiver sent nothing from then on.
    pub(super) unanswered: Stuck,
    /// First retransmission of the first of these, ns.
    pub(super) unanswered_from_ns: Option<i64>,
}

impl Repeated {
    /// Takes a retransmission.
    pub(super) fn again(&mut self, segment: &Segment<'_>, now_ns: i64) {
        let is_smaller = f64::from(segment.wire_len) < SMALLER * f64::from(self.len);
        if self.copies > 0 && segment.seq == self.seq && !is_smaller {
            (self.copies, self.last_ns) = (self.copies + 1, now_ns);
            self.was_peer_there = self.is_peer_there;
            return;
        }
        let is_same = self.copies > 0 && segment.seq == self.seq;
        if is_same {
            self.settle();
        }
        let (found, unanswered) = (self.found, if is_same { self.unanswered } else { Unanswered::default() });
        *self = Self {
            seq: segment.seq,
            len: segment.wire_len,
            first_ns: now_ns,
            last_ns: now_ns,
            copies: 2,
            unanswered,
            found,
            ..Self::default()
        };
    }

    /// The receiver sent a segment, which may acknowledge the stuck one. A RST does not show that the receiver was present meanwhile.
    pub(super) fn answered(&mut self, segment: &Segment<'_>) {
        let is_peer_there = !segment.flags.rst();
        let is_acknowledged = segment.flags.ack() && segment.ack.wrapping_sub(self.seq) as i32 > 0;
        self.is_peer_there |= is_peer_there;
        if is_acknowledged {
            self.copies = 0;
        }
        if is_acknowledged || is_peer_there {
            self.unanswered = Unanswered::default();
        }
    }

    /// The receiver sent something again itself.
    pub(super) fn receiver_repeats(&mut self, segment: &Segment<'_>) {
        self.is_cut_off |= segment.wire_len < SMALL;
    }

    pub(super) fn is_active(&self) -> bool {
        self.copies > 0
    }

    fn settle(&mut self) {
        let passed_ns = self.last_ns.saturating_sub(self.first_ns);
        let is_stuck = self.copies >= COPIES && passed_ns >= STUCK_NS;
        let stuck = Stuck { segments: 1, copies: self.copies, ns: passed_ns.unsigned_abs(), bytes: self.len };
        if is_stuck && !self.is_peer_there {
            self.unanswered.stuck.add(&stuck);
            self.unanswered.from_ns.get_or_insert(self.first_ns);
        } else if is_stuck && !self.is_cut_off {
            self.found.stuck.add(&stuck);
            if self.found.span_ns.is_none() {
                self.found.span_ns = Some((self.first_ns, self.last_ns));
                self.found.was_peer_there = self.was_peer_there;
            }
        }
        self.copies = 0;
    }

    /// All that was stuck, one that still is too, at the end of the connection.
    pub(super) fn found(&self) -> Found {
        let mut last = *self;
        last.settle();
        let Unanswered { stuck: unanswered, from_ns: unanswered_from_ns } = last.unanswered;
        Found { unanswered, unanswered_from_ns, ..last.found }
    }
}
