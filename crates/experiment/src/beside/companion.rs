//! Workloads that run at the same time as the one of a run (`--with`), and the levels that show what they do to each other.
//!
//! Other files: `companion_request.rs` has the option, `mod.rs` the run, `engine/rendezvous.rs` of `drive` the common start, and
//! `collect/interference.rs` of `report` the effects.

use plimsoll_drive::engine::Plan;
use plimsoll_report::findings::{REPEAT, WorkloadShare};
use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload};
use serde::{Deserialize, Serialize};

use crate::level_spec::LevelSpec;
use crate::recorded_workload;

/// A workload that runs beside the one of a run, as a recording keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompanionSpec {
    /// Its name in reports.
    pub name: String,
    /// A workload that comes with the program, or an absolute path.
    pub workload: String,
    /// The workload itself.
    pub workload_text: String,
    /// Its digest, its parameters in place.
    pub workload_sha256: String,
    /// Values that were given to its parameters.
    pub settings: Vec<Parameter>,
}

impl CompanionSpec {
    /// The workload.
    ///
    /// # Errors
    /// It is not what it was: it plays a load file that changed.
    pub fn workload(&self) -> Result<Workload, Usage> {
        recorded_workload::unchanged(&self.workload, &self.workload_text, &self.settings, &self.workload_sha256)
    }
}

/// A workload with its load, one of several that run at the same time.
pub(crate) struct Sharer {
    /// What reports call it.
    pub(crate) name: String,
    /// Its load.
    pub(crate) level: LevelSpec,
}

/// The levels of a run of several workloads, the run's own first. In every round each runs alone, and all of them at the same time. Every
/// other round has the reverse order, so that what changes slowly falls out of the differences.
///
/// # Errors
/// Their loads have no common end, or two have the same name.
pub(crate) fn levels_of_sharers(sharers: &[Sharer], rounds: u32) -> Result<Vec<LevelSpec>, Usage> {
    check(sharers)?;
    let Some((first, others)) = sharers.split_first() else { return Ok(Vec::new()) };
    let together = LevelGroup::Together;
    let mut groups: Vec<LevelGroup<'_>> = vec![LevelGroup::Alone(0, first), together];
    groups.extend((1..).zip(others).map(|(place, sharer)| LevelGroup::Alone(place, sharer)));
    let mut levels = Vec::new();
    for round in 0..rounds {
        let mut order: Vec<&LevelGroup<'_>> = groups.iter().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for group in order {
            match group {
                LevelGroup::Alone(place, sharer) => levels.push(level(sharer, *place, Vec::new(), round)),
                LevelGroup::Together => levels.extend((0..).zip(sharers).map(|(place, sharer)| {
                    let others = (0..).zip(sharers).filter(|(other, _)| *other != place);
                    level(sharer, place, others.map(|(_, other)| other.name.clone()).collect(), round)
                })),
            }
        }
    }
    for (number, level) in (0..).zip(&mut levels) {
        level.plan.level = number;
        // All are measured at the same time.
        level.plan.phases = first.level.plan.phases;
    }
    Ok(levels)
}

/// Levels that run at the same time: of one workload, or of all.
enum LevelGroup<'a> {
    Alone(u32, &'a Sharer),
    Together,
}

fn check(sharers: &[Sharer]) -> Result<(), Usage> {
    for (place, sharer) in sharers.iter().enumerate() {
        let Sharer { name, level } = sharer;
        if level.plan.phases.measured_ns.is_none() {
            return Err(Usage(format!(
                "--with: the workload {name} ends by itself, so it cannot run at the same time as another workload; remove `plays` \
                from the workload, or run the workload alone"
            )));
        }
        if sharers.iter().take(place).any(|other| other.name == *name) {
            return Err(Usage(format!(
                "--with {name}: the run already has a workload of this name, and both workloads would use the same files; copy the \
                workload (plimsoll workloads show {name}) and give the copy another name"
            )));
        }
    }
    Ok(())
}

fn level(sharer: &Sharer, place: u32, beside: Vec<String>, round: u32) -> LevelSpec {
    let mut level = sharer.level.clone();
    let curve = if beside.is_empty() {
        format!("{} alone", sharer.name)
    } else {
        format!("{} beside {}", sharer.name, beside.join(" and "))
    };
    // As of repeats of any level.
    level.curve = Some(format!("{curve}, {REPEAT}{}", round + 1));
    // The same draws alone and beside others.
    level.plan.seed = level.plan.seed.wrapping_add(u64::from(round));
    level.share = Some(WorkloadShare { workload: sharer.name.clone(), place, beside, round });
    level
}

/// The threads of each of so many workloads where nobody said how many: all together have one per core. A workload has as many alone as
/// beside others, so that nothing else differs.
pub(crate) fn threads(plan: &Plan, workloads: usize) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = u32::try_from(cores / workloads.max(1)).unwrap_or(1).max(1);
    if plan.threads == 0 { share } else { plan.threads }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::{Load, Pause, Phases};

    use super::*;

    fn sharer(name: &str, clients: u32, measured_ns: Option<u64>) -> Sharer {
        let load = Load::Closed { clients, think: Pause::None };
        let plan = Plan { phases: Phases { measured_ns, ..Phases::default() }, seed: 7, ..Plan::new(load) };
        let level = LevelSpec { load_name: load.to_string(), plan, curve: None, parameter: None, share: None };
        Sharer { name: name.to_owned(), level }
    }

    #[test]
    fn each_runs_alone_and_with_all_others_in_every_round() {
        let levels = levels_of_sharers(&[sharer("a", 3, Some(5)), sharer("b", 2, Some(9))], 2).unwrap();
        let seen: Vec<_> = levels
            .iter()
            .map(|level| {
                (level.curve.as_deref().unwrap(), level.plan.load.clients(), level.plan.level, level.plan.seed)
            })
            .collect();
        let expected = [
            ("a alone, repeat 1", 3, 0, 7),
            ("a beside b, repeat 1", 3, 1, 7),
            ("b beside a, repeat 1", 2, 2, 7),
            ("b alone, repeat 1", 2, 3, 7),
            ("b alone, repeat 2", 2, 4, 8),
            ("a beside b, repeat 2", 3, 5, 8),
            ("b beside a, repeat 2", 2, 6, 8),
            ("a alone, repeat 2", 3, 7, 8),
        ];
        assert_eq!(seen, expected);
        assert!(levels.iter().all(|level| level.plan.phases.measured_ns == Some(5)), "one phase for all");
    }

    #[test]
    fn three_workloads_run_alone_and_all_together() {
        let names = ["a", "b", "c"];
        let levels = levels_of_sharers(&names.map(|name| sharer(name, 1, Some(5))), 1).unwrap();
        let curves: Vec<_> = levels.iter().map(|level| level.curve.as_deref().unwrap()).collect();
        let expected = ["a alone", "a beside b and c", "b beside a and c", "c beside a and b", "b alone", "c alone"];
        assert_eq!(curves, expected.map(|curve| format!("{curve}, repeat 1")));
    }

    #[test]
    fn workloads_without_a_common_phase_or_with_one_name_are_refused() {
        let refused =
            |second: Sharer| levels_of_sharers(&[sharer("a", 1, Some(5)), second], 1).unwrap_err().to_string();
        assert!(refused(sharer("b", 1, None)).contains("b ends by itself"));
        assert!(refused(sharer("a", 1, Some(5))).starts_with("--with a: the run already has a workload of this name"));
    }
}
