//! IP in IP, of both versions; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (Carrier::Ip(if control & 32 == 0 { 4 } else { 41 }), &[]));
});
