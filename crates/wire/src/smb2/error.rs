//! Responses whose body is the ERROR response and not the command's own.
//!
//! Spec: MS-SMB2 2.2.2, 3.3.4.4

use super::fields::to_len;
use super::header::{self, Command, Header};
use super::reply::{Body, Malformed};
use super::status;
use crate::text::Utf16Le;

/// StructureSize of the ERROR response's body.
pub const STRUCTURE_SIZE: u16 = 9;
/// ErrorContextCount, u8.
pub const CONTEXT_COUNT: usize = header::LEN + 2;
/// ByteCount, u32.
pub const BYTE_COUNT: usize = header::LEN + 4;
/// ErrorData, ByteCount bytes.
pub const DATA: usize = header::LEN + 8;

/// True when the status says that an ERROR body stands in for the command's own, by the list of exceptions in 3.3.4.4.
/// That body has the same StructureSize, 9, as five commands' responses: the size alone tells nothing.
pub(super) fn replaces_body(header: &Header<'_>) -> bool {
    let Some(status) = header.status() else { return false };
    match status {
        status::STATUS_PENDING => true,
        status::STATUS_MORE_PROCESSING_REQUIRED => header.command() != Command::SessionSetup,
        status::STATUS_BUFFER_OVERFLOW => {
            !matches!(header.command(), Command::QueryInfo | Command::Ioctl | Command::Read)
        }
        // Server-side copy answers with the sizes it would accept.
        status::STATUS_INVALID_PARAMETER => header.command() != Command::Ioctl,
        status::STATUS_NOTIFY_ENUM_DIR => header.command() != Command::ChangeNotify,
        other => status::Severity::of(other) != status::Severity::Success,
    }
}

/// A status that is no success, and what was said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// NTSTATUS.
    pub status: u32,
    /// How many error contexts the data holds; 0 where it is no such list, as before dialect 3.1.1.
    pub contexts: u8,
    /// ErrorData.
    pub data: &'a [u8],
}

impl<'a> Refusal<'a> {
    /// What was said about it, part by part: one part with the id 0 where there are no contexts and there is data.
    #[must_use]
    pub fn parts(&self) -> Parts<'a> {
        Parts { rest: self.data, left: self.contexts, single: self.contexts == 0 && !self.data.is_empty() }
    }

    /// With `STATUS_BUFFER_TOO_SMALL`: the length of the answer that there was no room for, in bytes.
    #[must_use]
    pub fn required_len(&self) -> Option<u32> {
        (self.status == status::STATUS_BUFFER_TOO_SMALL).then_some(())?;
        let part = self.parts().next()?;
        part.data.first_chunk().map(|length| u32::from_le_bytes(*length))
    }

    /// With `STATUS_STOPPED_ON_SYMLINK`: where the path goes on. None where the server does not say, or not as the
    /// specification has it.
    #[must_use]
    pub fn symlink(&self) -> Option<Symlink<'a>> {
        (self.status == status::STATUS_STOPPED_ON_SYMLINK).then_some(())?;
        self.parts().find_map(|part| Symlink::parse(part.data))
    }
}

/// One part of ErrorData: an error context (2.2.2.1) or, before dialect 3.1.1, all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// ErrorId; 0 is the default.
    pub id: u32,
    /// ErrorContextData.
    pub data: &'a [u8],
}

/// The parts of ErrorData as far as they make sense: what was refused is clear without them.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    rest: &'a [u8],
    left: u8,
    single: bool,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if core::mem::take(&mut self.single) {
            return Some(Part { id: 0, data: self.rest });
        }
        self.left = self.left.checked_sub(1)?;
        let [l0, l1, l2, l3, i0, i1, i2, i3] = *self.rest.first_chunk::<8>()?;
        let length = to_len(u32::from_le_bytes([l0, l1, l2, l3]))?;
        let data = self.rest.get(8..)?.get(..length)?;
        self.rest = self.rest.get((8 + length).next_multiple_of(8)..).unwrap_or_default();
        Some(Part { id: u32::from_le_bytes([i0, i1, i2, i3]), data })
    }
}

/// A symbolic link in the path, which the client must follow by itself. Spec: MS-SMB2 2.2.2.2.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symlink<'a> {
    /// Bytes of the path's end, as UTF-16, that were not looked at yet.
    pub unparsed_len: u16,
    /// The target counts from the directory that the link is in.
    pub relative: bool,
    /// The target.
    pub substitute: Utf16Le<'a>,
    /// The target as people are shown it.
    pub print: Utf16Le<'a>,
}

impl<'a> Symlink<'a> {
    const ERROR_TAG: u32 = 0x4C4D_5953;
    const REPARSE_TAG: u32 = 0xA000_000C;
    const PATHS: usize = 28;
    const FLAG_RELATIVE: u32 = 1;

    fn parse(data: &'a [u8]) -> Option<Self> {
        let half = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
        let word = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        (word(4)? == Self::ERROR_TAG && word(8)? == Self::REPARSE_TAG).then_some(())?;
        let path = |at: usize| {
            let (offset, length) = (usize::from(half(at)?), usize::from(half(at + 2)?));
            data.get(Self::PATHS..)?.get(offset..)?.get(..length).map(Utf16Le)
        };
        Some(Self {
            unparsed_len: half(14)?,
            substitute: path(16)?,
            print: path(20)?,
            relative: word(24)? & Self::FLAG_RELATIVE != 0,
        })
    }
}

/// Reads the ERROR body.
pub(super) fn parse<'a>(status: u32, body: &Body<'a>) -> Result<Refusal<'a>, Malformed> {
    body.fixed(STRUCTURE_SIZE, DATA)?;
    let length = body.u32(BYTE_COUNT, "ByteCount")?;
    let data = body.variable(DATA as u32, length, DATA, "ErrorData")?;
    Ok(Refusal { status, contexts: body.u8(CONTEXT_COUNT, "ErrorContextCount")?, data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::Message;

    #[test]
    fn which_statuses_bring_an_error_body() {
        for (command, status, replaced) in [
            (14, status::STATUS_SUCCESS, false),
            (14, status::STATUS_NO_MORE_FILES, true),
            (14, status::STATUS_PENDING, true),
            (1, status::STATUS_MORE_PROCESSING_REQUIRED, false),
            (16, status::STATUS_BUFFER_OVERFLOW, false),
            (16, status::STATUS_BUFFER_TOO_SMALL, true),
            (15, status::STATUS_NOTIFY_ENUM_DIR, false),
            (15, status::STATUS_CANCELLED, true),
            (5, status::STATUS_STOPPED_ON_SYMLINK, true),
        ] {
            let bytes = Message::response(command, status).bytes();
            assert_eq!(replaces_body(&Header::new(&bytes).unwrap()), replaced, "{command} {status:#x}");
        }
    }
    fn refusal<'a>(status: u32, contexts: u8, data: &'a [u8]) -> Refusal<'a> {
        Refusal { status, contexts, data }
    }

    /// Hand-assembled from 2.2.2.2.1.
    fn symlink() -> Vec<u8> {
        let head = Message::structure().u32(48).u32(0x4C4D_5953).u32(0xA000_000C).u16(24).u16(6);
        let paths = head.u16(4).u16(8).u16(0).u16(4).u32(1);
        paths.utf16("xy").utf16(r"..\z").bytes()
    }

    #[test]
    fn a_symlink_says_where_the_path_goes_on() {
        let link = symlink();
        let expected = Symlink {
            unparsed_len: 6,
            relative: true,
            substitute: Utf16Le(&link[32..40]),
            print: Utf16Le(&link[28..32]),
        };
        assert_eq!(refusal(status::STATUS_STOPPED_ON_SYMLINK, 0, &link).symlink(), Some(expected));
        let context = Message::structure().u32(link.len() as u32).u32(0).put(&link).bytes();
        let read = refusal(status::STATUS_STOPPED_ON_SYMLINK, 1, &context).symlink();
        assert_eq!(read.map(|link| link.substitute == r"..\z"), Some(true), "as dialect 3.1.1 has it");
        for cut in 0..link.len() {
            assert_eq!(refusal(status::STATUS_STOPPED_ON_SYMLINK, 0, &link[..cut]).symlink(), None, "cut at {cut}");
        }
        assert_eq!(refusal(status::STATUS_ACCESS_DENIED, 0, &link).symlink(), None);
    }

    #[test]
    fn parts_and_the_length_that_was_missing() {
        let contexts = Message::structure().u32(4).u32(0).u32(4096).u32(0).u32(2).u32(7).u16(9).bytes();
        let refusal_of = |count| refusal(status::STATUS_BUFFER_TOO_SMALL, count, &contexts);
        let parts: Vec<_> = refusal_of(2).parts().map(|part| (part.id, part.data.len())).collect();
        assert_eq!(parts, [(0, 4), (7, 2)]);
        assert_eq!(refusal_of(9).parts().count(), 2, "one more than there are");
        assert_eq!(refusal_of(1).required_len(), Some(4096));
        assert_eq!(refusal(status::STATUS_BUFFER_TOO_SMALL, 0, &[0, 16, 0, 0]).required_len(), Some(4096));
        assert_eq!(refusal(status::STATUS_BUFFER_TOO_SMALL, 0, &[]).required_len(), None);
    }
}
