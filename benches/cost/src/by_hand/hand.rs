//! The loop itself: requests go out, responses come in. Its stream is a socket, or TLS on one.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use super::krb5p::Krb5p;
use super::slots::{RESULTS, Slots};
use crate::operation::Case;

/// A connection after logon, and its request.
pub struct Hand<S = TcpStream> {
    operation: Case,
    pub stream: S,
    /// The request; for a create and close, the create. With krb5p it is not encrypted yet, and has no verifier.
    first: Vec<u8>,
    /// The close.
    second: Vec<u8>,
    /// The slots of the session, if there is one.
    slots: Option<Slots>,
    /// The context that signs and encrypts, if there is one.
    pub krb5p: Option<Krb5p>,
    /// The number of the next request.
    number: u64,
    offset: u64,
    /// Bytes to send, and bytes that arrived.
    pub out: Vec<u8>,
    inbox: Vec<u8>,
    have: usize,
}

impl<S: Read + Write> Hand<S> {
    pub fn of(
        operation: Case,
        stream: S,
        first: Vec<u8>,
        second: Vec<u8>,
        slots: Option<Slots>,
    ) -> Result<Self, Box<dyn Error>> {
        let number = number(operation, &first)?;
        let (out, inbox) = (Vec::new(), vec![0; 1 << 20]);
        Ok(Self { operation, stream, first, second, slots, krb5p: None, number, offset: 0, out, inbox, have: 0 })
    }

    /// Does `count` operations.
    pub fn exchange(&mut self, depth: usize, count: u64) -> Result<(), Box<dyn Error>> {
        let mut progress = Progress { count, begun: 0, done: 0, free: depth };
        self.fill(&mut progress)?;
        while progress.done < count {
            self.send()?;
            self.receive(&mut progress)?;
        }
        Ok(())
    }

    pub fn send(&mut self) -> Result<(), Box<dyn Error>> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Reads once, and writes a next request for each operation that is over.
    pub fn receive(&mut self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
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
                progress.free += 1;
                self.fill(progress)?;
            }
        }
        let left = self.have - rest.len();
        self.inbox = inbox;
        self.inbox.copy_within(left..self.have, 0);
        self.have -= left;
        Ok(())
    }

    /// Writes the first requests of as many operations as may begin.
    fn fill(&mut self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
        while progress.free > 0 && progress.begun < progress.count {
            if self.krb5p.as_ref().is_some_and(|krb5p| !krb5p.has_room(self.number)) {
                break;
            }
            progress.free -= 1;
            self.begin(progress)?;
        }
        Ok(())
    }

    /// Writes the next operation's first request.
    pub fn begin(&mut self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
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
        if let Some(krb5p) = &self.krb5p {
            krb5p.protect(&mut self.out, start)?;
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
        if let Some(krb5p) = &mut self.krb5p {
            return krb5p.answered(message).map(|()| true);
        }
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
pub struct Progress {
    pub count: u64,
    pub begun: u64,
    pub done: u64,
    /// How many more may be outstanding.
    pub free: usize,
}

pub fn word(bytes: &[u8], at: usize) -> Result<u32, Box<dyn Error>> {
    Ok(u32::from_be_bytes(bytes.get(at..at + 4).ok_or("a short message")?.try_into()?))
}

/// Bytes in front of a message, of both protocols: its length.
pub const MARK: usize = 4;
pub const XID: usize = MARK;
/// MS-SMB2 2.2.1.2.
const MESSAGE_ID: usize = MARK + 24;
const BODY: usize = MARK + 64;
const CREATE: u8 = 5;
/// An answer that says that the answer comes later (STATUS_PENDING).
const PENDING: u32 = 0x103;

fn number(operation: Case, request: &[u8]) -> Result<u64, Box<dyn Error>> {
    let short = "a short request";
    if operation.is_smb() {
        let bytes = request.get(MESSAGE_ID..MESSAGE_ID + 8).ok_or(short)?;
        return Ok(u64::from_le_bytes(bytes.try_into()?));
    }
    Ok(u32::from_be_bytes(request.get(XID..XID + 4).ok_or(short)?.try_into()?).into())
}

/// The first message, and the bytes after it.
pub fn message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mark = u32::from_be_bytes(bytes.get(..MARK)?.try_into().ok()?);
    bytes.split_at_checked(MARK + (mark & 0x7fff_ffff) as usize)
}

/// Reads one message, with its length in front.
pub fn one_message(stream: &mut TcpStream) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = vec![0; MARK];
    stream.read_exact(&mut bytes)?;
    let length = (word(&bytes, 0)? & 0x7fff_ffff) as usize;
    bytes.resize(MARK + length, 0);
    stream.read_exact(bytes.get_mut(MARK..).unwrap_or_default())?;
    Ok(bytes)
}

pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Result<(), Box<dyn Error>> {
    bytes.get_mut(at..at + value.len()).ok_or("a short request")?.copy_from_slice(value);
    Ok(())
}
