//! Waits that TCP headers show: closed windows, delayed acknowledgements, retransmissions, the round trip of the handshake.
//!
//! Nearly all packets need only a comparison or two here.

use std::net::IpAddr;

use plimsoll_model::{Endpoint, MostResent, Network, Unopened};
use serde::{Deserialize, Serialize};

use super::lives::Life;
use super::stuck::{self, Repeated};
use super::windows::Windows;
use crate::packet::Segment;

/// Receivers delay acknowledgements by 40 ms (Linux) to 200 ms (RFC 1122 4.2.3.2 allows 500 ms), ns, beyond the round trip.
const DELAYED_NS: std::ops::RangeInclusive<i64> = 35_000_000..=250_000_000;
/// A sender that waited continues within this time after the end of the wait, ns.
const GOES_ON_NS: i64 = 10_000_000;
/// A SYN, or the answer to one, that comes again after so long was sent again, ns; sooner, the capture holds the same packet twice. Systems
/// wait for a second or longer.
const SYN_AGAIN_NS: i64 = 200_000_000;

/// The longest that TCP waits before it sends a segment again (RFC 6298 2.5 allows such a limit from 60 s on; Linux has 120 s), ns.
const RETRANSMISSION_TIMEOUT_MAX_NS: i64 = 120_000_000_000;

/// Current state of a connection, by direction of the waiting data.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Watch {
    /// Something is: each segment is looked at.
    is_active: bool,
    last_data_ns: [Option<i64>; 2],
    /// The receiver's window is 0: the time since which the sender has been waiting.
    closed_ns: [Option<i64>; 2],
    /// When it was last seen to be 0.
    closed_seen_ns: [i64; 2],
    /// It was opened: when, and for how long it had been closed.
    opened: [Option<(i64, i64)>; 2],
    /// An acknowledgement came late: when, and by how much more than a round trip after the data.
    acknowledged: [Option<(i64, i64)>; 2],
    /// Windows that are full.
    windows: Windows,
    /// Retransmitted segments.
    repeated: Option<Box<[Repeated; 2]>>,
    /// Delays before retransmissions are counted up to this time, so that no time counts twice.
    resent_until_ns: [i64; 2],
    /// Later data came, and earlier data are still missing: since when.
    hole_since_ns: [Option<i64>; 2],
    /// The SYN: its direction and time; its answer's time.
    syn: Option<(usize, i64)>,
    answered_ns: Option<i64>,
    /// The first SYN: its direction and time; the time of the last one; whether any was answered.
    first_syn: Option<(usize, i64)>,
    last_syn_ns: i64,
    answered_once: bool,
    /// When a handshake began in which the SYN or its answer was sent again. Unset when it is over.
    late_since_ns: Option<i64>,
    /// The end that closed the connection first, and when.
    closed_by: Option<(usize, i64)>,
    /// It closed it with a reset.
    is_reset: bool,
    /// Time until the answer to the SYN, and from there to the client's next segment, ns: the round trips from the capture to the server
    /// and to the client.
    handshake_ns: Option<(u64, u64)>,
    /// Other findings, by direction.
    found: Option<Box<Network>>,
}

impl Watch {
    /// Whether a segment without data must be looked at.
    #[inline(always)]
    pub(super) fn sees_empty(
        &mut self,
        segment: &Segment<'_>,
        direction: usize,
        now_ns: i64,
        acknowledges_all: bool,
    ) -> bool {
        let passed_ns = self.last_data_ns[1 - direction].map(|sent_ns| now_ns.wrapping_sub(sent_ns));
        let late = |passed_ns: i64| passed_ns >= *DELAYED_NS.start();
        let is_seen = self.is_active
            || segment.window == 0
            || segment.flags.syn()
            || acknowledges_all && passed_ns.is_some_and(late)
            || self.windows.ends_wait(direction, passed_ns);
        if !is_seen {
            self.windows.segment(segment, direction);
        }
        is_seen
    }

    /// Takes a segment without data. `is_inside`: a message of the other direction is incomplete.
    #[cold]
    pub(super) fn empty(
        &mut self,
        segment: Segment<'_>,
        direction: usize,
        now_ns: i64,
        (acknowledges_all, is_inside): (bool, bool),
    ) {
        let segment = &segment;
        self.answered(segment, direction);
        if segment.flags.syn() {
            self.syn(segment, direction, now_ns);
            self.windows.syn(segment, direction);
        } else {
            if segment.flags.rst() {
                self.late_since_ns = None;
            }
            self.handshake_ends(direction, now_ns);
            // A sender that stopped inside a message had filled the window before it was 0.
            let since_ns = self.last_data_ns[1 - direction].filter(|_| is_inside);
            self.window(segment, direction, now_ns, since_ns);
            let ends = segment.flags.fin() || segment.flags.rst();
            let gap = self.last_data_ns[1 - direction].map(|sent_ns| now_ns.saturating_sub(sent_ns));
            // A far receiver acknowledges a round trip later, without any delay of its own.
            let trip_ns = self.trip_to_ns(direction).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
            let delay = gap.map(|gap| gap.saturating_sub(trip_ns));
            let delay = delay.filter(|delay| acknowledges_all && is_inside && !ends && DELAYED_NS.contains(delay));
            self.acknowledged[1 - direction] = delay.map(|delay| (now_ns, delay));
            if let Some(gap) = gap.filter(|_| is_inside && !ends && self.windows.ends_wait(direction, gap)) {
                self.windows.note_wait(direction, now_ns, gap);
            }
        }
        self.windows.segment(segment, direction);
        self.settle();
    }

    /// Notes a segment with data, the `largest` of its direction being known.
    #[inline(always)]
    pub(super) fn data(&mut self, segment: &Segment<'_>, direction: usize, now_ns: i64, largest: u32) {
        if self.is_active || segment.window == 0 {
            self.rare_data(*segment, direction, now_ns, largest);
        }
        self.windows.segment(segment, direction);
        self.last_data_ns[direction] = Some(now_ns);
    }

    #[cold]
    #[inline(never)]
    fn rare_data(&mut self, segment: Segment<'_>, direction: usize, now_ns: i64, largest: u32) {
        let segment = &segment;
        self.answered(segment, direction);
        self.handshake_ends(direction, now_ns);
        self.windows.data(direction, now_ns, GOES_ON_NS);
        if let Some((opened_ns, closed)) = self.opened[direction].take()
            && now_ns.saturating_sub(opened_ns) <= GOES_ON_NS
        {
            self.found.get_or_insert_default().zero_windows[direction] += 1;
            self.found.get_or_insert_default().zero_window_ns[direction] += closed.unsigned_abs();
        }
        if let Some((acknowledged_ns, delay)) = self.acknowledged[direction].take()
            && now_ns.saturating_sub(acknowledged_ns) <= GOES_ON_NS
            && segment.wire_len < largest
        {
            self.found.get_or_insert_default().delayed_acks[direction] += 1;
            self.found.get_or_insert_default().delayed_ack_ns[direction] += delay.unsigned_abs();
        }
        self.window(segment, direction, now_ns, None);
        self.settle();
    }

    /// Notes a retransmission of bytes that were not acknowledged, before [`Watch::data`] does. The first copy is at least as old as the
    /// last segment of this direction; and, where later bytes had been sent (`is_newest` says that none had), as a round trip, without
    /// which the sender knows of no loss.
    #[cold]
    #[inline(never)]
    pub(super) fn retransmitted(
        &mut self,
        segment: &Segment<'_>,
        segments: u64,
        direction: usize,
        now_ns: i64,
        is_newest: bool,
    ) {
        let repeated = self.repeated.get_or_insert_default();
        repeated[direction].again(segment, now_ns);
        repeated[1 - direction].receiver_repeats(segment);
        self.is_active = true;
        self.found.get_or_insert_default().resent_segments[direction] += segments;
        self.windows.forget(direction);
        let stall = self.last_data_ns[direction].map_or(0, |last_ns| now_ns.saturating_sub(last_ns).max(0));
        let round_trip = self.trip_to_ns(1 - direction).filter(|_| !is_newest).and_then(|ns| i64::try_from(ns).ok());
        let delay = stall.max(round_trip.unwrap_or(0)).min(RETRANSMISSION_TIMEOUT_MAX_NS);
        let until_ns = &mut self.resent_until_ns[direction];
        let from_ns = now_ns.saturating_sub(delay).max(*until_ns);
        self.found.get_or_insert_default().resent_wait_ns[direction] +=
            u64::try_from(now_ns.saturating_sub(from_ns)).unwrap_or(0);
        *until_ns = now_ns.max(*until_ns);
    }

    /// Notes `late` segments that came after later ones. A segment that comes sooner than a round trip after them is no retransmission:
    /// its sender could not know yet that one was missing. `lacks`: earlier data are still missing.
    pub(super) fn overtaken(&mut self, late: u64, lacks: bool, direction: usize, now_ns: i64) {
        let to_sender_ns = self.trip_to_ns(direction);
        let since_ns = &mut self.hole_since_ns[direction];
        let passed_ns = since_ns.map(|since_ns| now_ns.saturating_sub(since_ns)).and_then(|ns| u64::try_from(ns).ok());
        if late > 0 && passed_ns.zip(to_sender_ns).is_some_and(|(passed_ns, to_sender_ns)| passed_ns < to_sender_ns) {
            self.found.get_or_insert_default().reordered_segments[direction] += late;
        }
        *since_ns = if lacks { since_ns.or(Some(now_ns)) } else { None };
    }

    /// Takes a segment from the receiver of the retransmitted data.
    fn answered(&mut self, segment: &Segment<'_>, direction: usize) {
        if let Some(repeated) = &mut self.repeated {
            repeated[1 - direction].answered(segment);
        }
    }

    /// Notes the window that the segment's sender offers to the other direction, whose data has been waiting since `since_ns`, if known.
    fn window(&mut self, segment: &Segment<'_>, direction: usize, now_ns: i64, since_ns: Option<i64>) {
        if segment.flags.rst() || segment.flags.fin() {
            return;
        }
        let waits = 1 - direction;
        if segment.window == 0 {
            match self.closed_ns[waits] {
                Some(_) => self.closed_seen_ns[waits] = now_ns,
                None => {
                    self.closed_ns[waits] = Some(since_ns.map_or(now_ns, |since_ns| since_ns.min(now_ns)));
                    self.closed_seen_ns[waits] = i64::MIN;
                }
            }
        } else if let Some(closed_ns) = self.closed_ns[waits].take() {
            self.opened[waits] = Some((now_ns, now_ns.saturating_sub(closed_ns).max(0)));
        }
    }

    fn syn(&mut self, segment: &Segment<'_>, direction: usize, now_ns: i64) {
        self.late_handshake(segment, now_ns);
        if segment.flags.ack() {
            self.answered_once = true;
        } else {
            self.first_syn.get_or_insert((direction, now_ns));
            self.last_syn_ns = now_ns;
        }
        match (segment.flags.ack(), self.syn) {
            // One that was sent again may be answered by the answer to the first.
            (false, Some(_)) => (self.syn, self.answered_ns) = (Some((2, now_ns)), None),
            (false, None) => self.syn = Some((direction, now_ns)),
            (true, Some((asked, _))) if asked == 1 - direction && self.answered_ns.is_none() => {
                self.answered_ns = Some(now_ns)
            }
            (true, _) => (self.syn, self.answered_ns) = (Some((2, now_ns)), None),
        }
    }

    /// Notes a SYN, or the answer to one, that is sent again.
    fn late_handshake(&mut self, segment: &Segment<'_>, now_ns: i64) {
        let Some((_, syn_ns)) = self.syn else { return };
        let before_ns = if segment.flags.ack() { self.answered_ns } else { Some(syn_ns) };
        let is_again = before_ns.is_some_and(|before_ns| now_ns.saturating_sub(before_ns) >= SYN_AGAIN_NS);
        if is_again && self.handshake_ns.is_none() && self.last_data_ns == [None; 2] {
            self.late_since_ns.get_or_insert(syn_ns);
        }
    }

    /// The first segment of the client behind the answer to its SYN.
    fn handshake_ends(&mut self, direction: usize, now_ns: i64) {
        if let Some(since_ns) = self.late_since_ns.take() {
            let found = self.found.get_or_insert_default();
            found.late_handshakes += 1;
            found.late_handshake_ns += u64::try_from(now_ns.saturating_sub(since_ns)).unwrap_or(0);
        }
        let (Some((asked, syn_ns)), Some(answered_ns)) = (self.syn, self.answered_ns) else { return };
        if asked != direction {
            return;
        }
        self.answered_ns = None;
        let passed = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).ok();
        if let Some(times) = passed(syn_ns, answered_ns).zip(passed(answered_ns, now_ns)) {
            self.handshake_ns = Some(times);
        }
    }

    /// The handshake's round trip between the capture point and the end that sends in this direction, ns. Unknown after a further SYN.
    fn trip_to_ns(&self, direction: usize) -> Option<u64> {
        let ((asked, _), (to_server, to_client)) = self.syn.zip(self.handshake_ns)?;
        (asked < 2).then_some(if asked == direction { to_client } else { to_server })
    }

    /// The handshake's round trip between the capture point and the client, ns; 0 if unknown.
    pub(super) fn to_client_ns(&self) -> u64 {
        self.handshake_ns.map_or(0, |(_, to_client)| to_client)
    }

    /// The round trip of the handshake between both ends, ns.
    pub(super) fn round_trip_ns(&self) -> Option<u64> {
        self.handshake_ns.map(|(to_server, to_client)| to_server + to_client)
    }

    fn settle(&mut self) {
        self.is_active = self.answered_ns.is_some()
            || self.late_since_ns.is_some()
            || self.closed_ns.iter().any(Option::is_some)
            || self.opened.iter().any(Option::is_some)
            || self.acknowledged.iter().any(Option::is_some)
            || self.windows.is_active()
            || self.repeated.iter().flat_map(|both| both.iter()).any(Repeated::is_active);
    }

    /// An end closes the connection.
    #[cold]
    pub(super) fn ends(&mut self, is_reset: bool, direction: usize, now_ns: i64) {
        if self.closed_by.is_none() {
            (self.closed_by, self.is_reset) = (Some((direction, now_ns)), is_reset);
        }
    }

    /// When the connection began, was used and was closed.
    pub(super) fn life(&self, client: usize, ip: IpAddr, server: Endpoint) -> Life {
        Life {
            server,
            client: ip,
            begin_ns: self.syn.map(|(_, syn_ns)| syn_ns),
            last_ns: self.last_data_ns.iter().flatten().max().copied(),
            used_ns: None,
            closed_ns: self.closed_by.filter(|(direction, _)| *direction != client).map(|(_, closed_ns)| closed_ns),
            reset: self.closed_by.filter(|_| self.is_reset).map(|(direction, ns)| (direction == client, ns)),
            waited: false,
            logged_off: false,
        }
    }

    /// The end that closed the connection first, and when.
    pub(super) fn closed_by(&self) -> Option<(usize, i64)> {
        self.closed_by
    }

    /// A connection of `client` that was not opened, by its SYN: it got a RST, or was sent again and got no answer.
    pub(super) fn unopened(&self, client: usize, ends: &[Endpoint; 2]) -> Option<Unopened> {
        let (asked, syn_ns) = self.first_syn?;
        let is_open = self.answered_once || self.last_data_ns != [None; 2];
        if asked != client || is_open {
            return None;
        }
        let refused = self.closed_by.is_some_and(|(direction, _)| direction != client);
        let is_again = self.last_syn_ns.saturating_sub(syn_ns) >= SYN_AGAIN_NS;
        (refused || is_again).then(|| Unopened {
            server: ends[1 - client],
            client: ends[client].ip,
            refused: u64::from(refused),
            unanswered: u64::from(!refused),
            wait_ns: self.last_syn_ns.abs_diff(syn_ns),
            first_ns: syn_ns,
            last_ns: self.last_syn_ns,
        })
    }

    /// Whether data came after this time.
    pub(super) fn has_data_after(&self, time_ns: i64) -> bool {
        self.last_data_ns.iter().flatten().any(|last_ns| *last_ns > time_ns)
    }

    /// Segments that no copy of was acknowledged, requests first.
    pub(super) fn stuck(&self, client: usize) -> [stuck::Found; 2] {
        let found = |repeated: &[Repeated; 2]| [client, 1 - client].map(|direction| repeated[direction].found());
        self.repeated.as_deref().map(found).unwrap_or_default()
    }

    /// For how long a window was closed that was not opened again, as far as its receiver repeated that: it does so when the sender asks
    /// because it has more, ns.
    fn still_closed_ns(&self, direction: usize) -> u64 {
        let passed = |closed_ns: i64| self.closed_seen_ns[direction].saturating_sub(closed_ns);
        self.closed_ns[direction].map_or(0, |closed_ns| u64::try_from(passed(closed_ns)).unwrap_or(0))
    }

    /// The findings, requests first, for a known client direction and address; `segments` counts data segments.
    pub(super) fn found(&self, client: usize, ip: IpAddr, segments: [u64; 2]) -> Network {
        let found = self.found.as_deref().copied().unwrap_or_default();
        let turn = |both: [u64; 2]| if client == 0 { both } else { [both[1], both[0]] };
        let still_ns = [0, 1].map(|direction| self.still_closed_ns(direction));
        let zero_window_ns = [0, 1].map(|at: usize| found.zero_window_ns[at].saturating_add(still_ns[at]));
        let zero_windows = [0, 1].map(|at: usize| found.zero_windows[at] + u64::from(still_ns[at] > 0));
        let closed_ns = turn(zero_window_ns)[1];
        let [low, high] = self.windows.found(ip);
        let small = if client == 0 { [low, high] } else { [high, low] };
        Network {
            zero_windows: turn(zero_windows),
            zero_window_ns: turn(zero_window_ns),
            slow_reader: (closed_ns > 0).then_some((ip, closed_ns)),
            small_windows: small.map(|one| one.waits),
            small_window_ns: small.map(|one| one.wait_ns),
            smallest_window: small.map(|one| (one.waits > 0).then_some(one)),
            delayed_acks: turn(found.delayed_acks),
            delayed_ack_ns: turn(found.delayed_ack_ns),
            data_segments: segments,
            resent_segments: turn(found.resent_segments),
            reordered_segments: turn(found.reordered_segments),
            resent_wait_ns: turn(found.resent_wait_ns),
            most_resent: MostResent::of(ip, found.resent_segments.iter().sum()),
            handshakes: u64::from(self.handshake_ns.is_some()),
            late_handshakes: found.late_handshakes,
            late_handshake_ns: found.late_handshake_ns,
            to_server_ns: self.handshake_ns.map(|(to_server, _)| to_server),
            to_client_ns: self.handshake_ns.map(|(_, to_client)| to_client),
        }
    }
}
