//! Turns that are due, and lanes that wait for them.
//!
//! Turns that wait take no room: a schedule tells the next one again and again until it is taken, so the waiting line is
//! as long as it has to be.

use std::collections::VecDeque;

use super::pacing::Schedule;

/// A schedule and the lanes that take its turns: all lanes of a worker (open load), or those of one user (partly open).
#[derive(Debug)]
pub(crate) struct Rota {
    schedule: Due,
    head: i64,
    /// Lanes that wait, the one that has waited longest first. Some may have lost their connection meanwhile.
    pub(crate) free: VecDeque<u32>,
    /// A timer will come for the next turn.
    pub(crate) armed: bool,
}

/// The turns of a schedule that are ours.
#[derive(Debug)]
pub(crate) enum Due {
    /// All of them.
    All(Schedule),
    /// Turn `n` is that of station `n % stations`, and ours if the station is.
    Some {
        /// The schedule of all stations.
        schedule: Schedule,
        /// The station whose turn is next.
        next: u32,
        /// Whether each station is ours.
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
                let station = *next as usize;
                *next = (*next + 1) % mine.len().max(1) as u32;
                if *mine.get(station)? {
                    return Some(at);
                }
            },
        }
    }
}

impl Rota {
    /// Nobody waits yet.
    pub(crate) fn new(mut schedule: Due) -> Self {
        let head = schedule.next().unwrap_or(i64::MAX);
        Self { schedule, head, free: VecDeque::new(), armed: false }
    }

    /// When the next turn is due.
    pub(crate) fn next(&self) -> i64 {
        self.head
    }

    /// The next turn is taken.
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
        let (one, other) = (part(|station| station % 2 == 0), part(|station| station % 2 == 1));
        let mut both: Vec<i64> = one.take_while(|&at| at <= whole[999]).collect();
        both.extend(other.take_while(|&at| at <= whole[999]));
        both.sort_unstable();
        assert_eq!(both, whole);
    }
}
