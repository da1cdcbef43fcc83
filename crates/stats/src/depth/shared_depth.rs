//! The common queue depth of several threads that measure at the same time: the sum of their outstanding requests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::QueueDepth;

/// Requests that a thread collects before it takes the lock.
const BATCH: usize = 512;
/// A thread also passes on its data when its requests' ends are this far apart, ns: requests that wait longer would be entered late,
/// because other threads fill the window meanwhile.
const LONGEST_NS: i64 = 10_000_000;

/// Gets from when to when requests were outstanding, ns. One whose end is not known ends before it begins.
type Copy = Box<dyn FnMut(&[(i64, i64)]) + Send>;
/// A request whose end is not known.
const NO_END: (i64, i64) = (1, 0);

/// A queue depth that several threads fill.
#[derive(Clone, Default)]
pub struct SharedDepth(Arc<Mutex<Filled>>);

#[derive(Default)]
struct Filled {
    depth: QueueDepth,
    copy: Option<Copy>,
}

/// A thread's feed. Collected data is passed on when it is dropped.
#[derive(Debug)]
pub(crate) struct DepthSender {
    into: SharedDepth,
    /// From when to when, ns.
    waiting: Vec<(i64, i64)>,
    left_out: u64,
}

impl fmt::Debug for SharedDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedDepth").field(&self.lock().depth).finish()
    }
}

impl SharedDepth {
    /// A feed that passes on all its data for combination with the outstanding requests of other processes. [`QueueDepth::record`] reads
    /// it again.
    #[must_use]
    pub fn copied_to(copy: impl FnMut(&[(i64, i64)]) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Filled { depth: QueueDepth::default(), copy: Some(Box::new(copy)) })))
    }

    /// The depth of all data; open feeds may not have passed on all their data.
    pub fn finish(self) -> QueueDepth {
        std::mem::take(&mut *self.lock()).depth
    }

    pub(crate) fn sender(&self) -> DepthSender {
        DepthSender { into: self.clone(), waiting: Vec::with_capacity(BATCH), left_out: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Filled> {
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
        let Filled { depth, copy } = &mut *self.into.lock();
        if let Some(copy) = copy {
            self.waiting.extend((0..std::mem::take(&mut self.left_out)).map(|_| NO_END));
            copy(&self.waiting);
        }
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

    #[test]
    fn what_is_handed_on_makes_the_same_depth() {
        let copy = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&copy);
        let shared = SharedDepth::copied_to(move |some| into.lock().unwrap().extend_from_slice(some));
        let mut feed = shared.sender();
        (0..2_000).for_each(|i| feed.take((i % 7 > 0).then_some((i, i + i % 13))));
        drop(feed);
        let mut again = QueueDepth::default();
        copy.lock().unwrap().iter().for_each(|&(start, end)| again.record(start, end));
        assert_eq!((again.tally().left_out, again.tally()), (286, shared.finish().tally()));
    }
}
