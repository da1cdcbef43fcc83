//! The levels that parts drove: planned, or those of a search. A merge makes the search again, from the merged results.

use plimsoll_model::Reason;
use plimsoll_report::findings::capacity::{Capacity, CapacityOutcome};

use super::whole::Whole;
use crate::capacity::CapacitySearch;
use crate::level::LevelResult;
use crate::level_spec::LevelSpec;

/// The levels of a run, in order.
pub(super) enum PlannedLevels<'a> {
    Fixed(std::slice::Iter<'a, LevelSpec>),
    Search(Box<CapacitySearch<'a>>),
}

impl<'a> PlannedLevels<'a> {
    /// The levels of this run.
    ///
    /// # Errors
    /// The search is not valid.
    pub(super) fn of(whole: &'a Whole) -> anyhow::Result<Self> {
        Ok(match &whole.search {
            Some(search) => Self::Search(Box::new(CapacitySearch::new(search)?)),
            None => Self::Fixed(whole.level_specs.iter()),
        })
    }

    /// The next level, after these.
    ///
    /// # Errors
    /// The search has no such load.
    pub(super) fn next(&mut self, merged: &[LevelResult]) -> anyhow::Result<Option<LevelSpec>> {
        match self {
            Self::Fixed(levels) => Ok(levels.next().cloned()),
            Self::Search(search) => search.next(merged),
        }
    }

    /// Ends the search; false if this is none.
    pub(super) fn end_search(&mut self, why: &str) -> bool {
        if let Self::Search(search) = self {
            search.end(why.to_owned());
        }
        matches!(self, Self::Search(_))
    }

    /// The result of the search, if this is one, after these levels. With clocks that differed there is none.
    pub(super) fn capacity(self, ran: &[LevelResult], apart: Option<&Reason>) -> Option<Capacity> {
        let Self::Search(search) = self else { return None };
        let found = search.summary(ran);
        Some(match apart {
            Some(why) => {
                let (outcome, why) = (CapacityOutcome::Unfinished, Some(why.text.clone()));
                Capacity { outcome, why, low: None, low_tested: None, high: None, ..found }
            }
            None => found,
        })
    }
}
