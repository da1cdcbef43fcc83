//! The computer that this runs on, as far as Linux tells.

use std::fs;

use plimsoll_recording::folder::Machine;

/// This computer.
#[must_use]
pub fn this_machine() -> Machine {
    let value = |file: &str, key: &str| -> Option<String> {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let kib = value("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    Machine {
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        processor: value("/proc/cpuinfo", "model name"),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
        memory_bytes: kib.map(|kib| kib * 1024),
    }
}
