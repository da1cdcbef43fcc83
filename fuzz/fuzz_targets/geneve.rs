//! GENEVE's header and options; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| tunnel(data, |_| (Carrier::Udp(6081), &[])));
