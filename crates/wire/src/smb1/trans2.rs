//! Parameters of a TRANSACTION2 request: path, FID, information level.
//! Spec: MS-CIFS 2.2.6

use super::command::TRANSACTION2;
use super::fields::u16_at;
use super::string::SmbString;
use super::subcommand::trans2::*;
use super::transaction::Transaction;

/// Offsets in the parameters, in bytes; `None` for fields that a subcommand does not have.
#[derive(Clone, Copy, Default)]
struct Layout {
    path: Option<usize>,
    fid: Option<usize>,
    level: Option<usize>,
}

fn layout(function: u16) -> Option<Layout> {
    let (path, fid, level) = match function {
        OPEN2 => (Some(28), None, None),
        FIND_FIRST2 => (Some(12), None, Some(6)),
        // Its FileName is where to resume, not what to find, and its SID is no FID.
        FIND_NEXT2 => (None, None, Some(4)),
        QUERY_FS_INFORMATION => (None, None, Some(0)),
        // MS-SMB 2.2.6.6.1.
        SET_FS_INFORMATION => (None, Some(0), Some(2)),
        QUERY_PATH_INFORMATION | SET_PATH_INFORMATION => (Some(6), None, Some(0)),
        QUERY_FILE_INFORMATION | SET_FILE_INFORMATION => (None, Some(0), Some(2)),
        CREATE_DIRECTORY => (Some(4), None, None),
        GET_DFS_REFERRAL => (Some(2), None, None),
        _ => return None,
    };
    Some(Layout { path, fid, level })
}

fn request_layout(message: &Transaction<'_>) -> Option<Layout> {
    let is_request = message.link().command == TRANSACTION2 && message.link().is_request();
    if is_request { layout(message.function()?) } else { None }
}

/// The path in a request: OPEN2, FIND_FIRST2 (with its pattern), QUERY_ and SET_PATH_INFORMATION, CREATE_DIRECTORY,
/// GET_DFS_REFERRAL.
pub fn path<'a>(message: &Transaction<'a>) -> Option<SmbString<'a>> {
    message.parameter_reader(request_layout(message)?.path?)?.string()
}

/// The FID in a request: QUERY_ and SET_FILE_INFORMATION, SET_FS_INFORMATION.
pub fn fid(message: &Transaction<'_>) -> Option<u16> {
    u16_at(message.parameters.bytes, request_layout(message)?.fid?)
}

/// The information level in a request (MS-CIFS 2.2.2.3; from 0x0300 on, pass-through levels of MS-SMB 2.2.2.3.5).
pub fn information_level(message: &Transaction<'_>) -> Option<u16> {
    u16_at(message.parameters.bytes, request_layout(message)?.level?)
}

/// The FID in the answer to an OPEN2 (MS-CIFS 2.2.6.1.2). The response does not name its request: the caller knows it.
pub fn opened_fid(message: &Transaction<'_>) -> Option<u16> {
    let is_answer = message.link().command == TRANSACTION2 && message.link().is_response();
    if is_answer && message.parameters.displacement == 0 { u16_at(message.parameters.bytes, 0) } else { None }
}
