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
        let may_open = segment.flags.syn() || self.connections.get(slot).opening.is_some();
        if may_open && self.opening(slot, direction, segment, stamp) {
            return;
        }
        if self.connections.get(slot).is_followed_by(segment, direction) {
            self.replace(slot);
        }
        let connection = self.connections.get(slot);
        connection.begin_data(segment, direction, stamp.time_ns);
        if connection.has_come_round(segment, direction, stamp.time_ns) {
            connection.come_round(segment.seq, direction, &mut self.shared, &mut self.packets);
        }
        if self.connections.get(slot).is_early(segment, direction) {
            let packet = TiedPacket::Segment(SegmentBuf::of(segment), stamp);
            return self.wait(Tied { slot, direction, packet }, stamp.time_ns);
        }
        self.take_rare(slot, direction, segment, stamp);
        if !self.ties.is_empty() {
            self.release_ready(slot);
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
            connection.opening = Some(Box::new(Opening::new(segment, direction, stamp)));
            self.packets.tcp_data += u64::from(segment.wire_len > 0);
            self.packets.ack_only += u64::from(segment.wire_len == 0);
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
