//! What real servers answered passes the strict reading, and nothing that anyone makes up lets it panic.

// A skipped test says so.
#![allow(clippy::print_stdout)]

use plimsoll_testkit::Random;
use plimsoll_wire::nbss;
use plimsoll_wire::smb2::any_answer::{self, Form};
use plimsoll_wire::smb2::compound::Members;
use plimsoll_wire::smb2::{self, Command, Reply, replies};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Ports and addresses, sender first.
type Flow = (Vec<u8>, Vec<u8>);

/// One direction of a connection, put in order.
#[derive(Default)]
struct Stream {
    next: Option<u32>,
    bytes: Vec<u8>,
}

impl Stream {
    /// Bytes lost or sent again: what begins with a message is gone on with.
    fn push(&mut self, sequence: u32, payload: &[u8]) {
        if self.next != Some(sequence) {
            let behind = self.next.is_some_and(|next| sequence.wrapping_sub(next) > u32::MAX / 2);
            if behind || payload.get(5..8) != Some(b"SMB") {
                return;
            }
            self.bytes.clear();
        }
        self.next = Some(sequence.wrapping_add(payload.len() as u32));
        self.bytes.extend_from_slice(payload);
    }

    fn message(&mut self) -> Option<Vec<u8>> {
        let header = nbss::Header::parse(&self.bytes)?;
        let whole = self.bytes.get(nbss::PREFIX_LEN..header.total_len())?.to_vec();
        self.bytes.drain(..header.total_len());
        Some(whole)
    }
}

/// Sender and receiver, sequence number and payload of a TCP segment in IPv4.
fn segment(link: u32, frame: &[u8]) -> Option<(Flow, u32, &[u8])> {
    let start = match link {
        0 => 4,
        1 if frame.get(12..14)? == [8, 0] => 14,
        101 => 0,
        _ => return None,
    };
    let ip = frame.get(start..)?;
    (ip.first()? >> 4 == 4 && *ip.get(9)? == 6).then_some(())?;
    let ip = ip.get(..usize::from(u16::from_be_bytes([ip[2], ip[3]]))).unwrap_or(ip);
    let tcp = ip.get(usize::from(ip[0] & 15) * 4..)?;
    let payload = tcp.get(usize::from(*tcp.get(12)? >> 4) * 4..)?;
    let sequence = u32::from_be_bytes(*tcp.get(4..)?.first_chunk()?);
    let end = |address: usize, port: usize| [&ip[address..address + 4], &tcp[port..port + 2]].concat();
    Some(((end(12, 0), end(16, 2)), sequence, payload))
}

/// The messages in a little-endian pcap, in the order in which they were complete.
fn messages(capture: &[u8]) -> Vec<(Flow, Vec<u8>)> {
    let mut all = Vec::new();
    let mut streams: HashMap<Flow, Stream> = HashMap::new();
    let link = u32::from_le_bytes(*capture[20..].first_chunk().unwrap());
    let mut rest = &capture[24..];
    while let Some(record) = rest.first_chunk::<16>() {
        let length = u32::from_le_bytes([record[8], record[9], record[10], record[11]]) as usize;
        let Some(frame) = rest.get(16..16 + length) else { break };
        rest = &rest[16 + length..];
        let Some((flow, sequence, payload)) = segment(link, frame).filter(|(_, _, payload)| !payload.is_empty()) else {
            continue;
        };
        let stream = streams.entry(flow.clone()).or_default();
        stream.push(sequence, payload);
        while let Some(message) = stream.message() {
            all.push((flow.clone(), message));
        }
    }
    all
}

/// Counts of a capture's answers.
#[derive(Default)]
struct Seen {
    kinds: BTreeMap<(u16, &'static str), usize>,
    wrong: Vec<String>,
    asked: HashMap<(Flow, u64), (u8, u8)>,
}

impl Seen {
    fn capture(bytes: &[u8]) -> Self {
        let mut seen = Self::default();
        messages(bytes).iter().for_each(|(flow, message)| seen.message(flow, message));
        seen
    }

    fn message(&mut self, flow: &Flow, message: &[u8]) {
        if smb2::Kind::of(message) != Some(smb2::Kind::Plain) {
            return;
        }
        if smb2::Header::new(message).is_some_and(|header| !header.is_response()) {
            return Members::new(message, message.len()).for_each(|member| self.request(flow, member.bytes));
        }
        for reply in replies(message, message.len()) {
            match reply {
                Ok(reply) => self.reply(flow, &reply),
                Err(error) => self.wrong.push(error.to_string()),
            }
        }
    }

    fn request(&mut self, flow: &Flow, message: &[u8]) {
        let id = smb2::Header::new(message).and_then(|header| header.message_id()).unwrap();
        let asked = if let Some(view) = smb2::query_info::Request::new(message) {
            (message[smb2::query_info::INFO_TYPE], view.info_class().unwrap())
        } else if let Some(view) = smb2::query_directory::Request::new(message) {
            (0, view.info_class().unwrap())
        } else {
            return;
        };
        self.asked.insert(((flow.1.clone(), flow.0.clone()), id), asked);
    }

    fn reply(&mut self, flow: &Flow, reply: &Reply<'_>) {
        let (info_type, class) = self.asked.get(&(flow.clone(), reply.message_id())).copied().unwrap_or_default();
        match any_answer::read(reply, info_type, class) {
            Ok(form) => {
                let name = match form {
                    Form::Done => "done",
                    Form::Refused => "refused",
                    Form::Interim => "interim",
                    Form::Notice => "notice",
                    Form::Unread => "unread",
                };
                *self.kinds.entry((reply.command().code(), name)).or_default() += 1;
            }
            Err(error) => self.wrong.push(format!("message id {}: {error}", reply.message_id())),
        }
    }

    fn count(&self, command: Command, names: &[&str]) -> usize {
        let of = |(code, name): &(u16, &str)| *code == command.code() && names.contains(name);
        self.kinds.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
    }
}

/// Our own capture, recorded of Samba.
fn own_capture() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

/// Its README counts requests, and every one but CANCEL was answered.
#[test]
fn every_answer_of_samba_is_read() {
    let seen = Seen::capture(&own_capture());
    println!("{:?}", seen.kinds);
    assert_eq!(seen.wrong, Vec::<String>::new());
    for (command, count) in [
        (Command::Create, 339),
        (Command::Close, 305),
        (Command::SessionSetup, 50),
        (Command::Lock, 36),
        (Command::QueryDirectory, 35),
        (Command::TreeConnect, 27),
        (Command::Negotiate, 25),
        (Command::QueryInfo, 24),
        (Command::OplockBreak, 19),
        (Command::Ioctl, 14),
        (Command::SetInfo, 14),
        (Command::Write, 13),
        (Command::ChangeNotify, 11),
        (Command::TreeDisconnect, 4),
        (Command::Read, 2),
        (Command::Flush, 1),
    ] {
        assert_eq!(seen.count(command, &["done", "refused"]), count, "{command:?}");
    }
    assert_eq!(seen.count(Command::OplockBreak, &["notice"]), 21);
    assert_eq!(seen.count(Command::Lock, &["interim"]), 7);
}

/// Captures of other servers, if present. The README there counts the pairs.
#[test]
fn every_answer_of_other_servers_is_read() {
    for (name, least) in [
        ("smb2-clean.pcap", 232),
        ("smb2-one-packet-lost.pcap", 229),
        ("smb2-async-read.pcap", 12),
        ("smb2-compound-delete.pcap", 83),
        ("smb2-compounds-loopback-linktype.pcap", 667),
        ("smb2-pending-cancel-notify.pcap", 688),
        ("smb2-notify-async.pcap", 26),
        ("smb2-mixed.pcap", 28),
    ] {
        let Some(capture) = plimsoll_testkit::shared_capture(name) else { continue };
        let bytes = std::fs::read(capture).unwrap();
        let seen = Seen::capture(&bytes);
        let read: usize = seen.kinds.iter().filter(|((_, name), _)| *name != "interim").map(|(_, count)| count).sum();
        println!("{name}: {read} answers read: {:?}", seen.kinds);
        assert_eq!(seen.wrong, Vec::<String>::new(), "{name}");
        assert!(read >= least, "{name}: {read}");
    }
}

/// A complete header of a response with this command and status.
fn response(command: u16, status: u32, body: &[u8]) -> Vec<u8> {
    use smb2::header::{COMMAND, FLAG_RESPONSE, FLAGS, LEN, MAGIC, STATUS, STRUCTURE_SIZE};
    let mut bytes = vec![0; LEN];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[STRUCTURE_SIZE] = LEN as u8;
    bytes[COMMAND..COMMAND + 2].copy_from_slice(&command.to_le_bytes());
    bytes[STATUS..STATUS + 4].copy_from_slice(&status.to_le_bytes());
    bytes[FLAGS..FLAGS + 4].copy_from_slice(&FLAG_RESPONSE.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// StructureSizes of the answers, so that chance gets behind the first check.
const SIZES: [u16; 20] = [65, 9, 4, 16, 4, 89, 60, 4, 17, 17, 4, 49, 0, 4, 9, 9, 9, 2, 24, 0];

/// A body of chance, most often of the right StructureSize and with small numbers, which offsets and lengths are.
fn body(command: u16) -> impl Strategy<Value = Vec<u8>> {
    let right = SIZES.get(usize::from(command)).copied().unwrap_or(0);
    let size = prop_oneof![8 => Just(right), 1 => Just(36), 1 => any::<u16>()];
    let small = prop_oneof![4 => Just(0_u8), 3 => 0..32_u8, 3 => 64..200_u8, 1 => any::<u8>()];
    (size, proptest::collection::vec(small, 0..300)).prop_map(|(size, rest)| [&size.to_le_bytes()[..], &rest].concat())
}

fn answers() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![4 => Just(0), 1 => Just(0x8000_0005), 1 => Just(0xC000_0016), 1 => any::<u32>()];
    (0..20_u16, status)
        .prop_flat_map(|(command, status)| body(command).prop_map(move |body| response(command, status, &body)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_read_or_refused(bytes in answers(), more in 0..4096_usize, info_type in 0..4_u8, class in 0..40_u8) {
        if let Ok(reply) = Reply::new(&bytes, bytes.len() + more) {
            // That it ends without a panic is the point; what cannot be right names a field.
            if let Err(error) = any_answer::read(&reply, info_type, class) {
                prop_assert!(!error.field.is_empty());
                prop_assert_eq!(error.command, reply.command());
            }
        }
    }

    #[test]
    fn any_bytes_end_the_chain(bytes: Vec<u8>, length in 0..1000_usize) {
        prop_assert!(replies(&bytes, length).count() <= bytes.len() / 64 + 1);
    }
}

/// Answers of our own capture with bytes changed: read or refused, never a panic.
#[test]
fn changed_answers_are_read_or_refused() {
    let mut refused = 0_usize;
    let mut random = Random::new(1);
    let responses = messages(&own_capture()).into_iter().map(|(_, message)| message);
    for message in responses.filter(|message| smb2::Header::new(message).is_some_and(|header| header.is_response())) {
        for _ in 0..40 {
            let mut changed = message.clone();
            for _ in 0..1 + random.bits() % 3 {
                let at = 64 + random.bits() as usize % (changed.len() - 64).max(1);
                if let Some(byte) = changed.get_mut(at) {
                    *byte = if random.bits().is_multiple_of(2) { 0xFF } else { random.bits() as u8 };
                }
            }
            for reply in replies(&changed, changed.len()).flatten() {
                let (info_type, class) = (random.bits() as u8 % 4, random.bits() as u8 % 40);
                refused += usize::from(any_answer::read(&reply, info_type, class).is_err());
            }
        }
    }
    assert!(refused > 1000, "changed bytes were hardly ever noticed: {refused}");
}
