//! `plimsoll duel`: two servers, or two ways to ask one, turn by turn.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Parser;
use plimsoll_drive::workload::Workload;
use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint, Order};
use plimsoll_report::findings::comparison::Subject;

use crate::compare::{self, Conditions};
use crate::exit::{Done, Usage, first_error};
use crate::output::ComparisonOutput;
use crate::run::{
    AuthFlags, ByTime, Chosen, Drive, LevelRan, LoadFlags, SetFlags, Site, Step, TargetFlags, Watching, WishFlags,
    open_files, steps, timeout_ns,
};

/// Drives two servers in turns (A B B A, and again) and compares them: what changes slowly meets both, and what a new run
/// changes is in the intervals.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The baseline: a target, with options of its own behind it in the same argument ("smb://u@old/data --dialect 2.1")
    #[arg(value_name = "A")]
    a: String,
    /// The other one, likewise ("smb://u@new/data --depth 4")
    #[arg(value_name = "B")]
    b: String,
    /// What users do: a name of `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    /// Rounds of four runs each: A B B A
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    parameters: SetFlags,
    /// Remove the workload's files from the servers afterwards; they are kept for the next run else
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: ComparisonOutput,
}

/// A side as it is written in one argument. What is not given is as for both.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Side {
    target: String,
    #[arg(long)]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    wishes: WishFlags,
    #[arg(long)]
    stations: Option<u32>,
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long)]
    depth: Option<u32>,
    #[arg(long)]
    connections: Option<u32>,
    /// What was written besides the target.
    #[arg(skip)]
    options: String,
}

/// A side that is ready to be driven.
struct Corner {
    chosen: Chosen,
    site: Site,
    steps: Vec<Step>,
    name: String,
    /// Levels of each run that is part of a whole round.
    ran: Vec<Vec<LevelRan>>,
    /// What there was to tell of the last run.
    remarks: Vec<String>,
}

/// Whose turn it is in a round: what gets slower or quicker all the time meets both alike.
const TURNS: [usize; 4] = [0, 1, 1, 0];

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    arguments.output.check()?;
    let workload = arguments.parameters.workload(&arguments.workload)?;
    let sides = [Side::read(&arguments.a, "A")?, Side::read(&arguments.b, "B")?];
    let watching = Watching::new(arguments.output.quiet);
    let timeout_ns = timeout_ns(&arguments.load);
    let drive = Drive { by_time: ByTime::Kept, ..Drive::new(&workload, &watching, timeout_ns) };
    let mut names = Names::default();
    let mut corners = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        corners.push(side.ready(&drive, &arguments.load, place as u64, &mut names)?);
    }
    let names = Arc::new(names);
    let whole = rounds(&drive, &mut corners, &names, arguments.rounds);
    let cleaned = if arguments.remove_files { clean(&drive, &corners, &names) } else { Ok(()) };
    first_error([whole, cleaned])?;
    let contestants: Vec<Contestant> = corners.iter().map(|corner| corner.contestant(&workload)).collect();
    compare::finish(&contestants, &[], (Order::InPairs, Vec::new()), &arguments.conditions, &arguments.output)
}

/// Runs round after round; one that was interrupted leaves nothing behind.
fn rounds(drive: &Drive<'_>, corners: &mut [Corner], names: &Arc<Names>, rounds: u32) -> anyhow::Result<()> {
    for round in 0..rounds {
        let mut ran: [Vec<Vec<LevelRan>>; 2] = Default::default();
        for (turn, who) in (0..).zip(TURNS) {
            let Some(corner) = corners.get_mut(who) else { continue };
            // The two neighbours of a pair get the same draws.
            let steps = corner.seeded(u64::from(2 * round + turn / 2));
            let levels = drive.levels(&corner.site, names, steps).with_context(|| corner.name.clone())?;
            let told: Vec<String> = levels.facts().into_iter().filter(|fact| !corner.remarks.contains(fact)).collect();
            corner.remarks.extend(told);
            if drive.watching.stopped() {
                return stopped(round);
            }
            if let Some(ran) = ran.get_mut(who) {
                ran.push(levels.ran);
            }
        }
        corners.iter_mut().zip(ran).for_each(|(corner, ran)| corner.ran.extend(ran));
    }
    Ok(())
}

/// Removes the files of both: of no level, all that is left is that.
fn clean(drive: &Drive<'_>, corners: &[Corner], names: &Arc<Names>) -> anyhow::Result<()> {
    let drive = Drive { remove_files: true, ..*drive };
    let one = |corner: &Corner| drive.levels(&corner.site, names, Vec::new())?.besides;
    first_error(corners.iter().map(one))
}

fn stopped(whole_rounds: u32) -> anyhow::Result<()> {
    if whole_rounds == 0 {
        bail!("stopped before the first round of four runs was over: there is nothing to compare");
    }
    Ok(())
}

impl Side {
    /// Reads a side of its one argument.
    fn read(text: &str, letter: &str) -> anyhow::Result<Self> {
        let mut side = Side::try_parse_from(text.split_whitespace()).map_err(|error| {
            let said = error.to_string();
            let said = said.strip_prefix("error: ").unwrap_or(&said);
            Usage(format!("{letter}: {}", said.lines().next().unwrap_or_default()))
        })?;
        let options = text.split_whitespace().filter(|word| *word != side.target).collect::<Vec<_>>();
        side.options = options.join(" ");
        Ok(side)
    }

    fn target_flags(&self) -> TargetFlags {
        let (target, password_file) = (self.target.clone(), self.password_file.clone());
        TargetFlags::new(target, password_file, self.auth.clone(), self.wishes.clone())
    }

    /// Finds the server, and plans its levels.
    fn ready(&self, drive: &Drive<'_>, common: &LoadFlags, place: u64, names: &mut Names) -> anyhow::Result<Corner> {
        let load = LoadFlags {
            stations: self.stations.or(common.stations),
            rate: self.rate.or(common.rate),
            depth: self.depth.or(common.depth),
            connections: self.connections.unwrap_or(common.connections),
            ..common.clone()
        };
        let steps = steps(&load, drive.workload.defaults())?;
        let flags = self.target_flags();
        let chosen = flags.choose()?;
        // Two sides, and two duels at once, must not look like one client computer.
        let wishes = flags.wishes(common.seed ^ u64::from(std::process::id()) << 32 ^ place << 31);
        open_files::allow(chosen.open_files(&steps, drive.workload))?;
        let site = drive.reach(&chosen, &wishes, &steps, names)?;
        let name = format!("{} {}", chosen.shown, self.options).trim_end().to_owned();
        Ok(Corner { chosen, site, steps, name, ran: Vec::new(), remarks: Vec::new() })
    }
}

impl Corner {
    /// Its levels with draws of their own for each pair of runs.
    fn seeded(&self, pair: u64) -> Vec<Step> {
        let mut steps = self.steps.clone();
        steps.iter_mut().for_each(|step| step.plan.seed = step.plan.seed.wrapping_add(pair));
        steps
    }

    /// What a comparison sees of it.
    fn contestant(&self, workload: &Workload) -> Contestant {
        let levels = self.steps.iter().enumerate().map(|(at, step)| {
            let ran = || self.ran.iter().filter_map(|levels| levels.get(at));
            let valid = ran().all(|level| level.reasons().is_empty());
            let point = ran().next().map(|level| LoadPoint { valid, ..level.point() });
            LevelRuns { level: step.words.clone(), point, runs: ran().filter_map(LevelRan::measured).collect() }
        });
        let mut reasons: Vec<String> = Vec::new();
        for level in self.ran.iter().flatten() {
            reasons.extend(level.reasons().iter().map(|reason| format!("At {}: {reason}.", level.words())));
        }
        reasons.sort();
        reasons.dedup();
        let about = Subject {
            name: self.name.clone(),
            kind: "run".to_owned(),
            target: Some(self.chosen.shown.clone()),
            workload: Some(workload.name().to_owned()),
            workload_sha256: Some(workload.digest().to_owned()),
            facts: [self.site.server.facts(), self.remarks.clone()].concat(),
            valid: reasons.is_empty(),
            reasons,
            ..Subject::default()
        };
        Contestant { about, levels: levels.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_target_with_options_of_its_own() {
        let side = Side::read("smb://u@old/data --dialect 2.1 --depth 4", "A").unwrap();
        assert_eq!((side.target.as_str(), side.depth, side.rate), ("smb://u@old/data", Some(4), None));
        let error = Side::read("smb://u@old/data --deep 4", "B").unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().starts_with("B: unexpected argument '--deep'"), "{error}");
        assert!(Side::read("", "A").is_err());
    }

    #[test]
    fn neighbours_are_one_of_each_and_drift_meets_both_alike() {
        for pair in TURNS.chunks(2) {
            assert!(pair.contains(&0) && pair.contains(&1));
        }
        let places = |who| TURNS.iter().enumerate().filter(|(_, turn)| **turn == who).map(|(at, _)| at).sum::<usize>();
        assert_eq!(places(0), places(1));
    }
}
