//! The same operations by hand: Plimsoll's client logs on and writes each request once. From then on copies of it, with the
//! next number, offset and handle patched in, go out, and what comes back is looked at for its status and counted: two system
//! calls a wake-up. Nobody is told, nothing is timed, nothing can go wrong but all of it: what sending and receiving takes a client
//! that sends what is due when it is due.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use plimsoll_client::Client as _;
use plimsoll_client::blocking::{Blocking, Collected};
use plimsoll_client::operation::{Access, Caching, Disposition, FileKey, Operation, Reply, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::target::Target;
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_drive::connect::{self, ConnectOptions};
use plimsoll_model::{Endpoint, Names, Symbol};

use crate::measured::{Measured, Watch};
use crate::operation::Case;

/// Performs `count` operations with `depth` outstanding ones, after a tenth as many that are not measured.
pub fn run(operation: Case, target: &str, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    let mut hand = Hand::new(operation, target)?;
    hand.exchange(depth, count / 10)?;
    let watch = Watch::start();
    hand.exchange(depth, count)?;
    Ok(watch.stop(count))
}

type Client = Blocking<Box<dyn plimsoll_client::Client>>;

/// A connection after logon, and its request.
struct Hand {
    operation: Case,
    stream: TcpStream,
    /// The request; for a create and close, the create.
    first: Vec<u8>,
    /// The close.
    second: Vec<u8>,
    /// The slots of the session, if there is one.
    slots: Option<Slots>,
    /// The number of the next request.
    number: u64,
    offset: u64,
    /// Bytes to send, and bytes that arrived.
    out: Vec<u8>,
    inbox: Vec<u8>,
    have: usize,
}

impl Hand {
    fn new(operation: Case, target: &str) -> Result<Self, Box<dyn Error>> {
        let mut names = Names::default();
        let server = connect::open(&Target::parse(target)?, &ConnectOptions::default(), &mut names)?;
        let to = server.address().ok_or("no address")?;
        // Where it is matters to transactions only.
        let nowhere = Endpoint::NOWHERE;
        let birth =
            ConnectionInfo { client_index: 0, connection_index: 0, connections: 1, channels: 1, connection: 0, generation: 0, client: nowhere, server: nowhere };
        let mut client = Client::open(to, Duration::from_secs(30), |_| server.client(&birth))?;
        client.connect().map_err(said)?;
        let (path, _) = operation.file();
        let (access, disposition) = (Access::Read, Disposition::OpenExisting);
        let open = Operation::Open { path, access, disposition, caching: Caching::None };
        let Reply::Opened { file, .. } = client.act(&open).map_err(said)? else { return Err("not opened".into()) };
        let request = match operation {
            Case::SmbCreateClose => open,
            Case::NfsGetattr | Case::Nfs41Getattr => Operation::GetattrOpen { file },
            _ => read(operation, file),
        };
        let first = written(&mut client, &request);
        let second = written(&mut client, &Operation::Close { file });
        let stream = client.into_stream();
        stream.set_nonblocking(false)?;
        let number = number(operation, &first)?;
        let slots = operation.has_session().then(|| Slots::of(&first)).transpose()?;
        let inbox = vec![0; 1 << 20];
        Ok(Self { operation, stream, first, second, slots, number, offset: 0, out: Vec::new(), inbox, have: 0 })
    }

    /// Does `count` operations.
    fn exchange(&mut self, depth: usize, count: u64) -> Result<(), Box<dyn Error>> {
        let (mut begun, mut done) = (0, 0);
        while begun < count.min(depth as u64) {
            self.begin()?;
            begun += 1;
        }
        while done < count {
            self.stream.write_all(&self.out)?;
            self.out.clear();
            let got = self.stream.read(self.inbox.get_mut(self.have..).unwrap_or_default())?;
            if got == 0 {
                return Err("the server hung up".into());
            }
            self.have += got;
            let inbox = std::mem::take(&mut self.inbox);
            let mut rest = inbox.get(..self.have).unwrap_or_default();
            while let Some((message, behind)) = message(rest) {
                rest = behind;
                if self.answered(message)? {
                    done += 1;
                    if begun < count {
                        self.begin()?;
                        begun += 1;
                    }
                }
            }
            let left = self.have - rest.len();
            self.inbox = inbox;
            self.inbox.copy_within(left..self.have, 0);
            self.have -= left;
        }
        Ok(())
    }

    /// Writes the next operation's first request.
    fn begin(&mut self) -> Result<(), Box<dyn Error>> {
        let start = self.out.len();
        self.out.extend_from_slice(&self.first);
        self.stamp(start)?;
        if let Some(slots) = &mut self.slots {
            slots.stamp(&mut self.out, start)?;
        }
        let length = u64::from(self.operation.length());
        if length > 0 {
            // READ: MS-SMB2 2.2.19; RFC 1813 3.3.6, where a count of four bytes is behind it.
            let end = self.out.len();
            let (at, offset) = match self.operation.is_smb() {
                true => (start + BODY + 8, self.offset.to_le_bytes()),
                false => (end - 12, self.offset.to_be_bytes()),
            };
            put(&mut self.out, at, &offset)?;
            self.offset = (self.offset + length) % self.operation.file().1;
        }
        Ok(())
    }

    /// Gives the request at `start` its number: MessageId, or the transaction identifier of an RPC call.
    fn stamp(&mut self, start: usize) -> Result<(), Box<dyn Error>> {
        let number = self.number;
        self.number += 1;
        match self.operation.is_smb() {
            true => put(&mut self.out, start + MESSAGE_ID, &number.to_le_bytes()),
            false => put(&mut self.out, start + XID, &(number as u32).to_be_bytes()),
        }
    }

    /// An answer came. Whether an operation is over with it.
    fn answered(&mut self, message: &[u8]) -> Result<bool, Box<dyn Error>> {
        // MS-SMB2 2.2.1.2; RFC 5531 9, an accepted answer with an empty verifier, and the procedure's own status behind it.
        let at = if self.operation.is_smb() { MARK + 8 } else { MARK + 24 };
        let status = message.get(at..at + 4);
        if self.operation.is_smb() && status == Some(&PENDING.to_le_bytes()) {
            return Ok(false);
        }
        if status != Some(&[0; 4]) {
            return Err(format!("refused: {:02x?}", message.get(..at + 4)).into());
        }
        if let Some(slots) = &mut self.slots {
            slots.free.push(word(message, RESULTS + 40)?);
        }
        if self.operation == Case::SmbCreateClose && message.get(MARK + 12) == Some(&CREATE) {
            let file = message.get(BODY + 64..BODY + 80).ok_or("a short answer to a create")?;
            let start = self.out.len();
            self.out.extend_from_slice(&self.second);
            put(&mut self.out, start + BODY + 8, file)?;
            self.stamp(start)?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// The slots of a session.
struct Slots {
    /// Where SEQUENCE has its sequence id in a request; the slot and the highest slot in use are behind it.
    at: usize,
    /// The last sequence id of each slot.
    sequences: Vec<u32>,
    /// Slots without a request.
    free: Vec<u32>,
}

/// As many as Plimsoll asks for.
const SLOTS: u32 = 64;
/// Where the results of a compound begin in an accepted answer with an empty verifier: status, tag, number of operations; SEQUENCE, its
/// status, the session's id of 16 bytes, the sequence id, and the slot (RFC 8881 16.2, 18.46).
const RESULTS: usize = MARK + 24;

impl Slots {
    /// From a request of the client's that was not sent: the other slots of a client that never had two requests at once are unused.
    fn of(request: &[u8]) -> Result<Self, Box<dyn Error>> {
        // RFC 5531 9: xid, CALL, three versions, the procedure, the flavor, and the length of the credential; its verifier is empty.
        let credential = word(request, MARK + 28)? as usize;
        // Behind the tag, the minor version, the number of operations, and SEQUENCE's own number and session.
        let at = MARK + 32 + credential + 8 + 16 + 16;
        let mut sequences = vec![0; SLOTS as usize];
        let slot = word(request, at + 4)? as usize;
        *sequences.get_mut(slot).ok_or("no such slot")? = word(request, at)?.wrapping_sub(1);
        Ok(Self { at, sequences, free: (0..SLOTS).rev().collect() })
    }

    fn stamp(&mut self, out: &mut [u8], start: usize) -> Result<(), Box<dyn Error>> {
        let slot = self.free.pop().ok_or("no slot is free")?;
        let sequence = self.sequences.get_mut(slot as usize).ok_or("no such slot")?;
        *sequence = sequence.wrapping_add(1);
        let words = [*sequence, slot, SLOTS - 1].map(u32::to_be_bytes).concat();
        put(out, start + self.at, &words)
    }
}

fn word(bytes: &[u8], at: usize) -> Result<u32, Box<dyn Error>> {
    Ok(u32::from_be_bytes(bytes.get(at..at + 4).ok_or("a short message")?.try_into()?))
}

/// Bytes in front of a message, of both protocols: its length.
const MARK: usize = 4;
const XID: usize = MARK;
/// MS-SMB2 2.2.1.2.
const MESSAGE_ID: usize = MARK + 24;
const BODY: usize = MARK + 64;
const CREATE: u8 = 5;
/// An answer that says that the answer comes later (STATUS_PENDING).
const PENDING: u32 = 0x103;

fn read(operation: Case, file: FileKey) -> Operation<'static> {
    Operation::Read { file, offset: 0, length: operation.length(), keep: false }
}

/// The bytes with which a client begins an operation, or none.
fn written(client: &mut Client, operation: &Operation<'_>) -> Vec<u8> {
    let (mut out, mut slices, now) = (Outbox::new(), Vec::new(), client.now());
    let ticket = Ticket { tag: Tag(u64::MAX / 2), intended: None, path: Symbol::NONE };
    client.client.begin(operation, ticket, now, &mut out, &mut Collected::default());
    out.slices(usize::MAX, &mut slices);
    slices.iter().flat_map(|slice| slice.iter().copied()).collect()
}

/// The number that a request has.
fn number(operation: Case, request: &[u8]) -> Result<u64, Box<dyn Error>> {
    let short = "a short request";
    if operation.is_smb() {
        let bytes = request.get(MESSAGE_ID..MESSAGE_ID + 8).ok_or(short)?;
        return Ok(u64::from_le_bytes(bytes.try_into()?));
    }
    Ok(u32::from_be_bytes(request.get(XID..XID + 4).ok_or(short)?.try_into()?).into())
}

/// The first message, and the bytes after it.
fn message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mark = u32::from_be_bytes(bytes.get(..MARK)?.try_into().ok()?);
    bytes.split_at_checked(MARK + (mark & 0x7fff_ffff) as usize)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Result<(), Box<dyn Error>> {
    bytes.get_mut(at..at + value.len()).ok_or("a short request")?.copy_from_slice(value);
    Ok(())
}

fn said(failure: plimsoll_client::operation::Failure) -> String {
    format!("{failure:?}")
}
