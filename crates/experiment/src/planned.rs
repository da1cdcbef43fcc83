//! A load level as it is to be run: what must be the same for a recording to be continued.

use plimsoll_drive::engine::Plan;
use plimsoll_workload::Workload;
use serde::{Deserialize, Serialize};

use super::level_spec::LevelSpec;

/// A load level as it is to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The load in words.
    level: String,
    /// The load curve that it is a point of, where there are several.
    curve: Option<String>,
    /// The workload's digest, its parameters in place.
    workload_sha256: String,
    /// All else that decides what is done.
    plan: String,
}

impl Planned {
    /// Of this level, with the workload as it is and the server asked for so much.
    #[must_use]
    pub fn of(step: &LevelSpec, workload: &Workload, asked: &str) -> Self {
        let Plan { load, lanes, connections, stations_per_connection, phases, timeout_ns, seed, keep_awake, .. } =
            &step.plan;
        let awake = if *keep_awake { ", kept awake" } else { "" };
        let measured = phases.measured_ns.map_or_else(|| "until stopped".to_owned(), |ns| format!("for {ns} ns"));
        let plan = format!(
            "{load:?}, {lanes} lanes on {connections} connections, {stations_per_connection} stations a connection, measured \
             {measured} after {} ns, given up after {timeout_ns} ns, seed {seed}, {asked}{awake}",
            phases.warmup_ns
        );
        Self {
            level: step.words.clone(),
            curve: step.curve.clone(),
            workload_sha256: workload.digest().to_owned(),
            plan,
        }
    }

    /// Why a recording of `theirs` is not one of `ours`; `None` where it is.
    pub(super) fn differs(theirs: &[Self], ours: &[Self]) -> Option<String> {
        if theirs.len() != ours.len() {
            return Some(format!("it is of {} load levels, not of {}", theirs.len(), ours.len()));
        }
        let (theirs, ours) = theirs.iter().zip(ours).find(|(theirs, ours)| theirs != ours)?;
        Some(if (&theirs.level, &theirs.curve) != (&ours.level, &ours.curve) {
            format!("it has {} where {} is asked for", theirs.words(), ours.words())
        } else if theirs.workload_sha256 == ours.workload_sha256 {
            format!("at {} it is of: {}; asked for is: {}", ours.words(), theirs.plan, ours.plan)
        } else {
            format!("at {} its workload is another one (SHA-256 {})", ours.words(), theirs.workload_sha256)
        })
    }

    fn words(&self) -> String {
        self.curve.as_ref().map_or_else(|| self.level.clone(), |curve| format!("{}, {curve}", self.level))
    }
}
