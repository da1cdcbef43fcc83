//! The runs of both sides by load level, in the order of time.

use std::time::Duration;

use anyhow::bail;

use crate::gate::observation::{RunNumber, reliable};
use crate::gate::result::GateRun;
use plimsoll_results::comparison::{Condition, RecordedRun};

/// The recordings of a side, each with its runs.
pub type RecordedSide = Vec<Vec<RecordedRun>>;

/// A run, the index of its recording on its side, and its side.
#[derive(Clone, Copy)]
pub(super) struct Placed<'r> {
    pub(super) side: usize,
    pub(super) recording: usize,
    pub(super) run: &'r RecordedRun,
}

impl Placed<'_> {
    /// The number of a condition, if the run has it and the load generator's lateness did not move it.
    pub(super) fn number(&self, condition: &Condition) -> Result<RunNumber, String> {
        reliable(condition, &self.run.moved)?;
        RunNumber::of(&self.run.run, condition)
    }

    /// Whether the run is not INVALID, or INVALID only because of the load generator, or (`errors`: for a limit of the errors) only because
    /// too many actions failed on the candidate.
    pub(super) fn is_usable(&self, errors: bool) -> bool {
        let RecordedRun { invalid, generators_fault, failed_actions, .. } = self.run;
        invalid.is_none() || *generators_fault || errors && self.side == 1 && *failed_actions
    }

    /// The run in the result, at its place of a round or of its level.
    pub(super) fn shown(&self, (round, turn): (Option<u32>, u32), counted: bool, conditions: &[Condition]) -> GateRun {
        let numbers = conditions.iter().map(|condition| Some(self.number(condition).ok()?.value)).collect();
        let Placed { side, run, .. } = *self;
        let (level_name, first_ns, seconds) = (run.level_name.clone(), run.run.span_ns.0, run.run.seconds());
        GateRun { round, turn, side, level_name, first_ns, seconds, counted, numbers }
    }
}

/// A load level that both sides have, and its runs in the order of time.
pub(super) struct Level<'r> {
    pub(super) level_name: String,
    pub(super) runs: Vec<Placed<'r>>,
}

/// The load levels that both sides have.
///
/// # Errors
/// There are none.
pub(super) fn levels(sides: &[RecordedSide; 2]) -> anyhow::Result<Vec<Level<'_>>> {
    let names = |side: &RecordedSide| {
        let mut names: Vec<String> = Vec::new();
        for run in side.iter().flatten() {
            if !names.contains(&run.level_name) {
                names.push(run.level_name.clone());
            }
        }
        names
    };
    let [ours, theirs] = [names(&sides[0]), names(&sides[1])];
    let pairs: Vec<(String, String)> = match (ours.as_slice(), theirs.as_slice()) {
        // If each side has only one level, they are compared whatever their names; the comparison warns of it.
        ([our], [their]) => vec![(our.clone(), their.clone())],
        _ => ours.iter().filter(|level| theirs.contains(level)).map(|level| (level.clone(), level.clone())).collect(),
    };
    if pairs.is_empty() {
        bail!(
            "no common load level, so there is nothing to judge: the baseline has {}, the candidate {}; run both with the same levels",
            ours.join(", "),
            theirs.join(", ")
        );
    }
    let level = |(our, their): (String, String)| {
        let mut runs: Vec<Placed<'_>> = Vec::new();
        for (side, (recordings, name)) in sides.iter().zip([&our, &their]).enumerate() {
            for (recording, all) in recordings.iter().enumerate() {
                let of_level = all.iter().filter(|run| run.level_name == *name);
                runs.extend(of_level.map(|run| Placed { side, recording, run }));
            }
        }
        runs.sort_by_key(|placed| placed.run.run.span_ns);
        Level { level_name: our, runs }
    };
    Ok(pairs.into_iter().map(level).collect())
}

/// From the first run to the last.
pub(super) fn length(levels: &[Level<'_>]) -> Duration {
    let spans = || levels.iter().flat_map(|level| &level.runs).map(|placed| placed.run.run.span_ns);
    let (first, last) = (spans().map(|span| span.0).min(), spans().map(|span| span.1).max());
    let ns = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
}
