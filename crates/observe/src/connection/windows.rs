//! Detects senders that wait because they have filled the receiver's window: it is smaller than the data of a round trip.

use std::net::IpAddr;

use plimsoll_model::SmallWindow;
use serde::{Deserialize, Serialize};

use crate::packet::Segment;

/// Minimum length of a wait, ns: a receiver needs some time to take the data.
const WAIT_NS: i64 = 1_000_000;
/// Less room is full, bytes: of a segment on Ethernet.
const ROOM: u32 = 1_460;
/// The largest shift of a window (RFC 7323 2.3).
const SHIFT_MAX: u8 = 14;

/// The data of one direction, and the window of their receiver.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Flow {
    /// Behind the last byte sent, and behind the last one acknowledged.
    sent: u32,
    acknowledged: u32,
    window: u32,
    /// The window was full until an acknowledgement: when it came, and how long after the last data.
    waited: Option<(i64, i64)>,
    waits: u64,
    wait_ns: u64,
    /// The largest that was full, bytes.
    largest_full: u32,
}

/// Both directions of a connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// By direction of the SYN: seen, and its scale.
    scales: [Option<Option<u8>>; 2],
    /// Window scale shifts, if both SYNs were captured: by direction of the segment with the window.
    shifts: Option<[u8; 2]>,
    flows: [Flow; 2],
}

impl Windows {
    /// A SYN. Only where both have a scale, windows are scaled.
    pub(super) fn syn(&mut self, segment: &Segment<'_>, direction: usize) {
        self.scales[direction] = Some(segment.window_scale);
        self.flows[direction].sent = segment.seq.wrapping_add(1);
        let scales = self.scales[0].zip(self.scales[1]);
        self.shifts = scales
            .map(|(low, high)| low.zip(high).map_or([0; 2], |(low, high)| [low, high].map(|by| by.min(SHIFT_MAX))));
    }

    /// Whether a segment ends a wait of the other end: its window was full, and it sent its last data `passed_ns` ago.
    #[inline(always)]
    pub(super) fn ends_wait(&self, direction: usize, passed_ns: Option<i64>) -> bool {
        self.shifts.is_some() && passed_ns.is_some_and(|passed_ns| passed_ns >= WAIT_NS) && self.is_full(1 - direction)
    }

    fn is_full(&self, direction: usize) -> bool {
        let flow = &self.flows[direction];
        let in_flight = flow.sent.wrapping_sub(flow.acknowledged);
        (1..=flow.window).contains(&in_flight) && flow.window - in_flight < ROOM
    }

    /// Records a wait for the full window.
    pub(super) fn note_wait(&mut self, direction: usize, now_ns: i64, passed_ns: i64) {
        self.flows[1 - direction].waited = Some((now_ns, passed_ns));
        let flow = &mut self.flows[1 - direction];
        flow.largest_full = flow.largest_full.max(flow.window);
    }

    /// Updates the windows. Call this after [`Self::ends_wait`].
    #[inline(always)]
    pub(super) fn segment(&mut self, segment: &Segment<'_>, direction: usize) {
        let Some(shifts) = self.shifts else { return };
        let end = segment.seq.wrapping_add(segment.wire_len);
        let flow = &mut self.flows[direction];
        if segment.wire_len > 0 && (end.wrapping_sub(flow.sent) as i32) > 0 {
            flow.sent = end;
        }
        let other = &mut self.flows[1 - direction];
        (other.acknowledged, other.window) = (segment.ack, u32::from(segment.window) << shifts[direction]);
    }

    /// Data came: of a wait that has ended it counts if the sender goes on within `goes_on_ns`.
    pub(super) fn data(&mut self, direction: usize, now_ns: i64, goes_on_ns: i64) {
        let flow = &mut self.flows[direction];
        if let Some((ended_ns, passed_ns)) = flow.waited.take()
            && now_ns.saturating_sub(ended_ns) <= goes_on_ns
        {
            flow.waits += 1;
            flow.wait_ns += passed_ns.unsigned_abs();
        }
    }

    /// The sender waited for another reason: it retransmits lost data.
    pub(super) fn forget(&mut self, direction: usize) {
        self.flows[direction].waited = None;
    }

    /// Whether a wait has ended, and the next data decide whether it counts.
    pub(super) fn is_active(&self) -> bool {
        self.flows.iter().any(|flow| flow.waited.is_some())
    }

    /// The findings, by direction.
    pub(super) fn found(&self, client: IpAddr) -> [SmallWindow; 2] {
        self.flows.map(|Flow { waits, wait_ns, largest_full: bytes, .. }| SmallWindow { client, waits, wait_ns, bytes })
    }
}
