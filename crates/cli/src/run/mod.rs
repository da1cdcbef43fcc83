//! `plimsoll run`: a workload becomes response times.

mod auth;
mod drive;
mod files;
mod level;
mod load;
pub(crate) mod open_files;
mod recorded;
mod sink;
mod target;
mod title;
mod validity;
mod watching;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use plimsoll_drive::tap::Tap;
use plimsoll_drive::workload::Workload;
use plimsoll_model::Names;
use plimsoll_recording::TransactionsFile;
use plimsoll_report::findings::Findings;

use crate::exit::{Done, Usage, first_error};
use crate::output::Output;
use crate::record::RecordFlags;
use recorded::Recorded;
use sink::Table;

pub(crate) use auth::AuthFlags;
pub(crate) use drive::{Drive, Site, Told};
pub(crate) use level::{LevelRan, StageTold};
pub(crate) use load::{LoadFlags, Step, is_repeat, steps, timeout_ns};
pub(crate) use recorded::Beginning;
pub(crate) use target::{Chosen, TargetFlags, WishFlags};
pub(crate) use watching::Watching;

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
    /// Run all load levels so many times, one after the other; the report shows how much repeats differ
    #[arg(long, value_name = "COUNT", default_value_t = 1, help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Run no more levels after the one whose mean response time is above this; the report says so
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "levels", help_heading = "Load")]
    stop_above: Option<std::time::Duration>,
    /// Remove the workload's files from the server afterwards, after Ctrl-C too; they are kept for the next run else
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    /// Write every transaction to a table, one row each: FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    transactions: Option<PathBuf>,
    /// Write what goes over the sockets as a capture, which `plimsoll analyze` and Wireshark read
    #[arg(long, value_name = "FILE.pcapng", help_heading = "Output")]
    tap: Option<PathBuf>,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    output: Output,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    arguments.output.check()?;
    let workload = Workload::find(&arguments.workload).map_err(|error| Usage(error.to_string()))?;
    let steps = load::repeated(steps(&arguments.load, workload.defaults())?, arguments.repeat);
    let chosen = arguments.target.choose()?;
    let table = arguments.transactions.as_deref().map(crate::output::table).transpose()?;
    let table = table.map(|table| Arc::new(Mutex::new(table)));
    let tap = arguments
        .tap
        .as_deref()
        .map(|file| Tap::create(file).map(Arc::new).with_context(|| file.display().to_string()));
    let tap = tap.transpose()?;
    let watching = Watching::new(arguments.output.quiet);
    let beginning = Beginning {
        workload: &workload,
        target: chosen.shown.clone(),
        seed: arguments.load.seed,
        warmup_ns: steps.first().map_or(0, |step| step.plan.phases.warmup_ns),
    };
    let recording = Recorded::begin(&arguments.record, beginning.clone())?;
    let drive = Drive {
        workload: &workload,
        watching: &watching,
        table: table.as_ref(),
        tap: tap.as_ref(),
        recording: recording.as_ref(),
        by_time: false,
        timeout_ns: timeout_ns(&arguments.load),
        stop_above_s: arguments.stop_above.map(|limit| limit.as_secs_f64()),
        remove_files: arguments.remove_files,
    };
    let measured = measure(&arguments, &drive, steps, &chosen, beginning);
    // Whatever became of the run: what was recorded of it gets its end, and is of use.
    let recording = recording.map_or(Ok(()), |recording| recording.finish(watching.stopped(), measured.as_ref()));
    let tap = tap.map_or(Ok(()), |tap| tap.finish().context("the tap"));
    let table = table.map_or(Ok(()), finish);
    let (findings, besides) = match measured {
        Ok(measured) => measured,
        Err(error) => return first_error([Err(error), recording, tap, table]).map(|()| Done::Invalid),
    };
    first_error([arguments.output.write(&findings), recording, tap, table, besides])?;
    Ok(if findings.validity.valid { Done::Valid } else { Done::Invalid })
}

/// What a report shows, and what failed besides the measuring.
fn measure(
    arguments: &Arguments,
    drive: &Drive<'_>,
    steps: Vec<Step>,
    chosen: &Chosen,
    beginning: Beginning<'_>,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let mut names = Names::default();
    // Two runs at once must not look like one client computer.
    let wishes = arguments.target.wishes(beginning.seed ^ u64::from(std::process::id()) << 32);
    open_files::allow(chosen.open_files(&steps, drive.workload))?;
    let site = drive.reach(chosen, &wishes, &steps, &mut names)?;
    let names = Arc::new(names);
    let levels = drive.levels(&site, &names, steps).with_context(|| chosen.shown.clone())?;
    let mut facts = site.server.facts();
    facts.extend(levels.facts());
    let told = Told { beginning, levels: levels.ran, names, facts };
    Ok((told.findings(), levels.besides))
}

/// Every worker has given its sink back, so nobody else holds the table.
fn finish(table: Table) -> anyhow::Result<()> {
    let table: TransactionsFile = Arc::into_inner(table)
        .and_then(|table| table.into_inner().ok())
        .context("the transactions table is still being written to")?;
    table.finish()?;
    Ok(())
}
