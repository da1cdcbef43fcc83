//! Delays of the generator's thread under the virtual clock.

/// How the generator's thread is kept from running, as the clock shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Wake-up latency after a wait, ns.
    pub waking_ns: i64,
    /// Other work uses the processor periodically: (period, duration from its beginning), ns from the Unix epoch on; 0: never.
    pub taken_ns: (i64, i64),
}

impl Delays {
    /// When the thread runs that waited for `due`, at `now`.
    pub(super) fn runs(&self, now: i64, due: i64) -> i64 {
        let idle_inhibitor = if due > now { due.saturating_add(self.waking_ns) } else { now };
        let (every, taken) = self.taken_ns;
        let into = if every > 0 { idle_inhibitor.rem_euclid(every) } else { taken };
        idle_inhibitor.saturating_add((taken - into).max(0))
    }
}
