//! Waits for data of a pipe with a time limit.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Not `io::stdin`, which reads ahead into a buffer: `poll` would not see buffered data.
pub(super) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Whether a read would return at once: with bytes, with the end, or with an error.
pub(super) fn is_ready(from: &impl AsFd, within: Duration) -> io::Result<bool> {
    let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
    match poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error.into()),
    }
}
