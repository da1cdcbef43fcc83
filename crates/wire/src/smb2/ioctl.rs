//! IOCTL: file system and device controls, most of them FSCTLs: named-pipe calls, DFS referrals, server-side copy.
//!
//! Spec: MS-SMB2 2.2.31, 2.2.32

pub mod fsctl;

use super::command::Command;
use super::draft::{Call, Draft, TooLong, fit32};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Buffer, Malformed, Reply};
use fsctl::Control;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 57;
/// Request and response: CtlCode, u32.
pub const CTL_CODE: usize = header::LEN + 4;
/// Request and response: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request and response: InputOffset, u32.
pub const INPUT_OFFSET: usize = header::LEN + 24;
/// Request: InputCount, u32.
pub const INPUT_COUNT: usize = header::LEN + 28;
/// Request: MaxOutputResponse, u32.
pub const MAX_OUTPUT: usize = header::LEN + 44;
/// Request: Flags, u32.
pub const REQUEST_FLAGS: usize = header::LEN + 48;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 56;
/// Request flag: an FSCTL, not an IOCTL.
pub const FLAG_IS_FSCTL: u32 = 0x0000_0001;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 49;
/// Response: OutputOffset, u32.
pub const OUTPUT_OFFSET: usize = header::LEN + 32;
/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 48;

view! {
    /// Which control on which file.
    Request, request, Ioctl, REQUEST_SIZE;
    /// Which control.
    ctl_code: u32 = u32 CTL_CODE;
    /// The handle; all ones also for controls that need none, in a message that is not related.
    file_id: FileId = file_id FILE_ID;
    /// Length of the input in bytes.
    input_len: u32 = u32 INPUT_COUNT;
}

/// The call: an FSCTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ioctl<'a> {
    /// The handle; [`FileId::PREVIOUS`] where the control needs none.
    pub file: FileId,
    /// What to do.
    pub control: Control<'a>,
    /// The longest answer, in bytes.
    pub max_output: u32,
}

impl Call for Ioctl<'_> {
    const COMMAND: Command = Command::Ioctl;

    fn payload(&self) -> u32 {
        self.max_output.max(self.control.input_len())
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u32(CTL_CODE, self.control.code());
        draft.array(FILE_ID, self.file.0);
        draft.u32(MAX_OUTPUT, self.max_output);
        draft.u32(REQUEST_FLAGS, FLAG_IS_FSCTL);
        self.control.put(draft)?;
        let length = fit32("InputCount", draft.end() - REQUEST_END)?;
        if length > 0 {
            draft.u32(INPUT_OFFSET, REQUEST_END as u32);
            draft.u32(INPUT_COUNT, length);
        }
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// The result of a control.
#[derive(Clone, Copy, Debug)]
pub struct Controlled<'a> {
    /// Which control.
    pub code: u32,
    /// The handle.
    pub file: FileId,
    /// The output, for [`fsctl`] to read on.
    pub output: Buffer<'a>,
}

/// Reads the answer. Server-side copy has an output with `STATUS_INVALID_PARAMETER` too: the server's limits.
///
/// # Errors
/// If a field violates the specification.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Controlled<'a>>, Malformed> {
    reply.answer(Command::Ioctl, RESPONSE_SIZE, RESPONSE_END, |body| {
        let output = body.variable32(OUTPUT_OFFSET, RESPONSE_END, "Output")?;
        Ok(Controlled {
            code: body.u32(CTL_CODE, "CtlCode")?,
            file: body.file_id(FILE_ID, "FileId")?,
            output: Buffer(body.within(output)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.31: FSCTL_PIPE_TRANSCEIVE.
    #[test]
    fn request() {
        let head = Message::request(11).u16(57).u16(0).u32(0x0011_C017).put(&[6; 16]).u32(0x78).u32(44);
        let bytes = head.u32(0).u32(0x78).u32(0).u32(1024).u32(1).u32(0).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.ctl_code(), view.input_len()), (Some(0x0011_C017), Some(44)));
        assert_eq!(view.file_id(), Some(FileId([6; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.input_len());
    }
}
