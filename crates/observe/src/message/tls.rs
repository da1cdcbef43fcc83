//! The TLS records of RPC over TLS: counted by their headers, not read.
//!
//! Spec: RFC 8446 5.1; RFC 9289 5

use plimsoll_model::RpcTlsConnection;
use serde::{Deserialize, Serialize};

use crate::connection_context::ConnectionContext;
use crate::stream::Chunk;

const HEADER: usize = 5;
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// The type of a ServerHello, the first byte of its record (RFC 8446 4).
const SERVER_HELLO: u8 = 2;
/// Payload of a record, at most: 16 KiB and 256 bytes for its protection (RFC 8446 5.2).
const LONGEST: u32 = (16 << 10) + 256;
/// Type of the content and tag of the cipher, which every encrypted record has, bytes.
const PROTECTION: u32 = 17;
/// A record with the most data: its message goes on in the next one.
const FULL: u32 = (16 << 10) + PROTECTION;
/// Records, each exactly behind the one before, that show TLS where its beginning was not captured.
const IN_A_ROW: u32 = 4;
/// Record mark and header of the shortest RPC call (RFC 5531 9), bytes.
const SHORTEST_CALL: u64 = 44;

/// Where a direction stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// Unknown: the next segment may begin with a record.
    #[default]
    Lost,
    /// Before a record, or in its header.
    Header,
    /// Inside a record, of which this number of bytes is to come.
    Inside(u32),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Flow {
    place: Place,
    /// The bytes of a header so far.
    head: Vec<u8>,
    in_a_row: u32,
    /// Records with application data.
    records: u64,
    /// Their bytes, headers included.
    bytes: u64,
    /// Bytes of application data.
    data: u64,
    /// Records that end a message, unless more messages are in the record.
    messages: u64,
    /// Bytes that were not captured, outside known records.
    lost: u64,
}

/// The TLS records of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TlsRecords {
    flows: [Flow; 2],
    /// The client asked for TLS (AUTH_TLS).
    is_asked: bool,
    /// Records in a row show TLS.
    is_evident: bool,
    /// The direction of the handshake's client, if the handshake was captured.
    hello: Option<usize>,
    /// The client's Finished has come, which ends the handshake.
    is_open: bool,
}

/// What a chunk brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Number of records that began.
    Records(u32),
    /// No record where one must be: what was found before was not TLS.
    NoTls,
}

/// Whether a stream may go on with a TLS record here.
#[inline]
pub(crate) fn may_begin_record(bytes: &[u8]) -> bool {
    matches!(bytes, [CHANGE_CIPHER_SPEC..=APPLICATION_DATA, 3, ..])
}

impl TlsRecords {
    /// Of a client that asked for TLS.
    pub(crate) fn asked_for() -> Self {
        Self { is_asked: true, ..Self::default() }
    }

    /// Of a connection that may be in the midst of TLS.
    pub(crate) fn supposed(chunk: &Chunk<'_>) -> Option<Self> {
        let header = chunk.bytes.first_chunk().and_then(record)?;
        matches!(header.0, HANDSHAKE | APPLICATION_DATA).then(Self::default)
    }

    /// Whether this is TLS.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_asked || self.is_evident
    }

    /// Takes bytes in order. `begins` gets the place of each record with its header, and the type of the message if it is a handshake.
    pub(crate) fn take(&mut self, chunk: &Chunk<'_>, direction: usize, mut begins: impl FnMut(u64, &[u8])) -> Taken {
        let (mut at, mut begun, wire_len) = (0, 0, chunk.wire_len as usize);
        while at < wire_len {
            let flow = &mut self.flows[direction];
            match flow.place {
                Place::Inside(rest) => {
                    let step = (rest as usize).min(wire_len - at);
                    at += step;
                    flow.step(rest - step as u32);
                }
                Place::Lost if at > 0 => break,
                Place::Lost | Place::Header => {
                    let was_lost = flow.place == Place::Lost;
                    let rest = chunk.bytes.get(at..).unwrap_or_default();
                    let more = rest.get(..HEADER - flow.head.len()).unwrap_or(rest);
                    flow.head.extend_from_slice(more);
                    at += more.len();
                    let Some(header) = flow.head.first_chunk::<HEADER>().copied() else {
                        // The snap length, or the end of the segment.
                        if at < wire_len {
                            flow.lose()
                        } else {
                            flow.place = Place::Header
                        }
                        break;
                    };
                    let Some((kind, len)) = record(&header) else {
                        flow.lose();
                        if !was_lost && !self.is_asked {
                            return Taken::NoTls;
                        }
                        break;
                    };
                    begun += 1;
                    flow.head.clear();
                    flow.in_a_row += 1;
                    flow.step(len);
                    let first = chunk.bytes.get(at).copied();
                    let [h0, h1, h2, h3, h4] = header;
                    let head = [h0, h1, h2, h3, h4, first.unwrap_or(0)];
                    let head_len = HEADER + usize::from(kind == HANDSHAKE && first.is_some());
                    let offset = (chunk.offset + at as u64).saturating_sub(HEADER as u64);
                    begins(offset, head.get(..head_len).unwrap_or(&header));
                    self.begin(kind, len, first, direction);
                }
            }
        }
        Taken::Records(begun)
    }

    /// Bytes are missing.
    pub(crate) fn hole(&mut self, len: u64, direction: usize) {
        let flow = &mut self.flows[direction];
        match flow.place {
            Place::Inside(rest) if u64::from(rest) >= len => flow.step(rest - len as u32),
            place => {
                let known = if let Place::Inside(rest) = place { u64::from(rest) } else { 0 };
                flow.lost = flow.lost.saturating_add(len - known);
                flow.lose();
            }
        }
    }

    /// The stream goes on at another place.
    pub(crate) fn restart(&mut self, direction: usize) {
        self.flows[direction].lose();
    }

    /// The records of application data, when `client` is the direction of requests. `None` if there are none.
    pub(crate) fn finish(&self, client: usize, context: &ConnectionContext) -> Option<RpcTlsConnection> {
        let [of_client, of_server] = [&self.flows[client], &self.flows[1 - client]];
        if !self.is_certain() || of_client.records + of_server.records == 0 {
            return None;
        }
        let most = of_client.data.saturating_add(of_client.lost) / SHORTEST_CALL;
        Some(RpcTlsConnection {
            client: context.ends[client],
            server: context.ends[1 - client],
            records: [of_client.records, of_server.records],
            bytes: [of_client.bytes, of_server.bytes],
            requests: if of_client.records > 0 { of_client.messages.max(1) } else { of_server.messages },
            most_requests: if of_client.records > 0 { most.max(1) } else { of_server.data },
        })
    }

    fn begin(&mut self, kind: u8, len: u32, first: Option<u8>, direction: usize) {
        self.is_evident |= self.flows[direction].in_a_row >= IN_A_ROW;
        match kind {
            HANDSHAKE => {
                let client = if first == Some(SERVER_HELLO) { 1 - direction } else { direction };
                self.hello.get_or_insert(client);
            }
            // The encrypted part of the handshake looks like application data and ends with the client's Finished.
            APPLICATION_DATA if self.hello.is_some() && !self.is_open => self.is_open = self.hello == Some(direction),
            APPLICATION_DATA => self.flows[direction].add(len),
            _ => {}
        }
    }
}

impl Flow {
    fn step(&mut self, rest: u32) {
        self.place = if rest == 0 { Place::Header } else { Place::Inside(rest) };
    }

    fn lose(&mut self) {
        (self.place, self.in_a_row) = (Place::Lost, 0);
        self.head.clear();
    }

    fn add(&mut self, len: u32) {
        self.records += 1;
        self.bytes += u64::from(len) + HEADER as u64;
        self.data += u64::from(len - PROTECTION);
        self.messages += u64::from(len < FULL);
    }
}

/// Type and length of a record.
fn record(header: &[u8; HEADER]) -> Option<(u8, u32)> {
    let &[kind, major, minor, high, low] = header;
    let len = u32::from(u16::from_be_bytes([high, low]));
    let is_valid = match kind {
        CHANGE_CIPHER_SPEC => len == 1,
        // Of TLS 1.3 only those of a failed handshake are not encrypted.
        ALERT => len == 2,
        HANDSHAKE => (4..=LONGEST).contains(&len),
        // One byte of content at least, but for an alert of two.
        APPLICATION_DATA => minor == 3 && (PROTECTION..=LONGEST).contains(&len),
        _ => false,
    };
    (is_valid && major == 3 && (1..=3).contains(&minor)).then_some((kind, len))
}

#[cfg(test)]
mod tests;
