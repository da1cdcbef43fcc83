//! VXLAN's header, on both ports; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (Carrier::Udp(if control & 32 == 0 { 4789 } else { 8472 }), &[]));
});
