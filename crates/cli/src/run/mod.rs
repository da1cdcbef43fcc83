//! `plimsoll run`: a workload becomes response times.

mod files;
mod level;
mod load;
mod sink;
mod target;
mod title;
mod validity;
mod watching;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use plimsoll_drive::engine::Setup;
use plimsoll_drive::reach::{self, Work};
use plimsoll_drive::tap::Tap;
use plimsoll_drive::target::Target;
use plimsoll_drive::workload::{FileSet, Workload};
use plimsoll_model::Names;
use plimsoll_observe::status_name;
use plimsoll_recording::TransactionsFile;
use plimsoll_report::findings::{Findings, Run, Source};

use crate::exit::{Done, Usage};
use crate::output::Output;
use files::Files;
use level::LevelRan;
use load::{LoadFlags, Step};
use sink::Table;
use target::{Chosen, TargetFlags};
use watching::Watching;

/// Drives a server with a workload and reports response time beside throughput.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What users do: a name of `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    load: LoadFlags,
    /// Remove the workload's files from the server afterwards; they are kept for the next run else
    #[arg(long)]
    remove_files: bool,
    /// Write every transaction to a table, one row each: FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE")]
    transactions: Option<PathBuf>,
    /// Write what goes over the sockets as a capture, which `plimsoll analyze` and Wireshark read
    #[arg(long, value_name = "FILE.pcapng")]
    tap: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    arguments.output.check()?;
    let workload = Workload::find(&arguments.workload).map_err(|error| Usage(error.to_string()))?;
    let steps = load::steps(&arguments.load, workload.defaults())?;
    let chosen = arguments.target.choose()?;
    let table = arguments.transactions.as_deref().map(crate::output::table).transpose()?;
    let table = table.map(|table| Arc::new(Mutex::new(table)));
    let tap = arguments
        .tap
        .as_deref()
        .map(|file| Tap::create(file).map(Arc::new).with_context(|| file.display().to_string()));
    let tap = tap.transpose()?;
    let watching = Watching::new(arguments.output.quiet)?;
    let measured = measure(&arguments, &workload, steps, &chosen, table.as_ref(), tap.as_ref(), &watching)?;
    if let Some(tap) = tap {
        tap.finish().context("the tap")?;
    }
    if let Some(table) = table {
        finish(table)?;
    }
    let findings = measured.findings(&arguments, &workload, &chosen);
    arguments.output.write(&findings)?;
    Ok(if findings.validity.valid { Done::Valid } else { Done::Invalid })
}

/// What a run brought.
struct Measured {
    levels: Vec<LevelRan>,
    names: Arc<Names>,
    facts: Vec<String>,
    warmup_s: f64,
}

/// Runs every level, with the files in place.
fn measure(
    arguments: &Arguments,
    workload: &Workload,
    steps: Vec<Step>,
    chosen: &Chosen,
    table: Option<&Table>,
    tap: Option<&Arc<Tap>>,
    watching: &Watching,
) -> anyhow::Result<Measured> {
    let mut names = Names::default();
    let seed = arguments.load.seed ^ u64::from(std::process::id()) << 32;
    let server = reach::open(&chosen.target, &arguments.target.wishes(seed), &mut names)?;
    let stations = steps.iter().map(|step| step.plan.load.stations()).max().unwrap_or(1);
    let set = Arc::new(FileSet::new(workload, base(&chosen.target), stations, &mut names)?);
    let names = Arc::new(names);
    let timeout_ns = load::nanoseconds(arguments.load.timeout);
    let (at, with) = (Arc::clone(&set), Arc::clone(&names));
    let files = Files { server: &*server, set: at, names: with, watching, timeout_ns };
    files.prepare()?;
    let scenarios = Box::new(|station, lane, seed| workload.scenario(&set, station, lane, seed));
    let work = Work { server: &*server, scenarios, names: Arc::clone(&names) };
    let warmup_s = steps.first().map_or(0.0, |step| step.plan.phases.warmup_ns as f64 / 1e9);
    let levels = levels(steps, &work, table, tap, watching)?;
    if arguments.remove_files && !watching.stopped() {
        files.remove()?;
    }
    let mut facts = server.facts();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    facts.push(format!("client with {cores} cores"));
    Ok(Measured { levels, names, facts, warmup_s })
}

fn levels(
    steps: Vec<Step>,
    work: &Work<'_>,
    table: Option<&Table>,
    tap: Option<&Arc<Tap>>,
    watching: &Watching,
) -> anyhow::Result<Vec<LevelRan>> {
    let mut levels = Vec::new();
    for Step { mut plan, words } in steps {
        if watching.stopped() {
            break;
        }
        plan.tap = tap.cloned();
        let setup: &dyn Setup = work;
        levels.push(watching.during(&words, |watch| level::run(&plan, &words, setup, table, watch))?);
    }
    Ok(levels)
}

impl Measured {
    fn findings(&self, arguments: &Arguments, workload: &Workload, chosen: &Chosen) -> Findings {
        let run = Run {
            target: chosen.shown.clone(),
            workload: workload.name().to_owned(),
            description: workload.description().to_owned(),
            workload_sha256: workload.digest().to_owned(),
            seed: arguments.load.seed,
            threads: self.levels.iter().map(|level| level.threads).max().unwrap_or(0),
            warmup_s: self.warmup_s,
            facts: self.facts.clone(),
        };
        let source = Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: vec![chosen.shown.clone()],
            filters: Vec::new(),
            vantage: "client".to_owned(),
        };
        let levels: Vec<_> = self.levels.iter().map(LevelRan::as_level).collect();
        Findings::collect_run(run, &levels, &self.names, source, status_name)
    }
}

/// The directory of the share or export that files stand in. Of an export it is what was mounted.
fn base(target: &Target) -> &str {
    if let Target::Smb(target) = target { &target.path } else { "" }
}

/// Every worker has given its sink back, so nobody else holds the table.
fn finish(table: Table) -> anyhow::Result<()> {
    let table: TransactionsFile = Arc::into_inner(table)
        .and_then(|table| table.into_inner().ok())
        .context("the transactions table is still being written to")?;
    table.finish()?;
    Ok(())
}
