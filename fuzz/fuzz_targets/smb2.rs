//! SMB2 messages in both directions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::exchange;
use plimsoll_testkit::nbss;

fuzz_target!(|data: &[u8]| exchange(data, |message| nbss(&[b"\xfeSMB\x40\x00", message].concat())));
