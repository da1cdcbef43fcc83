//! Times at which the capture lost packets: whole connections and operations may be hidden in them.

use plimsoll_model::Missing;
use serde::{Deserialize, Serialize};

use super::End;

/// Times kept at most; more are joined with their neighbours.
const KEPT_MAX: usize = 1_024;

/// Stretches of time in which packets were lost.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bursts {
    all: Vec<(i64, i64)>,
}

impl Bursts {
    /// A connection lost packets between these times.
    pub(crate) fn add(&mut self, from_ns: i64, to_ns: i64) {
        if to_ns <= from_ns {
            return;
        }
        // The connections that a burst hit report its holes one after the other.
        if let Some(last) = self.all.last_mut()
            && from_ns <= last.1
            && to_ns >= last.0
        {
            *last = (last.0.min(from_ns), last.1.max(to_ns));
            return;
        }
        if self.all.len() >= KEPT_MAX {
            self.join();
        }
        self.all.push((from_ns, to_ns));
    }

    /// In order of time, none overlapping another.
    pub(crate) fn finish(mut self) -> Vec<(i64, i64)> {
        self.merge(0);
        self.all
    }

    /// Merges the two bursts that are nearest to each other, to make room.
    fn join(&mut self) {
        self.merge(0);
        let mut distances: Vec<i64> = self.all.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1)).collect();
        distances.sort_unstable();
        let middle = distances.get(distances.len() / 2).copied().unwrap_or_default();
        if self.all.len() > KEPT_MAX / 2 {
            self.merge(middle);
        }
    }

    fn merge(&mut self, within: i64) {
        self.all.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for &(from, to) in &self.all {
            match merged.last_mut() {
                Some(last) if from <= last.1.saturating_add(within) => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        self.all = merged;
    }
}

/// Times of one connection, by direction, since a gap that a later packet may still fill: a packet that only came late was not lost.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpenGaps {
    open: [Option<(i64, i64)>; 2],
    /// Times of the last gap for which the stream no longer waits, though its bytes were not acknowledged and may come late.
    given_up: [Option<(i64, i64)>; 2],
    /// The number of such gaps so far.
    unexplained: [u64; 2],
}

impl OpenGaps {
    /// Whether a direction had a gap when its last packet came.
    #[inline]
    pub(crate) fn is_open(&self, direction: usize) -> bool {
        self.open[direction].is_some()
    }

    /// A packet of `direction` came: the connection's packet before it, and its own time. It showed that bytes were `lost`, or there is
    /// still a gap before data that came (`is_holding`), or it filled the gap. `unexplained` is the number of gaps so far whose bytes were
    /// not acknowledged and have not come.
    pub(crate) fn packet(
        &mut self,
        direction: usize,
        (from_ns, to_ns): (i64, i64),
        lost: bool,
        is_holding: bool,
        unexplained: u64,
        bursts: &mut Bursts,
    ) {
        let gap = &mut self.open[direction];
        let (first_ns, last_ns) = gap.unwrap_or((from_ns, to_ns));
        *gap = (is_holding || lost).then_some((first_ns.min(from_ns), last_ns.max(to_ns)));
        let before = std::mem::replace(&mut self.unexplained[direction], unexplained);
        if lost && unexplained > before {
            let earlier = std::mem::replace(&mut self.given_up[direction], gap.take());
            earlier.into_iter().for_each(|(from_ns, to_ns)| bursts.add(from_ns, to_ns));
        } else if lost {
            self.open.iter_mut().filter_map(Option::take).for_each(|(from_ns, to_ns)| bursts.add(from_ns, to_ns));
        }
    }

    /// Bytes of a gap came late. If no gap has others, the last one was no loss. Otherwise, it may be an earlier gap that they filled.
    pub(crate) fn came(&mut self, direction: usize, unexplained: u64) {
        self.unexplained[direction] = unexplained;
        self.given_up[direction].take_if(|_| unexplained == 0);
    }

    /// The bytes of the gaps were lost.
    pub(crate) fn end(&mut self, bursts: &mut Bursts) {
        let given_up = self.given_up.iter_mut().filter_map(Option::take);
        let open = self.open.iter_mut().filter_map(Option::take);
        open.chain(given_up).for_each(|(from_ns, to_ns)| bursts.add(from_ns, to_ns));
    }
}

/// Bursts looked at, at most: the longest.
const LOOKED_AT_MAX: usize = 64;
/// Maximum gap before a burst that can hide a connection's end, as a multiple of the connection's mean time between operations.
const QUIET: f64 = 30.0;
/// Traffic is bursty: a connection may be this many times busier than on average for a short time.
const BUSIER: f64 = 4.0;

/// Estimates the operations that no connection's own bytes show: those of connections that began or ended during a loss, and of
/// connections so short that a burst can hide them completely, at the observed rate. `span` is the capture's.
pub(crate) fn between_connections(ends: &[End], mut bursts: Vec<(i64, i64)>, span: (i64, i64)) -> Missing {
    bursts.sort_by_key(|&(from, to)| from.saturating_sub(to));
    bursts.truncate(LOOKED_AT_MAX);
    bursts.sort_unstable();
    let elapsed = span.1.saturating_sub(span.0).max(1) as f64;
    // A connection that was not seen from its beginning, and not from the capture's, may have begun in a burst.
    let mut most = if bursts.is_empty() { 0.0 } else { ends.iter().map(|end| end.begun_unseen(span.0)).sum() };
    let mut likely = 0.0;
    for end in ends {
        let (begun, ended) = (end.begun_in(&bursts, span.0), end.ended_in(&bursts));
        most += BUSIER * (begun + ended);
        // It ended somewhere in the burst: half way is the best guess.
        if end.waits {
            likely += ended / 2.0;
        }
    }
    for burst in bursts {
        let length = burst.1.saturating_sub(burst.0);
        let is_short = |end: &&End| end.opened && end.closed && end.life() < length;
        let in_short: u64 = ends.iter().filter(is_short).map(|end| end.operations).sum();
        most += in_short as f64 / elapsed * length as f64;
    }
    Missing { operations: likely.round() as u64, low: 0, high: most.max(likely).ceil() as u64, unknown: 0 }
}

impl End {
    fn life(&self) -> i64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// Operations per nanosecond; `None` where there are too few to tell.
    fn rate(&self) -> Option<f64> {
        (self.operations > 1 && self.life() > 0).then(|| self.operations as f64 / self.life() as f64)
    }

    /// Expected operations from this connection's last packet to the end of the first burst after it, which may hide them. Later bursts
    /// do not matter: of a live connection a packet would have been captured before them.
    fn ended_in(&self, bursts: &[(i64, i64)]) -> f64 {
        let (Some(rate), false) = (self.rate(), self.closed) else { return 0.0 };
        let Some(&(from, to)) = bursts.iter().find(|&&(_, to)| to > self.last_ns) else { return 0.0 };
        let is_near = from.saturating_sub(self.last_ns) as f64 <= QUIET / rate;
        if is_near { rate * to.saturating_sub(self.last_ns) as f64 } else { 0.0 }
    }

    /// The same from the beginning of a burst to the connection's first packet. A burst from the capture's `start` on hides no beginning.
    fn begun_in(&self, bursts: &[(i64, i64)], start: i64) -> f64 {
        let (Some(rate), false) = (self.rate(), self.opened) else { return 0.0 };
        let Some(&(from, to)) = bursts.iter().rfind(|&&(from, _)| from < self.first_ns) else { return 0.0 };
        let is_near = from > start && self.first_ns.saturating_sub(to) as f64 <= QUIET / rate;
        if is_near { rate * self.first_ns.saturating_sub(from) as f64 } else { 0.0 }
    }

    fn begun_unseen(&self, start: i64) -> f64 {
        match self.rate() {
            Some(rate) if !self.opened => {
                (self.before as f64).min(BUSIER * rate * self.first_ns.saturating_sub(start) as f64)
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_one_burst() {
        let mut bursts = Bursts::default();
        [(10, 20), (15, 25), (40, 50), (5, 11), (60, 60)].iter().for_each(|&(from, to)| bursts.add(from, to));
        assert_eq!(bursts.finish(), [(5, 25), (40, 50)]);
    }

    #[test]
    fn there_are_never_many() {
        let mut bursts = Bursts::default();
        (0..100_000).for_each(|at| bursts.add(at * 10, at * 10 + 5));
        let all = bursts.finish();
        assert!(all.len() <= KEPT_MAX && all.first().map(|first| first.0) == Some(0), "{}", all.len());
    }

    #[test]
    fn a_gap_that_is_filled_is_no_burst_and_one_that_stays_is() {
        let (mut bursts, mut gaps) = (Bursts::default(), OpenGaps::default());
        gaps.packet(0, (10, 20), false, true, 0, &mut bursts);
        gaps.packet(0, (20, 30), false, true, 0, &mut bursts);
        assert!(gaps.is_open(0) && !gaps.is_open(1));
        gaps.packet(0, (30, 40), false, false, 0, &mut bursts);
        assert!(!gaps.is_open(0), "filled");
        gaps.packet(1, (50, 60), false, true, 0, &mut bursts);
        gaps.packet(0, (60, 70), true, false, 0, &mut bursts);
        assert!(!gaps.is_open(1), "bytes were lost");
        gaps.packet(0, (80, 90), false, true, 0, &mut bursts);
        gaps.end(&mut bursts);
        assert_eq!(bursts.finish(), [(50, 70), (80, 90)]);
    }

    #[test]
    fn a_gap_that_is_filled_after_it_was_given_up_is_no_burst() {
        let (mut bursts, mut gaps) = (Bursts::default(), OpenGaps::default());
        gaps.packet(0, (10, 20), true, false, 1, &mut bursts);
        gaps.came(0, 1);
        gaps.came(0, 0);
        gaps.packet(0, (50, 60), true, false, 1, &mut bursts);
        gaps.end(&mut bursts);
        assert_eq!(bursts.finish(), [(50, 60)]);
    }

    #[test]
    fn a_gap_that_may_not_be_the_one_that_was_filled_is_a_burst() {
        let (mut bursts, mut gaps) = (Bursts::default(), OpenGaps::default());
        gaps.packet(0, (10, 20), true, false, 1, &mut bursts);
        gaps.packet(0, (30, 40), true, false, 2, &mut bursts);
        gaps.came(0, 1);
        gaps.end(&mut bursts);
        assert_eq!(bursts.finish(), [(10, 20), (30, 40)]);
    }

    /// Found by the proof of lossy captures: one end was counted once for each burst that came later.
    #[test]
    fn an_end_is_hidden_by_one_burst() {
        let ms = |at: i64| at * 1_000_000;
        let end = End {
            first_ns: 0,
            last_ns: ms(1_000),
            opened: true,
            closed: false,
            waits: true,
            operations: 100,
            before: 0,
        };
        let first = (ms(990), ms(1_400));
        let one = between_connections(&[end], vec![first], (0, ms(2_000)));
        assert_eq!((one.operations, one.low, one.high), (20, 0, 160));
        let later = [(ms(1_500), ms(1_501)), (ms(1_600), ms(1_602)), (ms(1_700), ms(1_800))];
        let all = between_connections(&[end], later.into_iter().chain([first]).collect(), (0, ms(2_000)));
        assert_eq!(all, one);
        let quiet = between_connections(&[End { waits: false, ..end }], vec![first], (0, ms(2_000)));
        assert_eq!((quiet.operations, quiet.high), (0, 160));
    }
}
