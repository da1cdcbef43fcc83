//! The NFSv4 client as a state machine: a server that answers as it should, refuses, damages and repeats answers, calls the client, loses
//! connections and lets requests time out, in any order.
//!
//! The first byte is the minor version, and whether the client is connected when the script begins. A step is a byte for what happens, a
//! byte for the call or operation, and what it needs more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Nfs4Server;

/// Steps of one input, at most.
const STEPS_MAX: usize = 64;

fuzz_target!(|data: &[u8]| {
    let [how, script @ ..] = data else { return };
    let mut server = Nfs4Server::new(u32::from(how % 3));
    if how & 128 == 0 {
        server.serve();
    }
    let mut rest = script;
    let _ = (0..STEPS_MAX).take_while(|_| server.step(&mut rest)).count();
    server.finish();
});
