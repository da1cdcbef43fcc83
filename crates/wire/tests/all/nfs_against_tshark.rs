//! Real traffic, read by this crate and by tshark: both must read a message the same way.
//!
//! Skips with a printed reason if `../shared/captures` or tshark is missing.

use plimsoll_testkit::{shared_capture, shared_captures, skip};
use plimsoll_wire::nfs::v4::{CompoundCall, CompoundReply, Operations};
use plimsoll_wire::nfs::{Facts, arguments, results};
use plimsoll_wire::rpc::{
    Call, Credential, Message, RecordMark, Reply, find_record, is_transient, plausible_call, plausible_record,
    plausible_reply,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Captures, and the share of tshark's frames with RPC in them that must be compared.
const CAPTURES: [(&str, f64); 8] = [
    ("nfs2-big-endian-pcap.pcap", 1.0),
    ("nfs3-write.pcap", 1.0),
    ("nfs3-acl.cap", 1.0),
    ("nfs3-udp-reply-first.pcap", 1.0),
    ("nfs3-two-sessions.pcap", 0.95),
    ("nfs3-ipv6-op-dense.pcap", 0.99),
    ("nfs41-small.pcap", 1.0),
    ("nfs41-compounds.pcap", 1.0),
];

#[test]
fn tshark_says_the_same() {
    let Some(folder) = shared_captures() else { return };
    if Command::new("tshark").arg("--version").output().is_err() {
        skip("needs tshark");
        return;
    }
    for (name, least) in CAPTURES {
        let path = folder.join(name);
        let mut theirs = tshark(&path);
        let mut ours = observe(&path);
        theirs.values_mut().chain(ours.values_mut()).for_each(Seen::forget_directory_statuses);
        let mut compared = 0;
        for (frame, theirs) in &theirs {
            if let Some(ours) = ours.get(frame) {
                assert!(ours.agrees_with(theirs), "{name}, frame {frame}: {ours:?} is not {theirs:?}");
                compared += 1;
            }
        }
        println!("{name}: {compared} of {} frames compared", theirs.len());
        assert!(!theirs.is_empty());
        assert!(compared as f64 >= least * theirs.len() as f64, "{name}: {compared} of {}", theirs.len());
    }
}

#[test]
fn headers_survive_a_short_snap_length() {
    let Some(capture) = shared_capture("nfs3-snaplen96-stalls.cap") else { return };
    let bytes = std::fs::read(capture).unwrap();
    let (mut called, mut answered) = (HashSet::new(), HashSet::new());
    for (_, packet) in packets(&bytes) {
        let Some((6, _, tcp)) = ip_payload(packet) else { continue };
        let offset = tcp.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
        let Some(record) = tcp.get(offset..) else { continue };
        let message = record.get(RecordMark::SIZE..).unwrap_or_default();
        match plausible_record(record) {
            Some((_, Message::Call)) => called.extend(Call::new(message).map(|call| call.xid())),
            Some((_, Message::Reply)) => answered.extend(Reply::new(message).map(|reply| reply.xid())),
            None => {}
        }
    }
    let pairs = called.intersection(&answered).count();
    println!("{} calls, {} replies, {pairs} pairs", called.len(), answered.len());
    assert!(
        called.len() >= 100,
        "the folder's README counts 108 pairs, of which those over UDP are not looked at here"
    );
    // More replies than calls: where one segment carries several calls, the second one's header was cut off.
    assert_eq!(called.len(), pairs, "every call whose header was captured is answered");
}

/// The compared values, one line per kind, each a list over the messages that a frame completes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen(BTreeMap<&'static str, String>);

impl Seen {
    fn add(&mut self, kind: &'static str, value: impl std::fmt::Display) {
        let list = self.0.entry(kind).or_default();
        let comma = if list.is_empty() { "" } else { ";" };
        let _ = write!(list, "{comma}{value}");
    }

    /// tshark lists the status of each entry that READDIR could not describe (`rdattr_error`) among the operations'.
    fn forget_directory_statuses(&mut self) {
        if self.0.get("operations").is_some_and(|codes| codes.split(';').any(|code| code == "26")) {
            self.0.remove("status4");
        }
    }

    /// A reply whose call is in IP fragments cannot be read here: then only what identifies it is compared.
    fn agrees_with(&self, theirs: &Self) -> bool {
        let identified = |seen: &Self| seen.0.get("xid").cloned().zip(seen.0.get("type").cloned());
        self == theirs || (self.0.contains_key(NO_CALL) && identified(self) == identified(theirs))
    }
}

/// Marks a reply whose call this reader did not see.
const NO_CALL: &str = "no call";

/// tshark's fields, and their names here.
const FIELDS: [(&str, &str); 14] = [
    ("rpc.xid", "xid"),
    ("rpc.msgtyp", "type"),
    ("rpc.auth.uid", "uid"),
    ("rpc.auth.machinename", "machine"),
    ("nfs.opcode", "operations"),
    ("nfs.status2", "status2"),
    ("nfs.status3", "status3"),
    ("nfs.nfsstat4", "status4"),
    ("nfs.count3", "count3"),
    ("nfs.offset3", "offset3"),
    ("nfs.read.count", "count2"),
    ("nfs.read.offset", "offset2"),
    ("mount.path", "path"),
    ("mount.status", "mount status"),
];

fn tshark(capture: &PathBuf) -> BTreeMap<u64, Seen> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-Y", "rpc", "-T", "fields", "-E", "aggregator=;", "-e", "frame.number"]);
    for (field, _) in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(capture).output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut frames = BTreeMap::new();
    for line in text.lines() {
        let mut values = line.split('\t');
        let Some(frame) = values.next().and_then(|number| number.parse().ok()) else { continue };
        let mut seen = Seen::default();
        for ((_, kind), list) in FIELDS.iter().zip(values) {
            for value in list.split(';').filter(|value| !value.is_empty()) {
                let number = value.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
                match number {
                    Some(number) => seen.add(kind, number),
                    None => seen.add(kind, value),
                }
            }
        }
        frames.insert(frame, seen);
    }
    frames
}

/// Calls by conversation, without direction, and xid: a reply does not name its procedure.
type Calls = HashMap<u32, (u32, u32, u32)>;

fn observe(capture: &PathBuf) -> BTreeMap<u64, Seen> {
    let bytes = std::fs::read(capture).expect("the capture is readable");
    let mut frames: BTreeMap<u64, Seen> = BTreeMap::new();
    let mut calls = Calls::new();
    let mut streams: HashMap<Vec<u8>, Stream> = HashMap::new();
    for (number, packet) in packets(&bytes) {
        let Some((protocol, addresses, body)) = ip_payload(packet) else { continue };
        let Some(ports) = body.get(..4) else { continue };
        match protocol {
            17 => {
                let message = body.get(8..).unwrap_or_default();
                if plausible_call(message) || plausible_reply(message) {
                    note(message, &mut calls, frames.entry(number).or_default());
                }
            }
            6 => {
                let stream = streams.entry([addresses, ports].concat()).or_default();
                for message in stream.segment(body) {
                    note(&message, &mut calls, frames.entry(number).or_default());
                }
            }
            _ => {}
        }
    }
    frames
}

fn note(message: &[u8], calls: &mut Calls, seen: &mut Seen) {
    if let Some(call) = Call::new(message) {
        calls.insert(call.xid(), (call.program(), call.version(), call.procedure()));
        seen.add("xid", call.xid());
        seen.add("type", 0);
        if let Some(Credential::Sys(sys)) = call.credential() {
            seen.add("uid", sys.uid);
            seen.add("machine", String::from_utf8_lossy(sys.machine_name));
        }
        note_arguments(&call, seen);
    } else if let Some(reply) = Reply::new(message) {
        seen.add("xid", reply.xid());
        seen.add("type", 1);
        match calls.get(&reply.xid()) {
            Some(call) => {
                if let Some(bytes) = reply.results() {
                    note_results(*call, bytes, seen);
                }
            }
            None => seen.add(NO_CALL, reply.xid()),
        }
    }
}

fn note_arguments(call: &Call<'_>, seen: &mut Seen) {
    let Some(bytes) = call.arguments() else { return };
    let mut facts = Facts::default();
    arguments(call.program(), call.version(), call.procedure(), bytes, &mut facts);
    match (call.program(), call.version(), call.procedure()) {
        (100_003, 4, 1) => note_operations(CompoundCall::new(bytes).operations(), seen),
        (100_003, 3, 6 | 7 | 21) => note_range(facts, ["offset3", "count3"], seen),
        (100_003, 3, 16) => seen.add("count3", facts.count.unwrap_or_default()),
        (100_003, 2, 6) => note_range(facts, ["offset2", "count2"], seen),
        (100_005, _, 1 | 3) => seen.add("path", String::from_utf8_lossy(facts.name.unwrap_or_default())),
        _ => {}
    }
}

fn note_range(facts: Facts<'_>, [offset, count]: [&'static str; 2], seen: &mut Seen) {
    seen.add(offset, facts.offset.unwrap_or_default());
    seen.add(count, facts.count.unwrap_or_default());
}

fn note_results((program, version, procedure): (u32, u32, u32), bytes: &[u8], seen: &mut Seen) {
    let mut facts = Facts::default();
    results(program, version, procedure, bytes, &mut facts);
    let status = facts.status.unwrap_or_default();
    match (program, version, procedure) {
        (100_003, 4, 1) => {
            let reply = CompoundReply::new(bytes);
            seen.add("status4", reply.status.unwrap_or_default());
            note_operations(reply.operations(), seen);
        }
        (100_003, 2, 1..) => seen.add("status2", status),
        (100_003, 3, 1..) => {
            seen.add("status3", status);
            if let (6 | 7, Some(count)) = (procedure, facts.count) {
                seen.add("count3", count);
            }
        }
        (100_005, 1..=3, 1) => seen.add("mount status", status),
        (callback, _, 1) if is_transient(callback) => {
            seen.add("status4", CompoundReply::callback(bytes).status.unwrap_or_default());
        }
        _ => {}
    }
}

fn note_operations(mut operations: Operations<'_>, seen: &mut Seen) {
    for operation in operations.by_ref() {
        seen.add("operations", operation.code);
        if let Some(status) = operation.facts.status {
            seen.add("status4", status);
        }
    }
    assert_eq!(operations.stopped(), None, "every operation of a real compound is known");
}

/// One direction of a TCP connection, joined in order; bytes after a gap wait for the next record.
#[derive(Default)]
struct Stream {
    next: Option<u32>,
    held: Vec<u8>,
}

impl Stream {
    fn segment(&mut self, tcp: &[u8]) -> Vec<Vec<u8>> {
        let (Some(head), Some(offset)) = (tcp.first_chunk::<20>(), tcp.get(12).map(|byte| usize::from(byte >> 4) * 4))
        else {
            return Vec::new();
        };
        let mut sequence = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let mut data = tcp.get(offset..).unwrap_or_default();
        if head[13] & 2 != 0 {
            *self = Self { next: Some(sequence.wrapping_add(1)), held: Vec::new() };
            return Vec::new();
        }
        let behind = self.next.map_or(0, |next| next.wrapping_sub(sequence));
        if behind != 0 && behind < 0x8000_0000 {
            let Some(fresh) = data.get(behind as usize..) else { return Vec::new() };
            (data, sequence) = (fresh, sequence.wrapping_add(behind));
        } else if behind != 0 {
            self.held.clear();
        }
        if data.is_empty() {
            return Vec::new();
        }
        self.next = Some(sequence.wrapping_add(data.len() as u32));
        self.held.extend(data);
        self.records()
    }

    fn records(&mut self) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while let Some(mark) = RecordMark::new(&self.held) {
            if self.held.len() >= 28 && !matches!(find_record(&self.held), Some((0, ..))) {
                let lost = find_record(&self.held).map_or(self.held.len(), |(at, ..)| at);
                self.held.drain(..lost);
                continue;
            }
            let end = 4 + mark.length as usize;
            let Some(message) = self.held.get(4..end) else { break };
            messages.push(message.to_vec());
            self.held.drain(..end);
        }
        messages
    }
}

/// The packets of a classic pcap of either byte order, numbered from 1.
fn packets(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let big = bytes.starts_with(&[0xA1]);
    let mut rest = bytes.get(24..).unwrap_or_default();
    let next = move || {
        let (head, after) = rest.split_at_checked(16)?;
        let length = [head[8], head[9], head[10], head[11]];
        let length = if big { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
        let (packet, after) = after.split_at_checked(length as usize)?;
        rest = after;
        Some(packet)
    };
    (1..).zip(std::iter::from_fn(next))
}

/// Protocol, addresses and payload of an unfragmented IP packet on Ethernet.
fn ip_payload(packet: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let ip = packet.get(14..)?;
    match packet.get(12..14)? {
        [0x08, 0x00] => {
            let length = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
            let fragment = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3FFF;
            let header = usize::from(ip.first()? & 15) * 4;
            if fragment == 0 {
                Some((*ip.get(9)?, ip.get(12..20)?, ip.get(header..length.min(ip.len()))?))
            } else {
                None
            }
        }
        [0x86, 0xDD] => {
            let length = usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]));
            Some((*ip.get(6)?, ip.get(8..40)?, ip.get(40..(40 + length).min(ip.len()))?))
        }
        _ => None,
    }
}
