//! ERSPAN's headers of all types, after those of GRE; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| {
        let before: &[u8] = match control >> 5 & 3 {
            0 => &[0, 0, 0x88, 0xbe],
            1 => &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1],
            _ => &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1],
        };
        (Carrier::Ip(47), before)
    });
});
