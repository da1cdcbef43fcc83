//! MPLS: labels and the guessed content after them, in Ethernet and in IP; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (if control & 32 == 0 { Carrier::Ethernet(0x8847) } else { Carrier::Ip(137) }, &[]));
});
