//! Marks in SMB2 messages. The fixed part of each body is marked as numbers; in the variable part the names are marked.
//!
//! Spec: MS-SMB2 2.2.1 to 2.2.42

use super::command::Command;
use super::compound::{Member, Members};
use super::header;
use super::{
    create, error, lock, negotiate, query_directory, read, session_setup, set_info, transform, tree_connect, write,
};
use crate::marks::{Mark, Marks};
use crate::{ntlmssp, pipe};

/// Of a compressed message: the header that says how long it is.
const COMPRESSED_LEN: usize = 16;
/// Body of an error response without its data.
const ERROR_LEN: usize = 8;
/// Of a rename or link, before the name: flags, a directory's handle, and the name's length.
const BEFORE_NEW_NAME: usize = 20;
/// An element of LOCK: offset, length, flags.
const LOCK_ELEMENT: usize = 24;

/// Fixed parts of bodies by command code: of requests, and of responses. MS-SMB2 2.2.3 to 2.2.40.
const FIXED: [[usize; 2]; 19] = [
    [36, 64],
    [24, 8],
    [4, 4],
    [8, 16],
    [4, 4],
    [56, 88],
    [24, 60],
    [24, 4],
    [48, 16],
    [48, 16],
    [48, 4],
    [56, 48],
    [4, 4],
    [4, 4],
    [32, 8],
    [32, 8],
    [40, 8],
    [32, 2],
    [36, 44],
];
/// ClientGuid of a NEGOTIATE request; ServerGuid of a response, and when the server started.
const CLIENT_GUID: core::ops::Range<usize> = 12..28;
const SERVER_GUID: core::ops::Range<usize> = 8..24;
const STARTED: core::ops::Range<usize> = 48..56;
/// Times of a file in the responses to CREATE and CLOSE.
const FILE_TIMES: core::ops::Range<usize> = 8..40;
/// LeaseKey of OPLOCK_BREAK messages for leases, which are longer than those for oplocks.
const LEASE_KEY: core::ops::Range<usize> = 8..24;
const OPLOCK_BREAK_LEN: u16 = 24;

/// Marks a message of `len` bytes: one or more plain members, or the header of an encrypted or compressed one.
pub fn mark(len: usize, marks: &mut Marks<'_>) {
    match transform::Kind::of(marks.message()) {
        Some(transform::Kind::Plain) => {
            for member in Members::new(marks.message(), len) {
                mark_member(&member, marks);
            }
        }
        Some(transform::Kind::Encrypted) => {
            marks.range(0..transform::SIGNATURE, Mark::Number);
            marks.range(transform::ORIGINAL_MESSAGE_SIZE..transform::ENCRYPTED_LEN, Mark::Number);
        }
        Some(transform::Kind::Compressed) => marks.range(0..COMPRESSED_LEN, Mark::Number),
        None => {}
    }
}

fn mark_member(member: &Member<'_>, marks: &mut Marks<'_>) {
    let (bytes, at) = (member.bytes, member.offset);
    // What signs it is no number that anyone needs.
    marks.range(at..(at + header::SIGNATURE).min(at + bytes.len()), Mark::Number);
    let is_response = member.header.is_response();
    let is_error = is_response && error::replaces_body(&member.header);
    let fixed = FIXED.get(usize::from(member.header.command_code())).map(|sizes| sizes[usize::from(is_response)]);
    let Some(fixed) = fixed.map(|fixed| if is_error { ERROR_LEN } else { fixed }) else { return };
    let body = at + header::LEN;
    let secret = if is_error { 0..0 } else { secret(member) };
    for range in [0..secret.start.min(fixed), secret.end.min(fixed)..fixed] {
        // Not what belongs to the next member.
        marks.range((body + range.start)..(body + range.end).min(at + bytes.len()), Mark::Number);
    }
    if !is_error {
        mark_variable(member, is_response, marks);
    }
}

/// Fields in the fixed part of a body that identify a machine or reveal a file's times.
fn secret(member: &Member<'_>) -> core::ops::Range<usize> {
    let size = member.bytes.get(header::LEN..header::LEN + 2).map_or(0, |size| u16::from_le_bytes([size[0], size[1]]));
    match (member.header.command(), member.header.is_response()) {
        (Command::Negotiate, false) => CLIENT_GUID,
        // SystemTime, between the two, only repeats the time of the capture.
        (Command::Negotiate, true) => SERVER_GUID.start..STARTED.end,
        (Command::Create | Command::Close, true) => FILE_TIMES,
        (Command::OplockBreak, _) if size > OPLOCK_BREAK_LEN => LEASE_KEY,
        _ => 0..0,
    }
}

/// A lease that a CREATE response grants; its key is the same in the breaks of the lease.
fn mark_lease(member: &Member<'_>, marks: &mut Marks<'_>) -> Option<()> {
    let (read, key) = create::Response::new(member.bytes)?.lease_places();
    let end = member.offset + member.bytes.len();
    let place = |range: core::ops::Range<usize>| (member.offset + range.start)..(member.offset + range.end).min(end);
    read.into_iter().for_each(|range| marks.range(place(range), Mark::Number));
    marks.range(place(key?), Mark::Id);
    Some(())
}

fn mark_variable(member: &Member<'_>, is_response: bool, marks: &mut Marks<'_>) -> Option<()> {
    let bytes = member.bytes;
    match (member.header.command(), is_response) {
        (Command::SessionSetup, false) => {
            ntlmssp::mark(session_setup::Request::new(bytes)?.security_buffer()?, marks);
        }
        (Command::SessionSetup, true) => {
            ntlmssp::mark(session_setup::Response::new(bytes)?.security_buffer()?, marks);
        }
        (Command::TreeConnect, false) => marks.part(tree_connect::Request::new(bytes)?.path()?.0, Mark::Wide),
        (Command::Create, true) => mark_lease(member, marks)?,
        (Command::Create, false) => {
            let request = create::Request::new(bytes)?;
            request.context_parts().into_iter().for_each(|part| marks.part(part, Mark::Number));
            marks.part(request.name()?.0, Mark::Wide);
        }
        (Command::QueryDirectory, false) => marks.part(query_directory::Request::new(bytes)?.pattern()?.0, Mark::Wide),
        (Command::SetInfo, false) => {
            let name = set_info::Request::new(bytes)?.new_name()?.0;
            let start = marks.place(name)?.start;
            marks.range(start.saturating_sub(BEFORE_NEW_NAME)..start, Mark::Number);
            marks.part(name, Mark::Wide);
        }
        (Command::Lock, false) => {
            let elements = usize::from(lock::Request::new(bytes)?.count()?);
            let start = member.offset + header::LEN + LOCK_ELEMENT;
            let end = (start + elements * LOCK_ELEMENT).min(member.offset + bytes.len());
            marks.range(start..end, Mark::Number);
        }
        (Command::Write, false) => {
            let at = usize::from(write::Request::new(bytes)?.data_offset()?);
            marks.part(pipe::call_header(bytes.get(at..)?), Mark::Number);
        }
        // All addresses of a server have the same one, but one of zeros names no server.
        (Command::Negotiate, true) if negotiate::Response::new(bytes)?.server_guid()? != [0; 16] => {
            let body = member.offset + header::LEN;
            marks.range(body + SERVER_GUID.start..body + SERVER_GUID.end, Mark::Id);
        }
        (Command::OplockBreak, _) => {
            let key = (member.offset + header::LEN + LEASE_KEY.start)..(member.offset + header::LEN + LEASE_KEY.end);
            if secret(member) == LEASE_KEY && key.end <= member.offset + bytes.len() {
                marks.range(key, Mark::Id);
            }
        }
        (Command::Read, true) => {
            let at = usize::from(read::Response::new(bytes)?.data_offset()?);
            marks.part(pipe::call_header(bytes.get(at..)?), Mark::Number);
        }
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::Message;

    #[test]
    fn a_reconnection_is_marked_and_no_other_data_of_create_contexts() {
        // MS-SMB2 2.2.13, 2.2.13.2.4: an empty name, and two contexts.
        let fixed = Message::request(5).u16(57).fill(42).u16(0x78).u16(0).u32(0x78).u32(80);
        let lease = fixed.u32(40).u16(16).u16(4).u16(0).u16(24).u32(16).put(b"RqLs").u32(0).put(&[8; 16]);
        let reconnect = lease.u32(0).u16(16).u16(4).u16(0).u16(24).u32(16).put(b"DHnC").u32(0).put(&[9; 16]);
        let bytes = [&reconnect.bytes()[..], &[7; 8]].concat();
        let mut marks = Marks::new(&bytes);
        mark(bytes.len(), &mut marks);
        let mut copy = vec![0; bytes.len()];
        for (range, _) in marks.iter() {
            copy[range.clone()].copy_from_slice(&bytes[range]);
        }
        let request = create::Request::new(&copy).unwrap();
        assert!(request.reconnects());
        assert_eq!(request.reconnected().map(|id| id.0), Some([9; 16]));
        assert!(!copy.contains(&8) && !copy.contains(&7), "lease keys and unknown bytes have no mark");
    }

    #[test]
    fn the_guid_of_a_server_gets_another_one_unless_it_names_none() {
        let ids = |guid: u8| {
            let bytes = Message::response(0, 0).u16(65).u16(1).u16(0x0311).u16(2).put(&[guid; 16]).fill(40).bytes();
            let mut marks = Marks::new(&bytes);
            mark(bytes.len(), &mut marks);
            marks.iter().filter(|(_, mark)| *mark == Mark::Id).collect::<Vec<_>>()
        };
        assert_eq!(ids(9), [(72..88, Mark::Id)]);
        assert!(ids(0).is_empty());
    }
}
