//! Finds the connection of a packet, and begins, replaces, packs and ends connections.

use plimsoll_model::{Anomaly, Endpoint, Sink};

use super::Observer;
use crate::connection::Connection;
use crate::packet::{Path, ip_address};
use crate::stream::{PACKINGS, Slot};

/// A connection without a SYN whose first packet comes this long after the capture's may have lost packets, ns: nearly all requests from
/// before the capture are answered by then.
const LATE_NS: i64 = 1_000_000_000;
/// Closed connections are looked for this often, ns.
const SWEEP_NS: i64 = 1_000_000_000;
/// Connections without packets for this time, or up to [`PACK_NS`] longer, are packed, ns: longer than between the packets by which most
/// clients keep an idle connection alive (TCP keep-alive, SMB2 ECHO, RENEW: a minute).
pub(super) const IDLE_NS: i64 = 120_000_000_000;
/// Idle connections are looked for this often, ns.
const PACK_NS: i64 = IDLE_NS / PACKINGS as i64;

impl<S: Sink> Observer<S> {
    /// Packs all connections, as otherwise those without packets for minutes. Nothing of them is lost: the next packet of a connection
    /// unpacks it. Those with answers whose requests have not come stay as they are, because these answers leave once they are idle.
    pub fn pack(&mut self) {
        if self.shared.smb2.decryption.is_none() {
            self.connections.pack(|connection| !connection.paired.pairing.has_early());
        }
    }

    /// How many connections are packed, and the bytes that they take.
    pub fn packed(&self) -> (usize, usize) {
        self.connections.packed()
    }

    #[inline(never)]
    pub(super) fn connection(&mut self, path: Path, udp: bool) -> (Slot, usize) {
        if self.ties.is_empty() {
            if self.span.1.saturating_sub(self.swept_ns) > SWEEP_NS {
                self.sweep();
            }
        } else if self.connections.is_full() {
            // None may wait in a place that another connection gets.
            self.release_all();
        }
        let begins_late = self.begins_late();
        let (number, decrypts) = (&mut self.numbered, self.shared.smb2.decryption.is_some());
        let (slot, direction, evicted) = self.connections.find(&path, udp, || {
            let source = Endpoint { ip: ip_address(path.source), port: path.source_port };
            let destination = Endpoint { ip: ip_address(path.destination), port: path.destination_port };
            let low_first = (path.source, path.source_port) <= (path.destination, path.destination_port);
            let ends = if low_first { [source, destination] } else { [destination, source] };
            *number += 1;
            Connection::new(*number - 1, ends, decrypts).begun(begins_late)
        });
        if let Some(mut evicted) = evicted {
            self.shared.output.anomalies.add(Anomaly::ConnectionEvicted);
            evicted.end(&mut self.shared, &mut self.packets);
        }
        (slot, direction)
    }

    /// Ends a connection; another one begins between the same ends.
    #[cold]
    pub(super) fn replace(&mut self, slot: Slot) {
        while self.release_first(Some(slot)) {}
        let begins_late = self.begins_late();
        let connection = self.connections.get(slot);
        connection.end(&mut self.shared, &mut self.packets);
        let (ends, decrypts) = (connection.ends(), self.shared.smb2.decryption.is_some());
        *connection = Connection::new(self.numbered, ends, decrypts).begun(begins_late);
        self.numbered += 1;
    }

    /// Whether the capture has been running for some time: a connection without a SYN may have lost packets.
    fn begins_late(&self) -> bool {
        self.span.1.saturating_sub(self.span.0) > LATE_NS
    }

    /// A connection has turned out to be one of a file server.
    #[cold]
    pub(super) fn first_message(&mut self, slot: Slot) {
        self.connections_used += 1;
        self.connections.keep_longer(slot);
    }

    /// Ends connections that were closed some time ago, and packs idle ones. Otherwise a capture of many short ones would fill the memory.
    #[cold]
    fn sweep(&mut self) {
        let now_ns = self.span.1;
        self.swept_ns = now_ns;
        if now_ns.saturating_sub(self.packed_ns) > PACK_NS {
            self.packed_ns = now_ns;
            // The keys of decrypted connections are not written anywhere.
            let packs = self.shared.smb2.decryption.is_none();
            let (shared, packets) = (&mut self.shared, &mut self.packets);
            self.connections.leave_idle(packs, |connection| connection.leave_idle(shared, packets));
        }
        while let Some(mut closed) = self.connections.take_closed(|connection| connection.is_over(now_ns)) {
            closed.end(&mut self.shared, &mut self.packets);
        }
    }
}
