//! Parameters of a TRANSACTION2 request: path, FID.
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
}

fn layout(function: u16) -> Option<Layout> {
    let (path, fid) = match function {
        OPEN2 => (Some(28), None),
        FIND_FIRST2 => (Some(12), None),
        // MS-SMB 2.2.6.6.1.
        SET_FS_INFORMATION => (None, Some(0)),
        QUERY_PATH_INFORMATION | SET_PATH_INFORMATION => (Some(6), None),
        QUERY_FILE_INFORMATION | SET_FILE_INFORMATION => (None, Some(0)),
        CREATE_DIRECTORY => (Some(4), None),
        GET_DFS_REFERRAL => (Some(2), None),
        // FIND_NEXT2: its FileName is where to resume, not what to find, and its SID is no FID.
        _ => return None,
    };
    Some(Layout { path, fid })
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

/// Where the path stands in the parameters, before padding.
pub(super) fn path_at(message: &Transaction<'_>) -> Option<usize> {
    request_layout(message)?.path
}

/// The FID in a request: QUERY_ and SET_FILE_INFORMATION, SET_FS_INFORMATION.
pub fn fid(message: &Transaction<'_>) -> Option<u16> {
    u16_at(message.parameters.bytes, request_layout(message)?.fid?)
}

/// The FID in the answer to an OPEN2 (MS-CIFS 2.2.6.1.2). The response does not name its request: the caller knows it.
pub fn opened_fid(message: &Transaction<'_>) -> Option<u16> {
    let is_answer = message.link().command == TRANSACTION2 && message.link().is_response();
    if is_answer && message.parameters.displacement == 0 { u16_at(message.parameters.bytes, 0) } else { None }
}
