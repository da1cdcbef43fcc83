//! How long the system kept a thread, or this machine, from running.
//!
//! Spec: Linux Documentation/scheduler/sched-stats.rst (`/proc/PID/schedstat`); proc(5), `/proc/stat`

/// Time for which the calling thread was ready to run and had no processor, since it began, ns; `None` where the system does not say.
pub(super) fn run_delay_ns() -> Option<u64> {
    second_of_three(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Steal time since the machine started (a hypervisor gave its processors to another guest while they had work), summed over all
/// processors, ns; `None` if the system does not report it.
pub(super) fn stolen_ns() -> Option<u64> {
    let ticks = steal(&std::fs::read_to_string("/proc/stat").ok()?)?;
    // SAFETY: it takes no pointer.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    ticks.checked_mul(1_000_000_000_u64.checked_div(per_second)?)
}

/// Time on a processor, time waiting for one, and how often it got one: the second.
fn second_of_three(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The eighth number of all processors together, in clock ticks.
fn steal(stat: &str) -> Option<u64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    line.split_ascii_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read_and_nothing_is_made_up() {
        assert_eq!(second_of_three("271 2748607 1\n"), Some(2_748_607));
        assert_eq!(second_of_three("271\n"), None);
        let stat = "cpu0 1 1 1 1 1 1 1 1 0 0\ncpu  66577 101629 26154 84345 4672 0 407 278 0 0\n";
        assert_eq!(steal(stat), Some(278));
        assert_eq!(steal("cpu  1 2 3 4\nintr 5\n"), None);
    }
}
