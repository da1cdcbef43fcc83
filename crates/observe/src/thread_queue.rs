//! A bounded queue from one thread to another.
//!
//! A sleeping thread wakes up late, and waking it costs the other one a system call. So a waiting thread is woken rarely, and takes all
//! pieces.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a few pieces wait for more. The other thread may be waiting until they are used.
const SOON: Duration = Duration::from_millis(1);

/// One end of a bounded queue. When one end is dropped, the other one stops waiting.
pub(crate) struct End<T>(Arc<Queue<T>>);

struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
    /// Maximum size of the waiting pieces, in the unit of [`End::put`].
    most: usize,
}

struct State<T> {
    waiting: Vec<T>,
    size: usize,
    /// Used pieces, for reuse.
    used: Vec<T>,
    ended: bool,
    /// Which thread sleeps.
    giver_sleeps: bool,
    taker_sleeps: bool,
}

/// Both ends of an empty queue for pieces of a total size of `most`, plus one piece.
pub(crate) fn queue<T: Default>(most: usize) -> (End<T>, End<T>) {
    let (waiting, used) = (Vec::new(), Vec::new());
    let state = State { waiting, size: 0, used, ended: false, giver_sleeps: false, taker_sleeps: false };
    let queue = Queue { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new(), most };
    let queue = Arc::new(queue);
    (End(Arc::clone(&queue)), End(queue))
}

impl<T: Default> End<T> {
    /// Puts a piece of this size into the queue, and returns an empty one to fill. `None` if the other end was dropped. Instead of
    /// waiting, does other work as long as there is some: `work` returns whether it did.
    pub(crate) fn put(&self, piece: T, size: usize, work: impl Fn() -> bool) -> Option<T> {
        let Queue { filled, emptied, most, .. } = &*self.0;
        let (mut state, mut has_work) = (self.lock(), true);
        while state.size >= *most && !state.ended {
            if has_work {
                (state, has_work) = self.unlocked(state, &work);
                continue;
            }
            state.giver_sleeps = true;
            state = emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            has_work = true;
        }
        state.giver_sleeps = false;
        if state.ended {
            return None;
        }
        state.waiting.push(piece);
        state.size += size;
        if state.taker_sleeps && (state.waiting.len() == 1 || state.size >= most / 4) {
            // Once: it may take a while to wake up.
            state.taker_sleeps = false;
            filled.notify_one();
        }
        Some(state.used.pop().unwrap_or_default())
    }

    /// Takes all pieces in exchange for used ones. False if no more will come. Instead of waiting, does other work, as [`End::put`].
    pub(crate) fn take(&self, pieces: &mut Vec<T>, work: impl Fn() -> bool) -> bool {
        let Queue { filled, emptied, most, .. } = &*self.0;
        let (mut state, mut has_work) = (self.lock(), true);
        state.used.append(pieces);
        while state.waiting.is_empty() && !state.ended {
            if has_work {
                (state, has_work) = self.unlocked(state, &work);
                continue;
            }
            state.taker_sleeps = true;
            state = filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.size < most / 4 && !state.ended {
            state.taker_sleeps = true;
            (state, _) = filled.wait_timeout(state, SOON).unwrap_or_else(PoisonError::into_inner);
        }
        state.taker_sleeps = false;
        std::mem::swap(&mut state.waiting, pieces);
        state.size = 0;
        if state.giver_sleeps {
            emptied.notify_one();
        }
        !pieces.is_empty()
    }
}

impl<T> End<T> {
    /// Does other work, so that the other thread can go on. Whether there was some.
    fn unlocked<'a>(
        &'a self,
        state: MutexGuard<'a, State<T>>,
        work: impl Fn() -> bool,
    ) -> (MutexGuard<'a, State<T>>, bool) {
        drop(state);
        let has_worked = work();
        (self.lock(), has_worked)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No thread panics while it holds the lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        self.lock().ended = true;
        self.0.filled.notify_all();
        self.0.emptied.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    use super::*;

    fn no_work() -> bool {
        false
    }

    #[test]
    fn all_pieces_come_in_order_through_a_small_queue() {
        let (ours, theirs) = queue::<Vec<u32>>(10);
        let giver = std::thread::spawn(move || {
            let mut piece = Vec::new();
            for number in 0..10_000 {
                piece.push(number);
                piece = theirs.put(piece, 1 + number as usize % 7, no_work).unwrap();
                assert!(piece.is_empty());
            }
        });
        let (mut pieces, mut seen) = (Vec::new(), Vec::new());
        while ours.take(&mut pieces, no_work) {
            assert!(pieces.len() <= 11, "{} pieces at once", pieces.len());
            pieces.iter_mut().for_each(|piece| seen.append(piece));
        }
        giver.join().unwrap();
        assert!(seen.into_iter().eq(0..10_000));
    }

    #[test]
    fn what_was_put_before_the_giver_went_is_taken() {
        let (ours, theirs) = queue::<u32>(100);
        assert_eq!(theirs.put(7, 1, no_work), Some(0));
        drop(theirs);
        let mut pieces = Vec::new();
        assert!(ours.take(&mut pieces, no_work));
        assert_eq!(pieces, [7]);
        assert!(!ours.take(&mut pieces, no_work));
    }

    #[test]
    fn a_giver_may_wait_until_a_single_piece_is_used() {
        let (ours, theirs) = queue::<u32>(1_000_000);
        let used = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(theirs.put(7, 1, no_work).is_some());
                while !used.load(Relaxed) {
                    std::thread::yield_now();
                }
            });
            let mut pieces = Vec::new();
            assert!(ours.take(&mut pieces, no_work));
            assert_eq!(pieces, [7]);
            used.store(true, Relaxed);
        });
    }

    #[test]
    fn who_would_wait_does_other_work() {
        let (ours, theirs) = queue::<u32>(1);
        let done = [const { AtomicUsize::new(0) }; 2];
        let work = |who: usize| done[who].fetch_add(1, Relaxed) < 3;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(theirs.put(7, 1, no_work).is_some());
                // The queue is full until the other thread takes something.
                assert!(theirs.put(8, 1, || work(0)).is_some());
                while done[1].load(Relaxed) < 3 {
                    std::thread::yield_now();
                }
                assert!(theirs.put(9, 1, no_work).is_some());
            });
            while done[0].load(Relaxed) < 3 {
                std::thread::yield_now();
            }
            let (mut pieces, mut seen) = (Vec::new(), Vec::new());
            while ours.take(&mut pieces, || work(1)) {
                seen.append(&mut pieces);
                if seen.len() == 3 {
                    break;
                }
            }
            assert_eq!(seen, [7, 8, 9]);
        });
    }

    #[test]
    fn nobody_waits_for_a_taker_that_went() {
        let (ours, theirs) = queue::<u32>(1);
        assert!(theirs.put(1, 1, no_work).is_some());
        drop(ours);
        // The queue is full: as long as the taker was there, this would wait.
        assert_eq!(theirs.put(2, 1, no_work), None);
    }
}
