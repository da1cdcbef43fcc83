//! Pieces of datagrams.

use plimsoll_model::{Anomaly, Sink};

use super::Observer;
use crate::packet::{self, Packet, Stamp};

/// Maximum number of reassemblies per frame: a tunnel's datagram, and the datagrams inside it.
const REASSEMBLIES_MAX: usize = 8;

impl<S: Sink> Observer<S> {
    /// Takes a piece of a datagram. The whole may be a tunnel's, and hold a piece of another.
    pub(super) fn fragment(&mut self, fragment: &packet::Fragment<'_>, stamp: Stamp) {
        let key = (fragment.piece.source, fragment.piece.destination, fragment.id, fragment.piece.protocol);
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.fragment(stamp.frame, key, fragment.offset, self.fragments.is_new(&key, stamp.time_ns));
        }
        self.fragments.began(self.span.0);
        let Some(mut whole) = self.fragments.add(fragment, stamp, 1) else {
            return self.fragment_counted(fragment);
        };
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.whole(stamp.frame, key);
        }
        for _ in 0..REASSEMBLIES_MAX {
            let next = match &packet::decode_whole(&whole.datagram()) {
                Packet::Fragment(inner) => match self.fragments.add(inner, whole.first, whole.packets) {
                    Some(next) => next,
                    None => return self.fragment_counted(inner),
                },
                packet => {
                    return self.packet(packet, whole.first, stamp, whole.packets);
                }
            };
            whole = next;
        }
        self.other(Anomaly::TunnelTooDeep);
    }

    /// Counts a fragment under its transport protocol, if its header shows it.
    fn fragment_counted(&mut self, fragment: &packet::Fragment<'_>) {
        match fragment.piece.protocol {
            6 => {
                self.packets.tcp += 1;
                self.packets.tcp_data += 1;
            }
            17 => self.packets.udp += 1,
            _ => self.packets.other += 1,
        }
    }
}
