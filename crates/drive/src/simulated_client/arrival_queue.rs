//! Iterations that are due, and slots that wait for them.
//!
//! Iterations that wait take no room: a schedule tells the next one again and again until it is taken, so the waiting line is
//! as long as it has to be.

use std::collections::VecDeque;

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
}

/// The iterations of a schedule that are ours.
#[derive(Debug)]
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
        mine: Box<[bool]>,
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
        Self { schedule, head, free: VecDeque::new(), armed: false }
    }

    /// When the next iteration is due.
    pub(crate) fn next(&self) -> i64 {
        self.head
    }

    /// The next iteration is taken.
    pub(crate) fn take(&mut self) {
        self.head = self.schedule.next().unwrap_or(i64::MAX);
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
}
