//! Secrets that stood on the command line leave the process's title: `ps` shows them no longer. Everybody on this machine can read it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use crate::secrecy;

/// Overwrites the passwords of all URLs in this process's command line, and the keys.
///
/// # Errors
/// They are still there.
pub fn hide_secrets() -> anyhow::Result<()> {
    let secrets = secrecy::secrets(secrecy::given());
    secrets.into_iter().try_for_each(hide).map_err(|error| {
        let what = "cannot hide a password or key from the process list; use --password-file, PLIMSOLL_PASSWORD or \
        --smb-session-keys instead";
        anyhow::Error::new(error).context(what)
    })
}

/// Overwrites every appearance of `secret` in this process's own command line.
///
/// The kernel reads `/proc/PID/cmdline` from the memory of the process. Its start and end are fields 48 and 49 of
/// `/proc/self/stat` (proc(5): arg_start, arg_end).
fn hide(secret: &str) -> io::Result<()> {
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

/// Positions of `what` in `line`.
fn places(line: &[u8], what: &[u8]) -> Vec<usize> {
    line.windows(what.len()).enumerate().filter(|(_, window)| *window == what).map(|(at, _)| at).collect()
}
