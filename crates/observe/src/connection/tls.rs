//! RPC over TLS in the streams of a connection: where records begin, and the effect of holes among them.

use super::may_be_client;
use super::stream_consumer::{Messages, Paired, StreamConsumer, count_data};
use crate::message::Framing;
use crate::message::tls::{Taken, TlsRecords};
use crate::missing::client_by_port;
use crate::stream::Chunk;

/// The port of NFS, also over TLS (RFC 9289 7).
const NFS: u16 = 2049;

impl<S> Messages<'_, S> {
    /// A record of TLS begins at `offset`.
    fn tls_record(&mut self, offset: u64, head: &[u8]) {
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.tls_record(self.paired.context.connection, self.direction, offset, head);
        }
    }
}

impl<S> StreamConsumer<'_, S> {
    /// Takes bytes that may be in the middle of a TLS stream with NFS, whose framing is unknown; returns whether they are.
    #[cold]
    pub(super) fn shows_tls(&mut self, chunk: &Chunk<'_>) -> bool {
        let direction = self.messages.direction;
        if self.messages.paired.context.ends.iter().all(|end| end.port != NFS) {
            return false;
        }
        if self.framed.tls.is_none() {
            self.framed.tls = TlsRecords::supposed(chunk).map(Box::new);
        }
        let Some(tls) = &mut self.framed.tls else { return false };
        let messages = &mut self.messages;
        if tls.take(chunk, direction, |offset, head| messages.tls_record(offset, head)) == Taken::NoTls {
            self.framed.tls = None;
        } else if tls.is_certain() {
            self.framed.framing = Framing::Rpc;
            self.framed.first_bytes = Default::default();
            return true;
        }
        false
    }

    /// Takes bytes of a file server's connection that may be TLS; returns whether they are.
    #[inline(never)]
    pub(super) fn is_tls(&mut self, chunk: &Chunk<'_>) -> bool {
        let (direction, framed) = (self.messages.direction, &mut *self.framed);
        if framed.tls.is_none() {
            if framed.framers[direction].is_inside() || !self.messages.paired.pairing.asked_for_tls() {
                return false;
            }
            framed.tls = Some(Box::new(TlsRecords::asked_for()));
        }
        let Some(tls) = &mut framed.tls else { return false };
        let messages = &mut self.messages;
        match tls.take(chunk, direction, |offset, head| messages.tls_record(offset, head)) {
            Taken::NoTls => framed.tls = None,
            Taken::Records(begun) => {
                let Paired { pairing, context, ledger } = &mut *self.messages.paired;
                ledger.read_up_to(direction, chunk.end(), context.breaks[direction]);
                let client = pairing.client.or_else(|| client_by_port(&context.ends));
                count_data(begun, false, may_be_client(client, direction), self.packets);
                if begun > 0 {
                    self.messages.shared.output.responded(context, direction, client, chunk.stamp.time_ns);
                }
            }
        }
        true
    }

    /// Bytes of a TLS stream are missing; false for a stream without TLS.
    #[cold]
    pub(super) fn tls_hole(&mut self, len: u64, acknowledged: bool) -> bool {
        let direction = self.messages.direction;
        let Some(tls) = &mut self.framed.tls else { return false };
        tls.hole(len, direction);
        if tls.is_certain() {
            self.framed.holes[direction].add(len, acknowledged);
        }
        tls.is_certain()
    }
}
