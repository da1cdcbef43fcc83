//! GRE's header, whatever its version and protocol: `plimsoll_fuzz::tunnel` says what the bytes are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| tunnel(data, |_| (Carrier::Ip(47), &[])));
