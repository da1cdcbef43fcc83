//! ONC RPC messages in both directions, behind record marks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::exchange;
use plimsoll_testkit::rpc::record;

fuzz_target!(|data: &[u8]| exchange(data, record));
