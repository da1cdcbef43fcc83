//! MPLS: labels and what is guessed behind them, in Ethernet and in IP: `plimsoll_fuzz::tunnel` says what the bytes are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| (if control & 32 == 0 { Carrier::Ethernet(0x8847) } else { Carrier::Ip(137) }, &[]));
});
