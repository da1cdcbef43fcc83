//! Where runs that are to begin at the same instant wait for each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Watch;

/// Runs that wait look so often whether somebody has ended them.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// What the workers of all runs need to wake up before the common start, ns.
const WAKING_UP_NS: i64 = 2_000_000;

/// Where the runs of several plans in one process wait until the clients of all of them are connected. It serves one start.
#[derive(Debug)]
pub struct Rendezvous {
    runs: u32,
    state: Mutex<State>,
    gathered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: u32,
    latest: i64,
    /// A run will not come.
    cancelled: bool,
    /// What the first run that knew decided for all.
    begin: Option<Option<i64>>,
}

impl Rendezvous {
    /// Of so many runs.
    #[must_use]
    pub fn new(runs: u32) -> Self {
        Self { runs, state: Mutex::default(), gathered: Condvar::new() }
    }

    /// A run ends. Where it never came, the others have nothing to wait for, and do not begin.
    pub fn leave(&self) {
        let mut state = self.lock();
        state.cancelled = true;
        drop(state);
        self.gathered.notify_all();
    }

    /// Waits for all runs; `ready` is when this one could begin. The common start, or `None` where there is none.
    pub(super) fn meet(&self, ready: i64, watch: &Watch) -> Option<i64> {
        let mut state = self.lock();
        state.arrived += 1;
        state.latest = state.latest.max(ready);
        self.gathered.notify_all();
        while state.arrived < self.runs && state.begin.is_none() && !state.cancelled && !watch.stopped() {
            state = self.gathered.wait_timeout(state, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.begin.is_none() {
            // Were each to decide by itself, one might begin and another one not.
            let all = state.arrived >= self.runs && !state.cancelled && !watch.stopped();
            state.begin = Some(all.then_some(state.latest + WAKING_UP_NS));
            self.gathered.notify_all();
        }
        state.begin.flatten()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_when_the_last_is_ready() {
        let rendezvous = Rendezvous::new(3);
        let begun = std::thread::scope(|scope| {
            let meet = |ready| rendezvous.meet(ready, &Watch::new());
            let waiting = [5, 70, 9].map(|ready| scope.spawn(move || meet(ready)));
            waiting.map(|thread| thread.join().unwrap())
        });
        assert_eq!(begun, [Some(70 + WAKING_UP_NS); 3]);
    }

    #[test]
    fn nobody_begins_without_a_run_that_never_comes() {
        let rendezvous = Rendezvous::new(2);
        let begun = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| rendezvous.meet(5, &Watch::new()));
            rendezvous.leave();
            waiting.join().unwrap()
        });
        assert_eq!(begun, None);
        // A run that comes when all is decided does not wait.
        assert_eq!(rendezvous.meet(7, &Watch::new()), None);
    }

    #[test]
    fn a_run_that_is_stopped_does_not_wait() {
        let (rendezvous, watch) = (Rendezvous::new(2), Watch::new());
        watch.stop();
        assert_eq!(rendezvous.meet(5, &watch), None);
        assert_eq!(rendezvous.meet(6, &Watch::new()), None);
    }
}
