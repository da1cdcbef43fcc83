//! Any bytes as a capture file: every format, plain and compressed.
#![no_main]

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use libfuzzer_sys::fuzz_target;
use plimsoll_observe::capture::{Captures, ClockEstimate, Input, MAX_PACKET_BYTES};

/// A file in memory where the system has a place for one.
fn scratch() -> &'static (PathBuf, Mutex<File>) {
    static SCRATCH: OnceLock<(PathBuf, Mutex<File>)> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = folder.join(format!("plimsoll-fuzz-capture-{}", std::process::id()));
        let file = File::create(&path).expect("a scratch file");
        (path, Mutex::new(file))
    })
}

fuzz_target!(|data: &[u8]| {
    let (path, file) = scratch();
    let mut file = file.lock().expect("no poison");
    file.set_len(0).expect("the scratch file shrinks");
    file.rewind().expect("the scratch file rewinds");
    file.write_all(data).expect("the scratch file grows");
    let Ok(mut captures) = Captures::open(vec![Input::File(path.clone())]) else { return };
    let (mut clock, mut count, mut last) = (ClockEstimate::new(), 0, 0);
    loop {
        match captures.next() {
            Ok(None) => break,
            // An error ends a file, and there is only one.
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(Some(frame)) => {
                count += 1;
                last = last.max(frame.number);
                assert!(frame.captured.len() <= MAX_PACKET_BYTES as usize);
                frame.time_ns.into_iter().for_each(|time| clock.observe(time));
            }
        }
    }
    assert_eq!(count, last, "frames are numbered from 1, in whatever order they come");
    let _ = (captures.anomalies(), clock.granularity());
});
