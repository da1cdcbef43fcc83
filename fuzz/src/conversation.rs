//! Messages in both directions of one TCP connection.

use plimsoll_observe::capture::LinkType;
use plimsoll_testkit::{Link, Segment, Side, Tcp, Traffic};

use crate::Watch;

/// A TCP connection whose segments go straight to an observer.
pub struct Conversation {
    watch: Watch,
    tcp: Tcp,
    time_ns: i64,
}

/// Messages of one input, at most: those behind them would only cost time.
pub const MESSAGES_MAX: usize = 64;

impl Default for Conversation {
    fn default() -> Self {
        let mut this = Self { watch: Watch::default(), tcp: Tcp::between_ports(1000, 445), time_ns: 0 };
        for segment in this.tcp.handshake() {
            this.segment(&segment);
        }
        this
    }
}

impl Conversation {
    /// Sends bytes, in segments of at most `most`.
    pub fn send(&mut self, from: Side, bytes: &[u8], most: usize) {
        for segment in self.tcp.split(from, bytes, most) {
            self.segment(&segment);
        }
    }

    /// Drops bytes from the capture that the other side acknowledges.
    pub fn lose(&mut self, from: Side, bytes: &[u8]) {
        self.tcp.data(from, bytes);
        let ack = self.tcp.ack(from.other());
        self.segment(&ack);
    }

    /// Ends the capture.
    pub fn finish(self) -> plimsoll_observe::Observed<crate::Seen> {
        self.watch.finish()
    }

    fn segment(&mut self, segment: &Segment) {
        let mut traffic = Traffic::new(Link::RawIp);
        traffic.tcp(segment);
        for frame in &traffic.frames {
            self.time_ns += 1_000;
            self.watch.frame(Some(self.time_ns), LinkType::RawIp, &frame.bytes, frame.original_len);
        }
    }
}

/// Sends the fuzzer's messages, each framed by `frame`.
///
/// Every message follows a control byte and a length byte: bit 0 of the control byte is the direction, bit 1 loses the message, bit 2
/// cuts it into small segments, bit 3 sends it without framing, and bits 4 to 7 are multiples of 256 of its length.
pub fn exchange(data: &[u8], frame: impl Fn(&[u8]) -> Vec<u8>) {
    let mut conversation = Conversation::default();
    let mut rest = data;
    for _ in 0..MESSAGES_MAX {
        let [control, len, tail @ ..] = rest else { break };
        let len = (usize::from(control >> 4) << 8 | usize::from(*len)).min(tail.len());
        let (message, after) = tail.split_at(len);
        rest = after;
        let from = if control & 1 == 0 { Side::Client } else { Side::Server };
        let bytes = if control & 8 == 0 { frame(message) } else { message.to_vec() };
        match control & 6 {
            0 => conversation.send(from, &bytes, 65_000),
            4 => conversation.send(from, &bytes, 7),
            _ => conversation.lose(from, &bytes),
        }
    }
    conversation.finish();
}
