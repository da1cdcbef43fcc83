//! Searches for the highest load that meets an objective, with an interval of known confidence.
//!
//! ```text
//! bracket: double while it holds, halve while it does not ─ narrow: halve the gap ─ confirm: both ends, in turns
//! ```
//!
//! A run *holds* if it meets the objective. Near the capacity, whether a run holds is random; the capacity is therefore the load at which
//! half of the runs do. The last step is a sign test: an end of the interval is accepted when [`CONFIRMATIONS`] consecutive new runs at
//! it had the expected result. If the capacity were on the other side of that end, this would happen once in 2^6 = 64 times. An end that
//! a run contradicts is moved outward and tested again, with one more run each time: 1/64 + 1/128 + … is at most 1/32, and only one end
//! can be on the wrong side, so at most one interval in 32 (3.1 %) is wrong for this reason. Noise widens the interval, and never narrows
//! it. A run of which it is unknown whether the load or the load generator is the cause moves the lower end like any other that does not
//! hold: a load generator never makes a capacity look higher.
//!
//! If no upper end can be found (the highest load holds, the load generator is at its limit, few runs are left), only the lower end is
//! confirmed: the capacity is at least that.

mod bounds;
#[cfg(test)]
mod tests;

pub use bounds::{Bounds, Grain};

use bounds::{between, grained, outward};

/// Fresh runs in a row that an end of the interval needs.
pub const CONFIRMATIONS: u32 = 6;
/// A run must have its full length once the gap is at most this many times the resolution.
const NEAR: f64 = 8.0;
/// The most halvings of the first load before nothing is said to hold.
const MOST_HALVINGS: u32 = 20;

/// The sustainable load, from a load that was met for one run under a schedule. A load that is too high by a fraction d makes the queue
/// grow by d seconds per second. An objective that allows a wait of w seconds at the end of a run of T seconds still holds while
/// d < w / T, the `slack`.
#[must_use]
pub fn sustained_load(load: f64, slack: f64) -> f64 {
    load / (1.0 + slack)
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Run this load and say with [`Search::saw`] whether it held.
    Run {
        /// The load.
        load: f64,
        /// A quick look is enough: the capacity is only being bracketed.
        brief: bool,
    },
    /// Nothing: it is over.
    Over(Answer),
}

/// The result of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The capacity lies between: both ends confirmed.
    Between {
        /// Held in every confirming run.
        held: f64,
        /// Did not hold in any.
        broken: f64,
    },
    /// This load held in every confirming run; of no higher one is it known that it does not.
    AtLeast(f64, Limit),
    /// Even the lowest load that was tried did not hold.
    Nothing(f64),
    /// All allowed runs are used up, and the presumed ends are not confirmed.
    Undecided {
        /// Held at last, if anything did.
        held: Option<f64>,
        /// Did not hold at last, if anything did not.
        broken: Option<f64>,
    },
}

/// Why a search knows no load that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It was the highest load that may be tried.
    Most,
    /// Higher loads could not be made: [`Search::could_not`].
    Generator,
    /// The runs that were allowed are used up.
    Runs,
}

/// One end of the interval.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    load: f64,
    /// Fresh runs in a row that went its way.
    confirmed: u32,
    /// Number of moves and of other new attempts: each needs one more run, so that the error probability of all together is 1 in 32.
    moves: u32,
}

impl End {
    fn is_sure(&self) -> bool {
        self.confirmed >= CONFIRMATIONS.saturating_add(self.moves)
    }
}

/// The search. Loads are asked for with [`Search::next`], one at a time.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    held: Option<End>,
    broken: Option<End>,
    runs: u32,
    halvings: u32,
    /// Runs of this are asked for.
    asked: f64,
    confirming: bool,
    /// Which end is confirmed next, so that both meet the same times.
    low_next: bool,
    /// The load generator could not make more than the highest load that is tried from now on.
    capped: bool,
}

/// Minimum fraction of the runs that must be left, after the generator failed at a load, to search for the generator's limit.
const FALLBACK: f64 = 0.5;

impl Search {
    /// A search that has seen nothing.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let start = grained(bounds.grain, bounds.start.min(bounds.most));
        let (runs, halvings, confirming, low_next, capped) = (0, 0, false, true, false);
        Self { bounds, held: None, broken: None, runs, halvings, asked: start, confirming, low_next, capped }
    }

    /// Runs so far.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// The next run. The same until the next [`Search::saw`].
    #[must_use]
    pub fn next(&self) -> Next {
        match self.answer() {
            Some(answer) => Next::Over(answer),
            None => {
                Next::Run { load: self.asked, brief: !self.confirming && self.gap() > NEAR * self.bounds.resolution }
            }
        }
    }

    /// Whether the next run confirms an end of the interval.
    #[must_use]
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }

    /// The run that was asked for met the objective, or did not.
    pub fn saw(&mut self, held: bool) {
        self.runs += 1;
        if self.confirming {
            self.confirm(held)
        } else {
            self.search(held)
        }
        self.plan();
    }

    /// The run that was asked for missed the objective, but the load generator may be the cause: it does not count. The runs that confirm
    /// the lower end must be consecutive, otherwise only those that hold would be selected. There it therefore counts as a miss, or,
    /// before the first run that holds, starts the confirmation again. Returns whether it counts.
    pub fn doubt(&mut self) -> bool {
        let (confirming, asked) = (self.confirming, self.asked);
        let Some(end) = self.held.as_mut().filter(|end| confirming && end.load == asked) else { return false };
        if end.confirmed == 0 {
            // Each further attempt needs one more run, as after a move.
            end.moves += 1;
            return false;
        }
        self.saw(false);
        true
    }

    /// The load that was asked for cannot be made: from now on the search stays below it, and confirms what held there. `false`
    /// where nothing lower is known to hold.
    pub fn could_not(&mut self) -> bool {
        let (asked, grain) = (self.asked, self.bounds.grain);
        let Some(held) = self.held else { return false };
        let lower = match held.load < asked {
            true => held,
            // It held once, and cannot be made again: well below it, or nowhere.
            false => End { load: grained(grain, held.load * FALLBACK), confirmed: 0, moves: held.moves + 1 },
        };
        if lower.load >= asked {
            return false;
        }
        (self.bounds.most, self.held, self.broken, self.capped) = (lower.load, Some(lower), None, true);
        self.plan();
        true
    }

    /// The load that held in every confirming run, if one did so far.
    #[must_use]
    pub fn carried(&self) -> Option<f64> {
        self.held.filter(End::is_sure).map(|end| end.load)
    }

    fn answer(&self) -> Option<Answer> {
        let sure = |end: &Option<End>| end.filter(End::is_sure).map(|end| end.load);
        match (sure(&self.held), sure(&self.broken)) {
            (Some(held), Some(broken)) => return Some(Answer::Between { held, broken }),
            (Some(held), None) if self.broken.is_none() => return Some(Answer::AtLeast(held, self.limit(held))),
            (None, Some(broken)) if self.held.is_none() => return Some(Answer::Nothing(broken)),
            _ => {}
        }
        if self.runs < self.bounds.runs {
            return None;
        }
        let (held, broken) = (self.held.map(|end| end.load), self.broken.map(|end| end.load));
        let undecided = Answer::Undecided { held, broken };
        Some(sure(&self.held).map_or(undecided, |held| Answer::AtLeast(held, Limit::Runs)))
    }

    /// Why nothing above `held` was found that does not hold.
    fn limit(&self, held: f64) -> Limit {
        match held >= self.bounds.most {
            true if self.capped => Limit::Generator,
            true => Limit::Most,
            false => Limit::Runs,
        }
    }

    fn search(&mut self, held: bool) {
        // An end that a run has contradicted needs a run more, wherever it is found again.
        let moves = (if held { self.held } else { self.broken }).map_or(0, |end| end.moves);
        let end = Some(End { load: self.asked, confirmed: 0, moves });
        if held {
            self.held = end;
        } else {
            self.halvings += u32::from(self.held.is_none());
            self.broken = end;
        }
    }

    fn confirm(&mut self, held: bool) {
        let low = self.held.is_some_and(|end| end.load == self.asked);
        let Some(end) = (if low { &mut self.held } else { &mut self.broken }) else { return };
        if held == low {
            end.confirmed += 1;
            return;
        }
        let moved = End { load: outward(&self.bounds, end.load, low), confirmed: 0, moves: end.moves + 1 };
        match (low, moved.load == end.load) {
            (_, false) => *end = moved,
            // No load below, or no load above, is left: this is the other end.
            (true, true) => (self.held, self.broken) = (None, Some(moved)),
            (false, true) => (self.held, self.broken) = (Some(moved), None),
        }
    }

    /// Chooses the next load, from the results so far.
    fn plan(&mut self) {
        let Bounds { most, grain, .. } = self.bounds;
        (self.confirming, self.asked) = match (self.held, self.broken) {
            // There are just enough runs left to be sure of the lower end.
            (Some(held), _) if self.just_enough_for(&held) => (true, held.load),
            (Some(held), None) if held.load >= most => (true, held.load),
            (Some(held), None) => (false, grained(grain, held.load * 2.0).min(most)),
            (None, Some(broken)) if self.lowest(broken.load) => (true, broken.load),
            (None, Some(broken)) => (false, grained(grain, broken.load / 2.0)),
            (Some(held), Some(broken)) if self.confirming || self.gap() <= self.bounds.resolution => {
                self.low_next = match (held.is_sure(), broken.is_sure()) {
                    (true, _) => false,
                    (_, true) => true,
                    _ => !self.low_next,
                };
                (true, if self.low_next { held.load } else { broken.load })
            }
            (Some(held), Some(broken)) => (false, between(grain, held.load, broken.load)),
            (None, None) => (false, self.asked),
        };
    }

    /// Whether only the runs that confirm an end are left.
    fn just_enough_for(&self, end: &End) -> bool {
        let needed = CONFIRMATIONS.saturating_add(end.moves).saturating_sub(end.confirmed);
        needed > 0 && self.bounds.runs.saturating_sub(self.runs) == needed
    }

    /// Nothing lower can be tried.
    fn lowest(&self, load: f64) -> bool {
        self.halvings >= MOST_HALVINGS || matches!(self.bounds.grain, Grain::Whole(least) if load <= f64::from(least))
    }

    /// The gap between the ends as a part of the lower one; 0 where no load lies between.
    fn gap(&self) -> f64 {
        let (Some(held), Some(broken)) = (self.held, self.broken) else { return f64::INFINITY };
        let between = between(self.bounds.grain, held.load, broken.load);
        let some = between > held.load && between < broken.load;
        if some { (broken.load - held.load) / held.load } else { 0.0 }
    }
}
