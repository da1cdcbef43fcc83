//! Arguments and results of every procedure of the NFS programs, each call with its answer.
//!
//! Each call stands behind six bytes: the program, its version, the procedure, and the lengths of arguments (in
//! 4s, two bytes) and results (in 4s, one byte).
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Conversation, MESSAGES_MAX};
use plimsoll_testkit::{Side, rpc};

/// Portmap, NFS, MOUNT, NLM, NFSACL, and NFS 4.0's callback.
const PROGRAMS: [u32; 6] = [100_000, 100_003, 100_005, 100_021, 100_227, 0x4000_0000];

fuzz_target!(|data: &[u8]| {
    let mut conversation = Conversation::default();
    let (mut rest, mut xid) = (data, 1);
    while let [program, version, procedure, low, high, results_len, tail @ ..] = rest
        && xid as usize <= MESSAGES_MAX
    {
        let program = PROGRAMS[usize::from(*program) % PROGRAMS.len()];
        let from = if program >= 0x4000_0000 { Side::Server } else { Side::Client };
        let arguments_len = usize::from(u16::from_le_bytes([*low, *high])) * 4;
        let (arguments, tail) = tail.split_at(arguments_len.min(tail.len()));
        let (results, tail) = tail.split_at((usize::from(*results_len) * 4).min(tail.len()));
        rest = tail;
        let call = rpc::call(xid, program, u32::from(*version), u32::from(*procedure), arguments);
        conversation.send(from, &rpc::record(&call), 65_000);
        conversation.send(from.other(), &rpc::record(&rpc::reply(xid, results)), 65_000);
        xid += 1;
    }
    conversation.finish();
});
