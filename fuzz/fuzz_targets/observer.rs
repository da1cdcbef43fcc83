//! Raw frames of every link type (`raw_frames`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{Watch, raw_frames};

fuzz_target!(|data: &[u8]| {
    let mut watch = Watch::default();
    for frame in raw_frames(data) {
        watch.frame(frame.time_ns, frame.link, frame.captured, frame.original_len);
    }
    watch.finish();
});
