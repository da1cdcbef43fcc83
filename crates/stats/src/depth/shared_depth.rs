//! One queue depth of several threads that measure at the same time: what each of them has outstanding adds up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::QueueDepth;

/// Requests that a thread collects before it takes the lock.
const BATCH: usize = 512;
/// What it has is handed on, too, when its requests' ends are so far apart, ns: who waits longer would be entered late, for
/// others fill the window meanwhile.
const LONGEST_NS: i64 = 10_000_000;

/// A queue depth that several threads fill.
#[derive(Clone, Debug, Default)]
pub struct SharedDepth(Arc<Mutex<QueueDepth>>);

/// A thread's end of it. What was collected is handed on when it is dropped.
#[derive(Debug)]
pub(crate) struct DepthSender {
    into: SharedDepth,
    /// From when to when, ns.
    waiting: Vec<(i64, i64)>,
    left_out: u64,
}

impl SharedDepth {
    /// All that was fed; who still has a feed has not handed everything on.
    pub fn finish(self) -> QueueDepth {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn sender(&self) -> DepthSender {
        DepthSender { into: self.clone(), waiting: Vec::with_capacity(BATCH), left_out: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, QueueDepth> {
        // A thread that panicked while it held the lock has ended the run already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DepthSender {
    /// Takes a request that was outstanding from an instant to another, ns; without an end it is left out.
    #[inline]
    pub(crate) fn take(&mut self, span: Option<(i64, i64)>) {
        let Some(span) = span else {
            self.left_out += 1;
            return;
        };
        self.waiting.push(span);
        let first = self.waiting.first().map_or(span.1, |first| first.1);
        if self.waiting.len() == BATCH || span.1.saturating_sub(first) > LONGEST_NS {
            self.hand_on();
        }
    }

    #[cold]
    fn hand_on(&mut self) {
        let mut depth = self.into.lock();
        self.waiting.drain(..).for_each(|(start, end)| depth.record(start, end));
        (0..std::mem::take(&mut self.left_out)).for_each(|_| depth.leave_out());
    }
}

/// With nothing collected: a request is handed on once.
impl Clone for DepthSender {
    fn clone(&self) -> Self {
        self.into.sender()
    }
}

impl Drop for DepthSender {
    fn drop(&mut self) {
        self.hand_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads with a closed loop of four requests each, a microsecond a request, far beyond the window: eight are outstanding.
    #[test]
    fn what_two_threads_have_outstanding_adds_up() {
        let shared = SharedDepth::default();
        let mut feeds = [shared.sender(), shared.sender()];
        for i in 0..200_000i64 {
            let start = i / 4 * 1000 + i % 4;
            feeds.iter_mut().for_each(|sender| sender.take(Some((start, start + 1000))));
        }
        feeds[1].take(None);
        drop(feeds);
        let tally = shared.finish().tally();
        assert_eq!((tally.max(), tally.left_out), (8, 1));
        assert!((tally.mean().unwrap() - 8.0).abs() < 0.01, "{:?}", tally.mean());
        let arrived: u64 = tally.at_arrival.iter().sum();
        assert_eq!(arrived + tally.entered_late, 400_000);
        assert!(tally.entered_late < 4_000, "{} were entered late", tally.entered_late);
    }
}
