//! TREE_CONNECT: the client goes to a share.
//!
//! Spec: MS-SMB2 2.2.9, 2.2.10

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::fields::view;
use super::header;
use super::reply::{Answer, Malformed, Reply, Why};
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 9;
/// Request: PathOffset and PathLength, u16 each.
pub const PATH: usize = header::LEN + 4;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 8;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 16;
/// Response: ShareType, u8.
pub const SHARE_TYPE: usize = header::LEN + 2;
/// Response: ShareFlags, u32.
pub const SHARE_FLAGS: usize = header::LEN + 4;
/// Response: Capabilities, u32.
pub const SHARE_CAPABILITIES: usize = header::LEN + 8;
/// Response: MaximalAccess, u32.
pub const MAXIMAL_ACCESS: usize = header::LEN + 12;
/// Response: end.
pub const RESPONSE_END: usize = header::LEN + 16;
/// Share flag: everything in this share is encrypted.
pub const SHARE_ENCRYPTS: u32 = 0x0000_8000;
/// SMB2_SHARE_CAP_CONTINUOUS_AVAILABILITY: with a server that has persistent handles, opens of this share may have them.
pub const SHARE_CONTINUOUS_AVAILABILITY: u32 = 0x0000_0010;

view! {
    /// Where to.
    Request, request, TreeConnect, REQUEST_SIZE;
}

/// The type of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareType {
    /// Files.
    Disk,
    /// Named pipes (`IPC$`).
    Pipe,
    /// A printer.
    Print,
    /// A number that the specification does not name.
    Unknown(u8),
}

impl ShareType {
    /// From the number on the wire.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Disk,
            2 => Self::Pipe,
            3 => Self::Print,
            other => Self::Unknown(other),
        }
    }
}

impl<'a> Request<'a> {
    /// `\\server\share`.
    #[must_use]
    pub fn path(&self) -> Option<Utf16Le<'a>> {
        self.fields.text16(PATH, REQUEST_END)
    }
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnect<'a> {
    /// `\\server\share`, or with `/`.
    pub path: &'a str,
}

impl Call for TreeConnect<'_> {
    const COMMAND: Command = Command::TreeConnect;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.variable16(PATH, "PathName", |draft| draft.path(self.path))?;
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// A share that the client is on now. Its tree id is the reply's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// Disk, pipe or printer.
    pub share_type: ShareType,
    /// SMB2_SHAREFLAG bits, [`SHARE_ENCRYPTS`] among them.
    pub flags: u32,
    /// SMB2_SHARE_CAP bits, [`SHARE_CONTINUOUS_AVAILABILITY`] among them.
    pub capabilities: u32,
    /// ACCESS_MASK of the user's maximal rights.
    pub maximal_access: u32,
}

/// Reads the answer.
///
/// # Errors
/// If a field violates the specification, for example an unknown share type.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Connected>, Malformed> {
    reply.answer(Command::TreeConnect, RESPONSE_SIZE, RESPONSE_END, |body| {
        let share_type = ShareType::from_code(body.u8(SHARE_TYPE, "ShareType")?);
        if let ShareType::Unknown(code) = share_type {
            return Err(body.malformed("ShareType", Why::Value(code.into())));
        }
        Ok(Connected {
            share_type,
            flags: body.u32(SHARE_FLAGS, "ShareFlags")?,
            capabilities: body.u32(SHARE_CAPABILITIES, "Capabilities")?,
            maximal_access: body.u32(MAXIMAL_ACCESS, "MaximalAccess")?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.9.
    #[test]
    fn request_path() {
        let path = r"\\srv\IPC$";
        let bytes = Message::request(3).u16(9).u16(0).u16(72).u16(20).utf16(path).bytes();
        assert_eq!(Request::new(&bytes).unwrap().path().unwrap(), path);
        truncations(&bytes, |bytes| Request::new(bytes)?.path());
    }

    #[test]
    fn a_path_inside_the_fixed_part_is_none() {
        let bytes = Message::request(3).u16(9).u16(0).u16(64).u16(4).utf16("ab").bytes();
        assert_eq!(Request::new(&bytes).unwrap().path(), None);
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let bytes = emitted(&TreeConnect { path: "//srv/IPC$" });
        assert_eq!(Request::new(&bytes).unwrap().path().unwrap(), r"\\srv\IPC$");
    }

    #[test]
    fn a_share_is_read_strictly() {
        let body = |kind| Message::response(3, 0).u16(16).u8(kind).u8(0).u32(SHARE_ENCRYPTS).u32(8).u32(0x1F_01FF);
        let good = body(1).bytes();
        let share = Connected {
            share_type: ShareType::Disk,
            flags: SHARE_ENCRYPTS,
            capabilities: 8,
            maximal_access: 0x1F_01FF,
        };
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(share)));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        let error = parse(&whole(&body(9).bytes())).unwrap_err();
        assert_eq!(error.to_string(), "SMB2 TREE_CONNECT response: ShareType is 0x9, an invalid value");
    }
}
