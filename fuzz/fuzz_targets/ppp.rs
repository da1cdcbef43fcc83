//! PPP and Cisco's HDLC, on every link with them; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (Carrier::Link([9, 50, 104, 166, 204, 9, 50, 104][usize::from(control >> 5)]), &[]));
});
