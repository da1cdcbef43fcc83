//! Segments of TCP, on their way to their connections.

use plimsoll_model::Sink;

use super::Observer;
use crate::connection::Opening;
use crate::message::Framing;
use crate::packet::{Path, Segment, SegmentBuf, Stamp};
use crate::stream::Slot;
use crate::ties::{Tied, TiedPacket};

impl<S: Sink> Observer<S> {
    #[inline]
    pub(super) fn segment(&mut self, path: &Path, segment: &Segment<'_>, stamp: Stamp) {
        self.packets.tcp += 1;
        let (slot, direction) = match self.connections.find_again(path, false) {
            Some(found) => found,
            None => self.connection(*path, false),
        };
        let connection = self.connections.get(slot);
        let is_rare = segment.flags.opens_or_ends()
            || connection.opening.is_some()
            || connection.is_closed()
            || connection.begins_data(segment, direction)
            || connection.was_silent(direction, stamp.time_ns);
        if !is_rare && self.ties.is_empty() && !connection.is_early(segment, direction) {
            // As nearly all are.
            let used = connection.framed.framing != Framing::Unknown;
            connection.segment(segment, direction, stamp, &mut self.shared, &mut self.packets);
            if !used && connection.framed.framing != Framing::Unknown {
                self.first_message(slot);
            }
            return;
        }
        self.rare_segment((slot, direction), *segment, stamp);
    }

    /// Takes a segment that may open a connection or end it, the first one with data, an early one, one after a silence, and any segment
    /// while others wait.
    #[cold]
    #[inline(never)]
    fn rare_segment(&mut self, (slot, direction): (Slot, usize), segment: Segment<'_>, stamp: Stamp) {
        let segment = &segment;
        if let Some(first) = self.connections.get(slot).take_wrapped(segment, direction) {
            self.continue_behind_wrap(slot, &first, stamp.time_ns);
        }
        let may_open = segment.flags.syn() || self.connections.get(slot).opening.is_some();
        if may_open && self.opening(slot, direction, segment, stamp) {
            return;
        }
        if self.connections.get(slot).is_followed_by(segment, direction) {
            self.replace(slot);
        }
        let connection = self.connections.get(slot);
        connection.begin_data(segment, direction, stamp.time_ns);
        if connection.may_have_come_round(segment, direction, stamp.time_ns) {
            return self.hold_back(slot, Opening::wrapped(segment, direction, stamp));
        }
        self.take_or_wait(slot, direction, segment, stamp);
    }

    /// Takes a segment now, or after earlier ones of the same time.
    #[cold]
    fn take_or_wait(&mut self, slot: Slot, direction: usize, segment: &Segment<'_>, stamp: Stamp) {
        if self.connections.get(slot).is_early(segment, direction) {
            let packet = TiedPacket::Segment(SegmentBuf::of(segment), stamp);
            return self.wait(Tied { slot, direction, packet }, stamp.time_ns);
        }
        self.take_rare(slot, direction, segment, stamp);
        if !self.ties.is_empty() {
            self.release_ready(slot);
        }
    }

    /// Counts a segment that waits for another one to confirm it.
    #[cold]
    fn hold_back(&mut self, slot: Slot, opening: Opening) {
        let has_data = opening.segment().0.wire_len > 0;
        self.packets.tcp_data += u64::from(has_data);
        self.packets.ack_only += u64::from(!has_data);
        self.connections.get(slot).opening = Some(Box::new(opening));
    }

    /// Continues a stream whose sequence numbers have wrapped with the first segment behind the wrap.
    #[cold]
    fn continue_behind_wrap(&mut self, slot: Slot, first: &Opening, now_ns: i64) {
        let (segment, direction, stamp) = first.segment();
        // From now on it counts like any other segment.
        self.packets.tcp_data -= u64::from(segment.wire_len > 0);
        self.packets.ack_only -= u64::from(segment.wire_len == 0);
        let connection = self.connections.get(slot);
        connection.come_round(segment.seq, direction, &mut self.shared, &mut self.packets);
        // Only packets of the same time may be out of order.
        if stamp.time_ns == now_ns {
            self.take_or_wait(slot, direction, &segment, stamp);
        } else {
            self.take_rare(slot, direction, &segment, stamp);
        }
    }

    /// Takes a rare segment, outside the code for the common case.
    #[cold]
    pub(super) fn take_rare(&mut self, slot: Slot, direction: usize, segment: &Segment<'_>, stamp: Stamp) {
        let connection = self.connections.get(slot);
        let used = connection.framed.framing != Framing::Unknown;
        connection.rare_segment(*segment, direction, stamp, &mut self.shared, &mut self.packets);
        let is_closed = segment.flags.ends() && connection.is_closed();
        if !used && connection.framed.framing != Framing::Unknown {
            self.first_message(slot);
        }
        if is_closed {
            self.connections.note_closed(slot);
        }
    }

    /// A SYN may open another connection between the same ends. It is accepted when it is answered, or when its sender continues after
    /// it; a stray SYN leaves the connection as it is. Returns whether the segment needs no further work.
    #[cold]
    fn opening(&mut self, slot: Slot, direction: usize, segment: &Segment<'_>, stamp: Stamp) -> bool {
        let connection = self.connections.get(slot);
        let confirmed = connection.take_confirmed(segment, direction);
        let other_start = segment.flags.syn() && connection.tcp_flows[direction].is_other_start(segment.seq);
        let may_be_stray = !segment.flags.ack() || connection.is_acknowledged_by(segment, direction);
        if other_start && confirmed.is_none() && may_be_stray {
            self.hold_back(slot, Opening::new(segment, direction, stamp));
            return true;
        }
        if other_start || confirmed.is_some() {
            self.replace(slot);
        }
        if let Some(opening) = confirmed {
            let (syn, direction, stamp) = opening.segment();
            let connection = self.connections.get(slot);
            connection.confirmed(&syn, direction, stamp, &mut self.shared, &mut self.packets);
        }
        false
    }
}
