//! The embedded server of NFS 4.1 and 4.2: calls of a client with a session, calls without one, and any bytes, over one connection.
//!
//! The first byte is the minor version. A step is a control byte, a byte for the place, the length of its bytes (in 4s), and these bytes.
//! Bits 0 to 2 of the control byte are the number of operations that the bytes are said to be. Bits 3 and 4: a compound in the session
//! (0, 1), one without SEQUENCE (2), or a record of these bytes alone (3). Bit 5 cuts the call into fragments, bit 6 sends it again, and
//! bit 7 adds GETATTR. The low bits of the place: no file handle, the root, the export, a file that is open.
//!
//! Each answer has at most the agreed length, an observer reads all of it, and a client reads each operation that it could have sent. A
//! repeated request has the same answer, or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::MESSAGES_MAX;
use plimsoll_serve::Nfs4Conversation;
use plimsoll_testkit::rpc::{call, record, record_in_fragments};
use plimsoll_wire::nfs::v4::create_session::{BACK_CHANNEL, Channel, CreateSession};
use plimsoll_wire::nfs::v4::exchange_id::ExchangeId;
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::names::Lookup;
use plimsoll_wire::nfs::v4::open::{Claim, How, Open, READ, WRITE};
use plimsoll_wire::nfs::v4::sequence::{Sequence, SessionId};
use plimsoll_wire::nfs::v4::session_end::ReclaimComplete;
use plimsoll_wire::nfs::v4::{Compound, CompoundReply, Done, Mask, PROCEDURE_COMPOUND, PutRoot, Reply, SetAttributes};
use plimsoll_wire::rpc::{Call, Verdict};

/// Bytes that the server's files may take.
const SIZE: u64 = 16 << 20;
/// The longest response of the session, bytes.
const LONGEST: u32 = 1 << 20;
/// Bytes by which the status of an operation may exceed [`LONGEST`]: the server only knows afterwards that its result is too long.
const STATUS: usize = 64;
const CHANNEL: Channel = Channel { request: 1 << 20, response: LONGEST, cached: 1_024, operations: 16, slots: 2 };
/// Successful operations that a client does not read: attributes that it does not request (GETATTR, READDIR), LOOKUPP, NVERIFY,
/// OPEN_DOWNGRADE, PUTPUBFH, SECINFO, VERIFY, SECINFO_NO_NAME.
const UNREAD: [u32; 9] = [9, 26, 16, 17, 21, 23, 33, 37, 52];

/// A client of the server.
struct Client {
    conversation: Nfs4Conversation,
    minor: u32,
    session: SessionId,
    sequence: u32,
    xid: u32,
}

impl Client {
    fn new(minor: u32) -> Self {
        let conversation = Nfs4Conversation::new(SIZE).expect("there is room");
        let mut client = Self { conversation, minor, session: [0; 16], sequence: 0, xid: 0 };
        let exchange = ExchangeId { verifier: [1; 8], owner: b"nfs4_server", flags: 0 };
        let results = client.ask(|compound| {
            compound.add(&exchange);
        });
        let Done::Client(found) = first(&results, 42) else { panic!("{results:?}") };
        let (id, sequence, flags) = (found.id, found.sequence, BACK_CHANNEL);
        let create = CreateSession { client: id, sequence, flags, fore: CHANNEL, back: CHANNEL, callback: 1 };
        let results = client.ask(|compound| {
            compound.add(&create);
        });
        let Done::Session(session) = first(&results, 43) else { panic!("{results:?}") };
        client.session = session.id;
        let sequence = client.next_request();
        client.ask(|compound| {
            compound.add(&sequence).add(&ReclaimComplete);
        });
        client
    }

    /// The next request of the slot.
    fn next_request(&mut self) -> Sequence {
        self.sequence += 1;
        Sequence { session: self.session, sequence: self.sequence, slot: 0, highest: 0, cache: true }
    }

    /// A call before the script: it has results.
    fn ask(&mut self, add: impl FnOnce(&mut Compound<'_>)) -> Vec<u8> {
        let mut arguments = Vec::new();
        add(&mut Compound::begin(self.minor, &mut arguments));
        let xid = self.xid;
        let call = self.call(&arguments);
        let answers = self.send(&record(&call)).expect("the connection is open");
        answers.into_iter().find(|(answered, _)| *answered == xid).expect("an answer").1
    }

    fn call(&mut self, arguments: &[u8]) -> Vec<u8> {
        self.xid += 1;
        call(self.xid - 1, 100_003, 4, PROCEDURE_COMPOUND, arguments)
    }

    /// Sends bytes: xid and results of each compound that was answered. `None`: the connection is closed.
    fn send(&mut self, bytes: &[u8]) -> Option<Vec<(u32, Vec<u8>)>> {
        let sent = self.conversation.receive(bytes)?;
        let (mut rest, mut answers) = (sent.as_slice(), Vec::new());
        while let Some((mark, behind)) = rest.split_first_chunk::<4>() {
            let mark = u32::from_be_bytes(*mark);
            assert!(mark >= 1 << 31, "a record of one fragment");
            let (message, behind) = behind.split_at((mark & 0x7FFF_FFFF) as usize);
            rest = behind;
            if Call::new(message).is_some() {
                continue;
            }
            assert!(message.len() <= LONGEST as usize + STATUS, "{} bytes", message.len());
            let (xid, verdict) = Verdict::parse(message).expect("a client reads it");
            // NULL has no results.
            if let Verdict::Success(results) = verdict
                && !results.is_empty()
            {
                check(results);
                answers.push((xid, results.to_vec()));
            }
        }
        assert!(rest.is_empty());
        Some(answers)
    }

    /// False at the end of the script.
    fn step(&mut self, script: &mut &[u8]) -> bool {
        let [control, place, words, tail @ ..] = *script else { return false };
        let (bytes, tail) = tail.split_at((usize::from(*words) * 4).min(tail.len()));
        *script = tail;
        if control & 0x18 == 0x18 {
            return self.send(&record(bytes)).is_some();
        }
        let arguments = self.compound(*control, *place, bytes);
        let xid = self.xid;
        let message = self.call(&arguments);
        let message = if control & 0x20 == 0 { record(&message) } else { record_in_fragments(&message, 48) };
        let Some(answers) = self.send(&message) else { return false };
        if control & 0x40 != 0 {
            let Some(again) = self.send(&message) else { return false };
            for (_, results) in again.iter().filter(|(answered, _)| *answered == xid && control & 0x10 == 0) {
                let same = answers.iter().any(|(answered, before)| *answered == xid && before == results);
                assert!(same || status(results) != 0, "a repeated request was executed again");
            }
        }
        true
    }

    fn compound(&mut self, control: u8, place: u8, bytes: &[u8]) -> Vec<u8> {
        let (minor, sequence) = (self.minor, (control & 0x10 == 0).then(|| self.next_request()));
        let mut arguments = Vec::new();
        let mut compound = Compound::begin(minor, &mut arguments);
        if let Some(sequence) = sequence {
            compound.add(&sequence);
            add_place(&mut compound, place);
            if control & 0x80 != 0 {
                compound.add(&GetAttributes(Mask::USUAL));
            }
        }
        // Behind an empty tag and the minor version.
        let count = u32::from_be_bytes(arguments[8..12].try_into().expect("four bytes")) + u32::from(control & 7);
        arguments[8..12].copy_from_slice(&count.to_be_bytes());
        arguments.extend(bytes);
        arguments
    }
}

fn add_place(compound: &mut Compound<'_>, place: u8) {
    let place = place & 3;
    if place > 0 {
        compound.add(&PutRoot);
    }
    if place > 1 {
        compound.add(&Lookup { name: b"export" });
    }
    if place > 2 {
        let (access, how, claim) = (READ | WRITE, How::Unchecked(SetAttributes::default()), Claim::Name(b"file"));
        compound.add(&Open { access, sequence: 0, client: 0, owner: b"owner", how, claim });
    }
}

/// The first result of a compound.
fn first(results: &[u8], code: u32) -> Done<'_> {
    let answered = Reply::parse(results, results.len()).and_then(|mut reply| reply.next(code));
    answered.expect("a client reads it").expect("a result").result
}

fn status(results: &[u8]) -> u32 {
    CompoundReply::new(results).status.expect("a status")
}

/// An observer and a client read the results of a compound.
fn check(results: &[u8]) {
    let reply = CompoundReply::new(results);
    let mut operations = reply.operations();
    let found: Vec<(u32, Option<u32>)> =
        operations.by_ref().map(|operation| (operation.code, operation.facts.status)).collect();
    assert_eq!((operations.stopped(), operations.rest().len()), (None, 0), "{results:?}");
    assert!(found.last().is_none_or(|(_, status)| *status == reply.status), "{results:?}");
    let mut strict = Reply::parse(results, results.len()).expect("a client reads the head");
    for (code, status) in found {
        if strict.next(code).is_err() {
            assert!(status == Some(0) && UNREAD.contains(&code), "operation {code}: {results:?}");
            return;
        }
    }
    assert!(strict.end().is_ok(), "{results:?}");
}

fuzz_target!(|data: &[u8]| {
    let [minor, script @ ..] = data else { return };
    let mut client = Client::new(u32::from(1 + minor % 2));
    let mut rest = script;
    let _ = (0..MESSAGES_MAX).take_while(|_| client.step(&mut rest)).count();
});
