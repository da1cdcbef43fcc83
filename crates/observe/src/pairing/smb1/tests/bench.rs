//! A connection under test, and the messages on it.

use super::*;

/// A connection under test: every message is one packet, one millisecond after the previous one.
pub(super) struct Bench {
    pub(super) smb1: Smb1,
    pub(super) output: Output<Vec<Row>>,
    pub(super) context: ConnectionContext,
    frame: u64,
    /// Stream offset after the last byte that each direction sent.
    pub(super) sent: [u64; 2],
}

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;
pub(super) const OK: u32 = 0;
pub(super) const DENIED: u32 = 0xc000_0022;

impl Bench {
    pub(super) fn new() -> Self {
        let end = |port| Endpoint { ip: std::net::IpAddr::from([127, 0, 0, 1]), port };
        let output = Output::new(Vec::new());
        let context = ConnectionContext { from_start: true, ..ConnectionContext::new(0, [end(1024), end(445)]) };
        Self { smb1: Smb1::default(), output, context, frame: 0, sent: [1_000; 2] }
    }

    pub(super) fn message(&mut self, direction: usize, bytes: &[u8], raw: bool, acknowledges: u64) {
        self.frame += 1;
        self.sent[direction] += bytes.len() as u64 + 4;
        let stamp = Stamp { time_ns: self.frame as i64 * 1_000_000, frame: self.frame };
        let end_offset = self.sent[direction];
        let content = if raw { Content::Raw } else { Content::Message };
        let message = Message { end_offset, acknowledges, content, ..whole(bytes, stamp) };
        self.smb1.message(&message, direction, &self.context, &mut self.output);
    }

    pub(super) fn asks(&mut self, bytes: &[u8]) {
        self.message(CLIENT, bytes, false, self.sent[SERVER]);
    }

    pub(super) fn says(&mut self, bytes: &[u8]) {
        self.message(SERVER, bytes, false, self.sent[CLIENT]);
    }

    pub(super) fn block(&mut self, direction: usize, len: usize) {
        assert!(self.smb1.expects_raw(direction), "the framer would not take this block");
        self.message(direction, &vec![0x55; len], true, self.sent[1 - direction]);
    }

    pub(super) fn count(&self, anomaly: Anomaly) -> u64 {
        self.output.anomalies.count(anomaly)
    }

    /// Names, outcomes and frames of the rows so far.
    pub(super) fn rows(&self) -> Vec<(String, Outcome, Option<u64>, Option<u64>)> {
        let frame = |frame: Option<std::num::NonZeroU64>| frame.map(std::num::NonZeroU64::get);
        let row = |row: &Row| {
            (row.procedure.name(), row.outcome, frame(row.frames.request_last), frame(row.frames.response_last))
        };
        self.output.sink.iter().map(row).collect()
    }

    pub(super) fn end(&mut self) {
        self.smb1.end(&self.context, &mut self.output);
    }
}

pub(super) fn row(
    name: &str,
    outcome: Outcome,
    request: u64,
    response: Option<u64>,
) -> (String, Outcome, Option<u64>, Option<u64>) {
    (name.to_owned(), outcome, Some(request), response)
}

/// A message of one or more blocks (command, words, bytes); TID 1, UID 100.
pub(super) fn build(flags: u8, status: u32, mid: u16, blocks: &[(u8, &[u16], &[u8])]) -> Vec<u8> {
    let mut message = vec![0; 32];
    message[..4].copy_from_slice(b"\xffSMB");
    message[4] = blocks[0].0;
    message[5..9].copy_from_slice(&status.to_le_bytes());
    message[9] = flags;
    message[10..12].copy_from_slice(&0x4000u16.to_le_bytes());
    message[24..32].copy_from_slice(&[1, 0, 0xfe, 0xca, 100, 0, mid as u8, (mid >> 8) as u8]);
    for (at, (code, words, bytes)) in blocks.iter().enumerate() {
        let mut words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if command::is_andx(*code) && words.len() >= 4 {
            let behind = (message.len() + 1 + words.len() + 2 + bytes.len()) as u16;
            words[0] = blocks.get(at + 1).map_or(0xff, |next| next.0);
            words[2..4].copy_from_slice(&behind.to_le_bytes());
        }
        message.push((words.len() / 2) as u8);
        message.extend(&words);
        message.extend((bytes.len() as u16).to_le_bytes());
        message.extend(*bytes);
    }
    message
}

pub(super) fn request(mid: u16, code: u8, words: &[u16]) -> Vec<u8> {
    build(0, OK, mid, &[(code, words, &[])])
}

pub(super) fn response(mid: u16, status: u32, code: u8, words: &[u16]) -> Vec<u8> {
    build(0x80, status, mid, &[(code, words, &[])])
}

pub(super) const CLOSE: &[u16] = &[7, 0, 0];
