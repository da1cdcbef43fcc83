//! PPPoE sessions; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (if control & 32 == 0 { Carrier::Ethernet(0x8864) } else { Carrier::Link(51) }, &[]));
});
