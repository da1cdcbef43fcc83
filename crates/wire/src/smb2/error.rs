//! Responses whose body is the ERROR response and not the command's own.
//!
//! Spec: MS-SMB2 2.2.2, 3.3.4.4

use super::command::Command;
use super::header::{self, Header};
use super::reply::{Body, Malformed};
use super::status;

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

/// An error status with its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// NTSTATUS.
    pub status: u32,
    /// How many error contexts the data holds; 0 where it is no such list, as before dialect 3.1.1.
    pub contexts: u8,
    /// ErrorData.
    pub data: &'a [u8],
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
}
