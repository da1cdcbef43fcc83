//! `plimsoll run`: a workload becomes response times.

mod auth;
mod load;
mod parameters;
mod ranges;
mod target;
mod watching;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use plimsoll_drive::tap::Tap;
use plimsoll_experiment::{
    Beginning, ByTime, Chosen, Drive, LevelResult, LevelSpec, Planned, Recorded, Table, Variant, Watching, Work,
    measure, of_variant, parameters_of_all, read_back, repeated,
};
use plimsoll_model::Names;
use plimsoll_recording::TransactionsFile;

use crate::exit::{Done, Usage, first_error};
use crate::output::{Output, finish_table};
use crate::output_file::{Files, OutputFile, Readers};
use crate::record::RecordFlags;
use crate::server_side::ServerSideFlags;

pub(crate) use auth::AuthFlags;
pub(crate) use load::{LoadFlags, level_at, levels_of, timeout_ns, usual};
pub(crate) use parameters::{SetFlags, VaryFlags};
pub(crate) use target::{TARGETS, TargetFlags, WishFlags};
pub(crate) use watching::Terminal;

/// Drives a server with a workload and reports response time beside throughput.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What users do: a name of `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    parameters: SetFlags,
    #[command(flatten)]
    vary: VaryFlags,
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
    /// Go on with the recording in the folder of --record: levels that it has are read from it, the others are run. It must
    /// be of the same workload, target, seed and levels
    #[arg(long = "continue", requires = "record", conflicts_with_all = ["overwrite", "transactions", "tap"], help_heading = "Output")]
    go_on: bool,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// Whether there is more than one point to measure.
    pub(crate) fn sweeps(&self) -> bool {
        self.load.levels.is_some() || self.vary.is_some()
    }

    /// The table of transactions, if one is wanted, and its file.
    fn table(&self, files: &mut Files) -> anyhow::Result<(Option<Table>, Option<OutputFile>)> {
        let opened = self.transactions.as_deref().map(|path| crate::output::table(path, files)).transpose()?;
        let (table, file) = opened.unzip();
        Ok((table.map(|table| Arc::new(Mutex::new(table))), file))
    }

    /// The tap, if one is wanted, and its file, which holds the exchange of a logon.
    fn tap(&self, files: &mut Files) -> anyhow::Result<(Option<Arc<Tap>>, Option<OutputFile>)> {
        let Some(path) = &self.tap else { return Ok((None, None)) };
        let file = files.open("--tap", path, Readers::Owner)?;
        match file.file().and_then(Tap::new) {
            Ok(tap) => Ok((Some(Arc::new(tap)), Some(file))),
            Err(error) => Err(file.failed(error)),
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut files = Files::reading(arguments.target.files().chain([Path::new(&arguments.workload)]));
    files.fills("--record", arguments.record.folder());
    let output = arguments.output.open(&mut files)?;
    let (table, table_file) = arguments.table(&mut files)?;
    let (tap, tap_file) = arguments.tap(&mut files)?;
    let variants = arguments.parameters.variants(&arguments.workload, &arguments.vary)?;
    let work = planned(&arguments, &variants)?;
    let Some((first, _)) = work.first() else { return Err(Usage("--vary: there is no value".to_owned()).into()) };
    let chosen = arguments.target.choose()?;
    let beginning = beginning(&arguments, first, &variants, &work, &chosen);
    let (finished, names) = already(&arguments, &beginning)?;
    let terminal = Terminal::new(arguments.output.quiet);
    let watching: &dyn Watching = &terminal;
    let server_side = arguments.server_side.watch()?;
    let record_to = arguments.record.to();
    let recording = match arguments.go_on {
        true => Recorded::resume(record_to.as_ref(), beginning.clone(), |number| finished.contains_key(&number))?,
        false => Recorded::begin(record_to.as_ref(), beginning.clone())?,
    };
    let points: usize = work.iter().map(|(_, steps)| steps.len()).sum();
    let drive = Drive {
        workload: &first.workload,
        watching,
        table: table.as_ref(),
        tap: tap.as_ref(),
        recording: recording.as_ref(),
        // A load curve says how sure its points are.
        by_time: if points > 1 { ByTime::Used } else { ByTime::None },
        timeout_ns: timeout_ns(&arguments.load),
        stop_above_s: arguments.stop_above.map(|limit| limit.as_secs_f64()),
        file_set: arguments.load.file_set.as_deref(),
        remove_files: arguments.remove_files,
        server_side: server_side.as_ref(),
        may_be_busy: false,
    };
    // Two runs at once must not look like one client computer.
    let wishes = arguments.target.wishes(beginning.seed ^ u64::from(std::process::id()) << 32);
    let work = Work { variants: work, finished, names };
    let measured = measure(work, &drive, &chosen, &wishes, beginning);
    // Whatever became of the run: what was recorded of it gets its end, and is of use.
    let recording = recording.map_or(Ok(()), |recording| recording.finish(watching.stopped(), measured.as_ref()));
    let tap = tap.zip(tap_file).map_or(Ok(()), |(tap, file)| file.write(|_| tap.finish()));
    let table = table.zip(table_file).map_or(Ok(()), |(table, file)| finish(table, file));
    let (findings, besides) = match measured {
        Ok(measured) => measured,
        Err(error) => return first_error([Err(error), recording, tap, table]).map(|()| Done::Normally),
    };
    let printed = output.prints();
    first_error([output.write(&findings), recording, tap, table, besides])?;
    Ok(Done::with(&findings.validity, printed))
}

/// Each variant of the workload with its levels.
fn planned<'a>(arguments: &Arguments, variants: &'a [Variant]) -> anyhow::Result<Vec<(&'a Variant, Vec<LevelSpec>)>> {
    let steps = |(place, variant): (usize, &'a Variant)| {
        let steps = repeated(levels_of(&arguments.load, variant.workload.defaults())?, arguments.repeat);
        Ok((variant, of_variant(steps, place, variant)))
    };
    variants.iter().enumerate().map(steps).collect()
}

/// What is known before anything is measured.
fn beginning<'a>(
    arguments: &Arguments,
    first: &'a Variant,
    variants: &[Variant],
    work: &[(&Variant, Vec<LevelSpec>)],
    chosen: &Chosen,
) -> Beginning<'a> {
    let asked = arguments.target.asked();
    let of = |(variant, steps): &(&Variant, Vec<LevelSpec>)| -> Vec<Planned> {
        steps.iter().map(|step| Planned::of(step, &variant.workload, &asked)).collect()
    };
    let warmup_ns = work.iter().flat_map(|(_, steps)| steps).map(|step| step.plan.phases.warmup_ns).next();
    Beginning {
        target: chosen.shown.clone(),
        warmup_ns: warmup_ns.unwrap_or(0),
        keep_awake: arguments.load.keep_awake,
        parameters: parameters_of_all(variants),
        planned: work.iter().flat_map(of).collect(),
        ..Beginning::new(&first.workload, arguments.load.seed)
    }
}

/// What a recording that is continued has already, and all that this names.
fn already(arguments: &Arguments, beginning: &Beginning<'_>) -> anyhow::Result<(BTreeMap<u32, LevelResult>, Names)> {
    let mut names = Names::default();
    let finished = match arguments.record.to() {
        Some(to) if arguments.go_on => read_back(&to.folder, beginning, to.sample(beginning.seed), &mut names)?,
        _ => BTreeMap::new(),
    };
    Ok((finished, names))
}

/// Every worker has given its sink back, so nobody else holds the table.
fn finish(table: Table, file: OutputFile) -> anyhow::Result<()> {
    let table: TransactionsFile = Arc::into_inner(table)
        .and_then(|table| table.into_inner().ok())
        .context("the transactions table is still being written to")?;
    finish_table(table.finish(), file)
}
