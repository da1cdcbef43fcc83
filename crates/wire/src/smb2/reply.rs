//! Answers for a client: a violation of the specification is an error that names the field.
//!
//! Spec: MS-SMB2 2.2.1, 2.2.2, 3.2.5.1

use super::command::Command;
use super::compound::Members;
use super::error::{self, Refusal};
use super::fields::to_len;
use super::file_id::FileId;
use super::header::{self, Header};
use super::status::{STATUS_PENDING, Severity};

/// An answer that violates the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Whose answer.
    pub command: Command,
    /// The field, as the specification names it.
    pub field: &'static str,
    /// The error.
    pub why: Why,
}

/// The error of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The message ends before it.
    Missing,
    /// It has a value that it may not have.
    Value(u64),
    /// It points to a range of bytes that is outside of the message, or in its fixed part.
    Place {
        /// From the header on, or from the structure's beginning, in bytes.
        offset: u64,
        /// In bytes.
        length: u64,
    },
    /// It occurs more than once, which is not allowed.
    Repeated,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { command, field, why } = self;
        match command.name() {
            Some(name) => write!(f, "SMB2 {name} response: {field} ")?,
            None => write!(f, "SMB2 response to the unknown command {}: {field} ", command.code())?,
        }
        match why {
            Why::Missing => f.write_str("is missing, because the message ends before this field"),
            Why::Value(value) => write!(f, "is {value:#x}, an invalid value"),
            Why::Place { offset, length } => {
                write!(
                    f,
                    "has offset {offset} and length {length}, which is outside of the message, or inside the fixed part of the message"
                )
            }
            Why::Repeated => f.write_str("occurs more than once"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A server's answer to one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a, T> {
    /// The command's own body. The status need not be zero: READ, QUERY_INFO and IOCTL have it with
    /// `STATUS_BUFFER_OVERFLOW`, SESSION_SETUP with `STATUS_MORE_PROCESSING_REQUIRED`.
    Done(T),
    /// The ERROR body.
    Refused(Refusal<'a>),
}

impl<'a, T> Answer<'a, T> {
    /// The result; None if the request was refused.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(done) => Some(done),
            Self::Refused(_) => None,
        }
    }

    /// Why it was refused; None where it was done.
    pub fn refusal(self) -> Option<Refusal<'a>> {
        match self {
            Self::Done(_) => None,
            Self::Refused(refusal) => Some(refusal),
        }
    }
}

/// One answer, or one member of a compound of answers, with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    header: Header<'a>,
    status: u32,
    message_id: u64,
    session_id: u64,
    length: usize,
}

impl<'a> Reply<'a> {
    /// `bytes` are the kept part of a message of `length` bytes, from its header on.
    ///
    /// # Errors
    /// If they do not begin with a complete header, or it is a request's.
    pub fn new(bytes: &'a [u8], length: usize) -> Result<Self, Malformed> {
        let malformed = |field, why| Malformed { command: Command::Unknown(u16::MAX), field, why };
        let header = Header::new(bytes).ok_or(malformed("ProtocolId", Why::Missing))?;
        let malformed = |field, why| Malformed { command: header.command(), field, why };
        if bytes.len() < header::LEN || length < header::LEN {
            return Err(malformed("Signature", Why::Missing));
        }
        let status = header.status().ok_or(malformed("Flags", Why::Value(header.flags().into())))?;
        let message_id = header.message_id().ok_or(malformed("MessageId", Why::Missing))?;
        let session_id = header.session_id().ok_or(malformed("SessionId", Why::Missing))?;
        Ok(Self { header, status, message_id, session_id, length })
    }

    /// The header.
    #[inline]
    #[must_use]
    pub fn header(&self) -> Header<'a> {
        self.header
    }

    /// The command of its request.
    #[inline]
    #[must_use]
    pub fn command(&self) -> Command {
        self.header.command()
    }

    /// NTSTATUS.
    #[inline]
    #[must_use]
    pub fn status(&self) -> u32 {
        self.status
    }

    /// Credits granted.
    #[inline]
    #[must_use]
    pub fn credits(&self) -> u16 {
        self.header.credits()
    }

    /// The request's message id, or [`header::UNSOLICITED`].
    #[inline]
    #[must_use]
    pub fn message_id(&self) -> u64 {
        self.message_id
    }

    /// The session.
    #[inline]
    #[must_use]
    pub fn session_id(&self) -> u64 {
        self.session_id
    }

    /// Says only that the answer will come later, under this reply's async id.
    #[inline]
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status == STATUS_PENDING && self.header.is_async()
    }

    /// Length of the message in bytes, including dropped bytes; of a compound's member with its padding.
    #[inline]
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    #[inline]
    pub(super) fn body(&self) -> Body<'a> {
        Body { bytes: self.header.bytes(), length: self.length, command: self.command() }
    }

    /// Reads the command's body with `done`, if its StructureSize is right and it is complete up to `end`; or the ERROR body, if the
    /// status requires it.
    #[inline]
    pub(super) fn answer<T>(
        &self,
        command: Command,
        structure_size: u16,
        end: usize,
        done: impl FnOnce(&Body<'a>) -> Result<T, Malformed>,
    ) -> Result<Answer<'a, T>, Malformed> {
        let body = self.body();
        if self.command() != command {
            return Err(body.malformed("Command", Why::Value(self.header.command_code().into())));
        }
        // Samba and ksmbd send the result of a server-side copy with any error, not only with STATUS_INVALID_PARAMETER. For an IOCTL,
        // StructureSize shows whether the body has this result.
        let is_error = match command == Command::Ioctl && Severity::of(self.status) == Severity::Error {
            true => body.u16(header::LEN, "StructureSize")? == error::STRUCTURE_SIZE,
            false => error::replaces_body(&self.header),
        };
        if is_error {
            return error::parse(self.status, &body).map(Answer::Refused);
        }
        body.fixed(structure_size, end)?;
        done(&body).map(Answer::Done)
    }
}

/// The answers in one message of the transport.
///
/// # Errors
///
/// Where the chain has a link that cannot be right, or a member before the last was not kept in whole.
pub fn replies<'a>(bytes: &'a [u8], length: usize) -> impl Iterator<Item = Result<Reply<'a>, Malformed>> {
    let mut members = Members::new(bytes, length);
    let mut last = Command::Unknown(u16::MAX);
    let mut ended = false;
    core::iter::from_fn(move || {
        if ended {
            return None;
        }
        if let Some(member) = members.next() {
            last = member.header.command();
            return Some(Reply::new(member.bytes, member.len));
        }
        ended = true;
        let broken = members.malformed() || members.cut_short();
        broken.then_some(Err(Malformed { command: last, field: "NextCommand", why: Why::Missing }))
    })
}

/// The payload of an answer, which the caller reads according to its request.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a>(pub(super) Body<'a>);

impl<'a> Buffer<'a> {
    #[cfg(test)]
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(Body { bytes, length: bytes.len(), command: Command::Unknown(0) })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0.bytes
    }
}

/// Bytes with checked access: a missing field is an error. Offsets count from the header, and in a structure within a message from its
/// beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    bytes: &'a [u8],
    length: usize,
    command: Command,
}

impl<'a> Body<'a> {
    pub(super) fn malformed(&self, field: &'static str, why: Why) -> Malformed {
        Malformed { command: self.command, field, why }
    }

    /// A structure within the message.
    #[inline]
    pub(super) fn within<'b>(&self, bytes: &'b [u8]) -> Body<'b> {
        Body { bytes, length: bytes.len(), command: self.command }
    }

    /// Takes all bytes and leaves an empty body.
    #[inline]
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self { bytes: &[], length: 0, command: self.command })
    }

    #[inline]
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What stands before and from `at` on.
    pub(super) fn split(&self, at: u32, field: &'static str) -> Result<(Self, Self), Malformed> {
        let halves = to_len(at).and_then(|at| self.bytes.split_at_checked(at));
        let place = || self.malformed(field, Why::Place { offset: at.into(), length: 0 });
        let (before, behind) = halves.ok_or_else(place)?;
        Ok((self.within(before), self.within(behind)))
    }

    /// The fixed part has this StructureSize and reaches to `end`.
    #[inline]
    pub(super) fn fixed(&self, structure_size: u16, end: usize) -> Result<(), Malformed> {
        let found = self.u16(header::LEN, "StructureSize")?;
        if found != structure_size {
            return Err(self.malformed("StructureSize", Why::Value(found.into())));
        }
        if self.bytes.len() < end {
            return Err(self.malformed("Buffer", Why::Missing));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn array<const N: usize>(&self, at: usize, field: &'static str) -> Result<[u8; N], Malformed> {
        let found = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        found.copied().ok_or(self.malformed(field, Why::Missing))
    }

    #[inline]
    pub(super) fn u8(&self, at: usize, field: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(at, field).map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&self, at: usize, field: &'static str) -> Result<u16, Malformed> {
        self.array(at, field).map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&self, at: usize, field: &'static str) -> Result<u32, Malformed> {
        self.array(at, field).map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&self, at: usize, field: &'static str) -> Result<u64, Malformed> {
        self.array(at, field).map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn file_id(&self, at: usize, field: &'static str) -> Result<FileId, Malformed> {
        self.array(at, field).map(FileId)
    }

    /// A variable part whose offset and length are two u16 fields beginning at `at`.
    pub(super) fn variable16(&self, at: usize, end: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let (offset, length) = (self.u16(at, field)?, self.u16(at + 2, field)?);
        self.variable(offset.into(), length.into(), end, field)
    }

    /// A variable part whose offset and length are two u32 fields beginning at `at`.
    pub(super) fn variable32(&self, at: usize, end: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let (offset, length) = (self.u32(at, field)?, self.u32(at + 4, field)?);
        self.variable(offset, length, end, field)
    }

    /// An output buffer whose offset is a u16 and whose length is a u32.
    #[inline]
    pub(super) fn buffer(&self, offset: usize, length: usize, end: usize) -> Result<Buffer<'a>, Malformed> {
        let (offset, length) = (self.u16(offset, "OutputBufferOffset")?, self.u32(length, "OutputBufferLength")?);
        self.variable(offset.into(), length, end, "OutputBuffer").map(|bytes| Buffer(self.within(bytes)))
    }

    /// `length` bytes at `offset`, all of them. They may not begin before `end`, where the fixed part ends. An empty part may be
    /// anywhere, because servers set its offset to any value.
    pub(super) fn variable(
        &self,
        offset: u32,
        length: u32,
        end: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        let stored = self.stored_part(offset, length, end, field)?;
        if stored.len() as u64 == u64::from(length) { Ok(stored) } else { Err(self.malformed(field, Why::Missing)) }
    }

    /// The same, for a part of which perhaps only the beginning was stored.
    #[inline]
    pub(super) fn stored_part(
        &self,
        offset: u32,
        length: u32,
        end: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        if length == 0 {
            return Ok(&[]);
        }
        let place = || self.malformed(field, Why::Place { offset: offset.into(), length: length.into() });
        let (from, count) = to_len(offset).zip(to_len(length)).ok_or_else(place)?;
        let to = from.checked_add(count).ok_or_else(place)?;
        if from < end || to > self.length {
            return Err(place());
        }
        Ok(self.bytes.get(from..to.min(self.bytes.len())).unwrap_or_default())
    }
}
