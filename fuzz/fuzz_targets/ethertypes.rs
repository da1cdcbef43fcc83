//! Headers after an EtherType or a length: VLAN tags, LLC and SNAP, provider bridges; `plimsoll_fuzz::tunnel` documents the input format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Carrier, tunnel};

fuzz_target!(|data: &[u8]| {
    tunnel(data, |control| {
        (Carrier::Ethernet([0x8100, 0x88a8, 0x88e7, 64, 1500, 0x8848, 0x0800, 0x86dd][usize::from(control >> 5)]), &[])
    });
});
