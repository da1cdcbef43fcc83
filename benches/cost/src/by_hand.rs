//! The loop by hand: Plimsoll's client logs on and writes each request once. Then patched copies of it go out, with the next number, offset
//! and handle. The loop checks the status of each response, and counts it. A wake-up takes two system calls. Without times, transactions
//! and error handling, this is the cost of sending and receiving for a client that sends without delay.

mod channels;
mod slots;

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use plimsoll_client::Client as _;
use plimsoll_client::blocking::{Blocking, Collected};
use plimsoll_client::operation::{Access, Caching, Disposition, FileKey, Operation, Reply, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::{Endpoint, Names, Symbol};

use crate::measured::{Measured, Watch};
use crate::operation::Case;
use crate::servers::connector;
use slots::{RESULTS, Slots};

/// Performs `count` operations with `depth` outstanding ones, after a tenth as many that are not measured.
pub fn run(operation: Case, target: &str, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    if operation.channels() > 1 {
        return channels::run(operation, target, depth, count);
    }
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
        let server = connector(operation, target, &mut names)?;
        let to = server.address().ok_or("no address")?;
        let info = info(operation);
        let mut client = Client::open(to, Duration::from_secs(30), |_| server.client(&info))?;
        client.connect().map_err(said)?;
        let open = open(operation);
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
        let slots = operation.has_session().then(|| Slots::of(&first)).transpose()?;
        Self::of(operation, stream, first, second, slots)
    }

    fn of(
        operation: Case,
        stream: TcpStream,
        first: Vec<u8>,
        second: Vec<u8>,
        slots: Option<Slots>,
    ) -> Result<Self, Box<dyn Error>> {
        let number = number(operation, &first)?;
        let inbox = vec![0; 1 << 20];
        Ok(Self { operation, stream, first, second, slots, number, offset: 0, out: Vec::new(), inbox, have: 0 })
    }

    /// Does `count` operations.
    fn exchange(&mut self, depth: usize, count: u64) -> Result<(), Box<dyn Error>> {
        let mut progress = Progress { count, begun: 0, done: 0 };
        while progress.begun < count.min(depth as u64) {
            self.begin(&mut progress)?;
        }
        while progress.done < count {
            self.send()?;
            self.receive(&mut progress)?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Box<dyn Error>> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Reads once, and writes a next request for each operation that is over.
    fn receive(&mut self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
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
                progress.done += 1;
                if progress.begun < progress.count {
                    self.begin(progress)?;
                }
            }
        }
        let left = self.have - rest.len();
        self.inbox = inbox;
        self.inbox.copy_within(left..self.have, 0);
        self.have -= left;
        Ok(())
    }

    /// Writes the next operation's first request.
    fn begin(&mut self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
        progress.begun += 1;
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

/// How many operations are to be done, and how many were begun and are over.
struct Progress {
    count: u64,
    begun: u64,
    done: u64,
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

/// Where client and server are matters to transactions only.
fn info(operation: Case) -> ConnectionInfo {
    ConnectionInfo {
        client_index: 0,
        connection_index: 0,
        connections: 1,
        channels: operation.channels(),
        connection: 0,
        generation: 0,
        client: Endpoint::NOWHERE,
        server: Endpoint::NOWHERE,
    }
}

fn open(operation: Case) -> Operation<'static> {
    let (path, _) = operation.file();
    let (access, disposition) = (Access::Read, Disposition::OpenExisting);
    Operation::Open { path, access, disposition, caching: Caching::None }
}

fn read(operation: Case, file: FileKey) -> Operation<'static> {
    Operation::Read { file, offset: 0, length: operation.length(), keep: false }
}

/// The bytes with which a client begins an operation, or none.
fn written(client: &mut Client, operation: &Operation<'_>) -> Vec<u8> {
    let (mut out, now) = (Outbox::new(), client.now());
    client.client.begin(operation, ticket(u64::MAX / 2), now, &mut out, &mut Collected::default());
    waiting(&out)
}

fn ticket(tag: u64) -> Ticket {
    Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE }
}

/// The bytes that wait in an outbox.
fn waiting(out: &Outbox) -> Vec<u8> {
    let mut slices = Vec::new();
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
