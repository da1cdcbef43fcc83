//! Waiting on an epoll set until an instant that is known to the nanosecond.
//!
//! `epoll_pwait2` (Linux 5.11) does that in one system call. Before it, `epoll_wait` had whole milliseconds, so the wait is
//! `ppoll`'s, on the set itself: a set is readable while it has events. Its time limit has the same resolution and the same timer
//! slack, so that schedule lag means the same on both kernels; it costs two system calls more per wait that sleeps.
//!
//! Spec: epoll(7), "Q4 Is the epoll file descriptor itself poll/epoll/selectable?"; ppoll(2)

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::{Errno, Result};

/// Events taken from the kernel at a time. Few, so that timers are looked at often however many connections are ready.
pub(super) const EVENTS: usize = 64;

/// Waits for nothing.
pub(super) const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The system calls that this kernel has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpollWait {
    Pwait2,
    Ppoll,
}

impl EpollWait {
    /// Tries the newer one on a set. A container may forbid a system call that it does not know.
    pub(super) fn of_this_kernel(set: &OwnedFd) -> Self {
        let mut none = Vec::with_capacity(1);
        match epoll::wait(set, rustix::buffer::spare_capacity(&mut none), Some(&AT_ONCE)) {
            Err(Errno::NOSYS | Errno::PERM) => Self::Ppoll,
            _ => Self::Pwait2,
        }
    }

    /// Adds pending events to `events`, which has room for [`EVENTS`]; without any, waits for one as long as `limit` allows.
    #[inline]
    pub(super) fn wait(self, set: &OwnedFd, events: &mut Vec<epoll::Event>, limit: Option<&Timespec>) -> Result<()> {
        match self {
            Self::Pwait2 => epoll::wait(set, rustix::buffer::spare_capacity(events), limit).map(drop),
            Self::Ppoll => wait_with_ppoll(set, events, limit),
        }
    }
}

#[cold]
fn wait_with_ppoll(set: &OwnedFd, events: &mut Vec<epoll::Event>, limit: Option<&Timespec>) -> Result<()> {
    take(set, events)?;
    if events.is_empty() && limit != Some(&AT_ONCE) && poll(&mut [PollFd::new(set, PollFlags::IN)], limit)? > 0 {
        take(set, events)?;
    }
    Ok(())
}

/// Takes pending events without waiting.
fn take(set: &OwnedFd, events: &mut Vec<epoll::Event>) -> Result<()> {
    let mut came = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
    // SAFETY: the kernel writes at most `EVENTS` events to `came`, which outlives the call.
    let count = unsafe { libc::epoll_wait(set.as_raw_fd(), came.as_mut_ptr(), EVENTS as libc::c_int, 0) };
    let count = usize::try_from(count).map_err(|_| last_error())?;
    events.extend(came.iter().take(count).map(|event| epoll::Event {
        flags: epoll::EventFlags::from_bits_retain(event.events),
        data: epoll::EventData::new_u64(event.u64),
    }));
    Ok(())
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
