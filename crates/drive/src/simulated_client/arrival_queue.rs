//! Iterations that are due, and slots that wait for them.
//!
//! Iterations that wait take no room: a schedule tells the next one again and again until it is taken, so the waiting line is
//! as long as it has to be.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pacing::Schedule;

/// A schedule and the slots that take its iterations: all slots of a worker (open load), or the slots of one user (partly open).
#[derive(Debug)]
pub(crate) struct ArrivalQueue {
    schedule: Due,
    head: i64,
    /// Waiting slots, longest wait first. Some may have lost their connection meanwhile.
    pub(crate) free: VecDeque<u32>,
    /// A timer will come for the next iteration.
    pub(crate) armed: bool,
    /// Where [`ArrivalQueue::due_until`] has got to. Only runs with checkpoints have it, and each user has a queue.
    counted: Option<Box<Counted>>,
}

/// The iterations of a schedule that were counted, taken or not.
#[derive(Debug)]
struct Counted {
    /// Those after them, the first of which is at `head`.
    rest: Due,
    head: i64,
    count: u64,
}

/// The iterations of a schedule that are ours.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// All iterations of the schedule.
    All(Schedule),
    /// Iteration `n` belongs to client `n % clients`; this worker takes its own clients' iterations.
    Some {
        /// The schedule of all clients.
        schedule: Schedule,
        /// The client whose iteration is next.
        next: u32,
        /// Whether each client is ours.
        mine: Arc<[bool]>,
    },
}

impl Iterator for Due {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        match self {
            Due::All(schedule) => schedule.next(),
            Due::Some { schedule, next, mine } => loop {
                let at = schedule.next()?;
                let client_index = *next as usize;
                *next = (*next + 1) % mine.len().max(1) as u32;
                if *mine.get(client_index)? {
                    return Some(at);
                }
            },
        }
    }
}

impl ArrivalQueue {
    /// A queue without waiting slots.
    pub(crate) fn new(mut schedule: Due) -> Self {
        let head = schedule.next().unwrap_or(i64::MAX);
        Self { schedule, head, free: VecDeque::new(), armed: false, counted: None }
    }

    /// When the next iteration is due.
    pub(crate) fn next(&self) -> i64 {
        self.head
    }

    /// The next iteration is taken.
    pub(crate) fn take(&mut self) {
        self.head = self.schedule.next().unwrap_or(i64::MAX);
    }

    /// How many iterations from `begin` until before `until` are due, of which `taken` were taken. Each is counted once, so a later call may
    /// only have a later `until`.
    pub(crate) fn due_until(&mut self, (begin, until): (i64, i64), taken: u64) -> u64 {
        let from_here = || Box::new(Counted { rest: self.schedule.clone(), head: self.head, count: taken });
        let counted = self.counted.get_or_insert_with(from_here);
        while counted.head < until {
            counted.count += u64::from(counted.head >= begin);
            counted.head = counted.rest.next().unwrap_or(i64::MAX);
        }
        counted.count
    }

    /// Due time of the first iteration that [`ArrivalQueue::due_until`] has not counted, ns.
    pub(crate) fn next_counted(&self) -> i64 {
        self.counted.as_ref().map_or(self.head, |counted| counted.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::Arrivals;

    #[test]
    fn shares_of_a_schedule_are_the_schedule() {
        let schedule = Schedule::open(0, 1_000.0, Arrivals::Poisson, 7);
        let whole: Vec<i64> = schedule.clone().take(1_000).collect();
        let part = |keep: fn(usize) -> bool| {
            let mine = (0..7).map(keep).collect();
            Due::Some { schedule: schedule.clone(), next: 0, mine }
        };
        let (one, other) = (part(|client_index| client_index % 2 == 0), part(|client_index| client_index % 2 == 1));
        let mut both: Vec<i64> = one.take_while(|&at| at <= whole[999]).collect();
        both.extend(other.take_while(|&at| at <= whole[999]));
        both.sort_unstable();
        assert_eq!(both, whole);
    }

    #[test]
    fn what_is_due_is_counted_once_whether_it_was_taken_or_not() {
        let mut queue = ArrivalQueue::new(Due::All(Schedule::open(0, 1e9, Arrivals::Constant, 7)));
        // Due at 0, 1, 2 … ns; those at 0 and 1 are before the phase.
        (0..5).for_each(|_| queue.take());
        assert_eq!(queue.due_until((2, 5), 3), 3);
        assert_eq!(queue.due_until((2, 9), 3), 7);
        (0..9).for_each(|_| queue.take());
        assert_eq!(queue.due_until((2, 20), 12), 18);
    }
}
