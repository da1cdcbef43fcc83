//! A password that stood on the command line leaves the process's title: `ps` shows it no longer.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Overwrites every appearance of `secret` in this process's own command line.
///
/// The kernel shows `/proc/PID/cmdline` from the process's memory; where that begins and ends stands in
/// `/proc/self/stat` (proc(5): fields 48 and 49, arg_start and arg_end).
pub(super) fn hide(secret: &str) -> io::Result<()> {
    if secret.is_empty() {
        return Ok(());
    }
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat has no arg_start");
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field, the program's name in parentheses, may hold spaces.
    let (_, fields) = stat.rsplit_once(") ").ok_or_else(unreadable)?;
    let field = |number: usize| fields.split(' ').nth(number - 3)?.trim().parse::<u64>().ok();
    let (start, end) = field(48).zip(field(49)).ok_or_else(unreadable)?;
    let mut line = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(0)];
    File::open("/proc/self/mem")?.read_exact_at(&mut line, start)?;
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    for at in places(&line, secret.as_bytes()) {
        memory.write_all_at(&vec![b'x'; secret.len()], start + at as u64)?;
    }
    Ok(())
}

/// Where `what` stands in `line`.
fn places(line: &[u8], what: &[u8]) -> Vec<usize> {
    line.windows(what.len()).enumerate().filter(|(_, window)| *window == what).map(|(at, _)| at).collect()
}
