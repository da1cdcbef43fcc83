//! Keeps processors from going idle while there is load.
//!
//! An idle processor takes time to wake up; the hypervisor gives a virtual machine's idle processor to another guest, and returns it
//! later. Then starts and reads of answers are late, and the server's numbers contain the client's delays. So, on request, a thread keeps
//! each processor busy. These threads have the idle policy: any other work gets the processor at once, and all but about a
//! three-hundredth of its time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;

use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

/// Prevents idle states of all processors that this process may use, until it is dropped.
pub(super) struct IdleInhibitor {
    over: Arc<AtomicBool>,
}

impl IdleInhibitor {
    /// Starts the threads.
    ///
    /// # Errors
    /// A control group limits this process's processor time, which the threads would use up. Or the system refuses a thread, the idle
    /// policy, or binding to a processor.
    pub(super) fn begin() -> io::Result<Self> {
        let processors = processors()?;
        // The library returns a lower number if a control group has a quota for fewer processors.
        if std::thread::available_parallelism()?.get() < processors.len() {
            return Err(io::Error::other(
                "a control group limits the CPU time of this process, and the threads of --no-cpu-idle would use it up; run without --no-cpu-idle",
            ));
        }
        let idle_inhibitor = Self { over: Arc::default() };
        processors.into_iter().try_for_each(|processor| idle_inhibitor.keep(processor))?;
        Ok(idle_inhibitor)
    }

    /// Starts the thread of a processor. A thread of the idle policy on a busy processor may not run for seconds, so nothing here waits for
    /// one: the thread says its number before it gets the policy, and the caller sets the policy.
    fn keep(&self, processor: usize) -> io::Result<()> {
        let over = Arc::clone(&self.over);
        let (say, hear) = sync_channel(1);
        let (allow, allowed) = sync_channel(1);
        let work = move || {
            // Without the second message the policy could not be set: a usual thread must not spin.
            let may = say.send(gettid()).is_ok() && allowed.recv().is_ok();
            while may && !over.load(Relaxed) {
                std::hint::spin_loop();
            }
        };
        // Nobody joins the thread: on a busy processor it notices late that all is over, and it holds nothing but the flag.
        std::thread::Builder::new().name(format!("awake {processor}")).spawn(work)?;
        let ended = |_| io::Error::other("a thread of --no-cpu-idle ended before it was ready");
        settle_on(processor, hear.recv().map_err(ended)?)?;
        allow.send(()).map_err(|_| io::Error::other("a thread of --no-cpu-idle ended before it was ready"))
    }
}

impl Drop for IdleInhibitor {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

/// Those that this process may use.
fn processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect())
}

/// Gives a thread the idle policy and binds it to a processor.
fn settle_on(processor: usize, thread: Pid) -> io::Result<()> {
    // `sched_param` contains only this number.
    let priority: libc::c_int = 0;
    // musl's `sched_setscheduler` is a stub that always fails: this asks the kernel itself.
    let number = thread.as_raw_nonzero().get();
    // SAFETY: the pointer is to a number that outlives the call.
    if unsafe { libc::syscall(libc::SYS_sched_setscheduler, number, libc::SCHED_IDLE, &raw const priority) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut only = CpuSet::new();
    only.set(processor);
    Ok(sched_setaffinity(Some(thread), &only)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scheduling policies of this process's threads that keep processors awake (proc(5), the 41st field of `stat`).
    fn policies() -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        // A thread that is just over has no file any more.
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        stats.filter(|stat| stat.contains("(awake ") && !stat.contains("not)")).map(|stat| policy(&stat)).collect()
    }

    fn policy(stat: &str) -> i32 {
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    /// On a processor that others use, a thread of the idle policy does not get to say anything: this one gets the policy while it waits.
    #[test]
    fn a_thread_gets_its_policy_before_it_is_allowed_to_run() {
        let (say, hear) = sync_channel(1);
        let (allow, allowed) = sync_channel::<()>(1);
        // Nobody joins it: on a busy processor it may not run for seconds.
        let waiting = std::thread::Builder::new().name("awake not".to_owned());
        waiting.spawn(move || say.send(gettid()).is_ok() && allowed.recv().is_ok()).unwrap();
        let thread = hear.recv().unwrap();
        settle_on(processors().unwrap()[0], thread).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        assert_eq!(policy(&stat), libc::SCHED_IDLE);
        allow.send(()).unwrap();
    }

    #[test]
    fn every_processor_has_an_idle_thread_until_the_end() {
        let processors = processors().unwrap().len();
        if std::thread::available_parallelism().unwrap().get() < processors {
            assert!(IdleInhibitor::begin().is_err(), "a control group limits processor time");
            return;
        }
        let idle_inhibitor = IdleInhibitor::begin().unwrap();
        assert_eq!(policies(), vec![libc::SCHED_IDLE; processors]);
        drop(idle_inhibitor);
        // Nobody waits for the threads, which end when they get their processor.
        let begun = std::time::Instant::now();
        while !policies().is_empty() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(60), "threads stay: {:?}", policies());
            std::thread::yield_now();
        }
    }
}
