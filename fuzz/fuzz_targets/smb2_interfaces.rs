//! The list of a server's network interfaces (FSCTL_QUERY_NETWORK_INTERFACE_INFO), as a client of several connections reads it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Made;
use plimsoll_wire::smb2::ioctl::{self, fsctl};
use plimsoll_wire::smb2::{Answer, Command, Reply};

/// Bytes of an interface without those behind it (MS-SMB2 2.2.32.5).
const INTERFACE: usize = 152;
/// Bytes of an IOCTL response before its output, which follows at once (MS-SMB2 2.2.32).
const FIXED: usize = 48;

fuzz_target!(|data: &[u8]| {
    let Ok(length) = u32::try_from(data.len()) else { return };
    let mut fixed = [0; FIXED];
    fixed[0] = FIXED as u8 + 1;
    fixed[32..36].copy_from_slice(&(64 + FIXED as u32).to_le_bytes());
    fixed[36..40].copy_from_slice(&length.to_le_bytes());
    let how = [Command::Ioctl.code() as u8, 0, 0, 0, 0];
    let made = Made::of(&[&how[..], &fixed, data].concat()).expect("it has controls");
    let reply = Reply::new(&made.bytes, made.length).expect("the header is whole");
    let Ok(Answer::Done(answer)) = ioctl::parse(&reply) else { panic!("the fixed part is right") };
    match fsctl::interfaces(&answer.output) {
        Ok(all) => {
            let is_possible = all.is_empty() == data.is_empty() && all.len() * INTERFACE <= data.len();
            assert!(is_possible, "{} in {length} bytes", all.len());
        }
        Err(error) => assert!(!error.field.is_empty() && error.command == Command::Ioctl),
    }
});
