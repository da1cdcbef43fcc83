//! CPU usage of a worker.

use std::mem::zeroed;

use rustix::time::{ClockId, clock_gettime};

use super::WorkerCpu;

/// CPU time of the calling thread since it began, ns.
pub(super) fn total_ns() -> u64 {
    let total = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(total.tv_sec.saturating_mul(1_000_000_000) + total.tv_nsec).unwrap_or(0)
}

/// How long something kept the calling thread, or all threads of the machine or the control group, from running until now, ns; `None` if
/// unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    /// The thread waited for a processor.
    pub(super) waited: Option<u64>,
    /// Steal time of the machine.
    pub(super) stolen: Option<u64>,
    /// The CPU limit of the control group.
    pub(super) throttled: Option<u64>,
}

/// CPU time of the calling thread since it began, at `now`; `polled_ns` of it were polled.
///
/// The sum is the scheduler's own, to the nanosecond; what `getrusage` says is up to a clock tick behind, and only its
/// proportions are used.
pub(super) fn of_this_thread(now: i64, polled_ns: u64, delays: Delays) -> Reading {
    let total_ns = total_ns();
    // SAFETY: all zeros is a valid `rusage`, which is numbers only.
    let mut usage: libc::rusage = unsafe { zeroed() };
    // SAFETY: the pointer is to a complete `rusage` that outlives the call. The call cannot fail with these arguments.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Reading {
        at: now,
        total_ns,
        polled_ns,
        delays,
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
    }
}

/// CPU time up to an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    at: i64,
    total_ns: u64,
    polled_ns: u64,
    delays: Delays,
    user_ns: u64,
    system_ns: u64,
}

impl Reading {
    /// The usage between an earlier reading and this one.
    pub(super) fn since(&self, earlier: &Reading) -> WorkerCpu {
        let user = self.user_ns.saturating_sub(earlier.user_ns);
        let system = self.system_ns.saturating_sub(earlier.system_ns);
        let polled_ns = self.polled_ns.saturating_sub(earlier.polled_ns);
        let total_ns = self.total_ns.saturating_sub(earlier.total_ns).saturating_sub(polled_ns);
        let user_ns = match user + system {
            0 => total_ns,
            both => (u128::from(total_ns) * u128::from(user) / u128::from(both)) as u64,
        };
        WorkerCpu {
            user_ns,
            system_ns: total_ns - user_ns,
            polled_ns,
            elapsed_ns: u64::try_from(self.at - earlier.at).unwrap_or(0),
            run_delay_ns: grown(self.delays.waited, earlier.delays.waited),
            wake_up_ns: None,
        }
    }

    /// Steal time of the machine since an earlier reading, ns.
    pub(super) fn stolen_since(&self, earlier: &Reading) -> Option<u64> {
        grown(self.delays.stolen, earlier.delays.stolen)
    }

    /// How long the CPU limit of the control group stopped it since an earlier reading, ns.
    pub(super) fn throttled_since(&self, earlier: &Reading) -> Option<u64> {
        grown(self.delays.throttled, earlier.delays.throttled)
    }
}

fn grown(now: Option<u64>, earlier: Option<u64>) -> Option<u64> {
    now?.checked_sub(earlier?)
}

fn nanoseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000).unwrap_or(0)
}
