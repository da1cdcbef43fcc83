//! `plimsoll run`: drives a server with a workload and reports response times.

mod auth;
mod load;
mod parameters;
mod part;
mod phase_hook;
mod target;
mod with;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use plimsoll_analysis::finish_table;
use plimsoll_client::target::Target;
use plimsoll_drive::tap::Tap;
use plimsoll_experiment::{
    CompanionSpec, EarlierLevels, IntervalMode, LevelSpec, Monitor, ROUNDS_BESIDE, ResolvedTarget, RunRecording,
    RunSpec, Runner, ServerSpec, Table, Variant, VariantSpec, Work, absolute_workload, add_companions, check_slots,
    earlier_levels, levels_of_variant, measure, measure_beside, recorded_targets, repeat_whole, repeated,
};
use plimsoll_experiment::{server_counters::CounterWatch, server_side::ServerSideWatch};
use plimsoll_model::{About, Names};
use plimsoll_recording::TransactionsFile;
use plimsoll_results::recording_findings;
use plimsoll_workload::{DataSource, Workload};

use crate::drive::server_side::ServerSideFlags;
use crate::exit::{Done, Usage, first_error};
use crate::flags::about::AboutFlags;
use crate::flags::live::WatchFlags;
use crate::flags::output::Output;
use crate::flags::record::RecordFlags;
use plimsoll_console::output_file::{Files, OutputFile, Readers};

pub(crate) use auth::AuthFlags;
pub(crate) use load::LoadFlags;
pub(crate) use parameters::{SetFlags, VaryFlags};
pub(crate) use part::PartFlags;
pub(crate) use phase_hook::PhaseFlags;
pub(crate) use target::{PASSWORD_FILE, TARGETS, TargetFlags, WishFlags};

/// Options that a recording already fixes, separated by spaces.
const FIXED_BY_A_RECORDING: &str = "\
    workload target auth realm kdc dialect signing encryption clients users rate depth levels duration warmup think \
    every arrivals connections channels clients_per_connection threads no_cpu_idle timeout file_set seed settings vary \
    with repeat stop_above go_on part start_at clock_origin progress_file";

const EXAMPLES: &str = "Examples:
  plimsoll run mixed --target smb://user@server/share --clients 8
  plimsoll run random-read --target nfs://server/export --rate 500 --record mon
  plimsoll run --from monday --record tuesday";

/// Drives a server with a workload and reports response times and throughput.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("part", |part| part.conflicts_with_all(["samba_conf", "ganesha_bus"])))]
pub(crate) struct Arguments {
    /// Workload: a name from `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    part: PartFlags,
    #[command(flatten)]
    parameters: SetFlags,
    #[command(flatten)]
    vary: VaryFlags,
    #[command(flatten)]
    with: with::WithFlags,
    /// Number of times to run all load levels; the report shows the variation between repeats [default: 1; 5 with --with]
    #[arg(long, value_name = "COUNT", help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Skip the remaining levels once the mean response time of a level exceeds this limit, e.g. 50ms
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "levels", help_heading = "Load")]
    stop_above: Option<std::time::Duration>,
    #[command(flatten)]
    phases: PhaseFlags,
    /// Delete the workload's files at the end, also after Ctrl-C [default: leave them for the next run]
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    /// Write one row per transaction to FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    transactions: Option<PathBuf>,
    /// Write the data that the load generator sends and receives as a pcapng capture, for `plimsoll analyze` and
    /// Wireshark. The file leaves out read data that the clients discard
    #[arg(long, value_name = "FILE.pcapng", help_heading = "Output")]
    tap: Option<PathBuf>,
    #[command(flatten)]
    watch: WatchFlags,
    #[command(flatten)]
    about: AboutFlags,
    #[command(flatten)]
    record: RecordFlags,
    /// Repeat the run recorded in DIR with the same target, workload and load. The recording contains neither the password nor
    /// the options for outputs and for the server's metrics and counters: give these options again
    #[arg(long, value_name = "DIR", conflicts_with_all = FIXED_BY_A_RECORDING.split_ascii_whitespace())]
    from: Option<PathBuf>,
    /// Continue the recording in the folder of --record: run only the missing levels. Workload, target, seed and levels
    /// must be the same as before
    #[arg(long = "continue", requires = "record", conflicts_with_all = ["overwrite", "transactions", "tap", "part", "start_at"], help_heading = "Output")]
    go_on: bool,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// Number of load levels of all curves, without their repeats.
    pub(crate) fn levels(&self) -> anyhow::Result<usize> {
        let levels = self.load.levels.as_ref().map_or(1, |levels| levels.0.len());
        Ok(if self.from.is_some() { self.spec()?.distinct_levels() } else { levels * self.vary.curves() })
    }

    /// Folder of the recording.
    pub(crate) fn recording(&self) -> Option<&Path> {
        self.record.folder()
    }

    /// Whether it continues a recording.
    pub(crate) fn continues(&self) -> bool {
        self.go_on
    }

    /// The specification of the run, without the name of the target.
    pub(crate) fn spec(&self) -> anyhow::Result<RunSpec> {
        Ok(asked(self)?.0)
    }

    /// The table of transactions and its file, if requested.
    fn table(&self, files: &mut Files) -> anyhow::Result<(Option<Table>, Option<OutputFile>)> {
        let opened = self.transactions.as_deref().map(|path| crate::flags::output::table(path, files)).transpose()?;
        let (table, file) = opened.unzip();
        Ok((table.map(|table| Arc::new(Mutex::new(table))), file))
    }

    /// The tap and its file, if requested. The file contains the messages of logons.
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
    arguments.part.set_clock()?;
    let quiet = arguments.output.quiet;
    drive(arguments, quiet)
}

/// Runs without printing a report, for commands that print another one.
pub(crate) fn run_unprinted(mut arguments: Arguments, quiet: bool) -> anyhow::Result<Done> {
    arguments.part.set_clock()?;
    let quiet = quiet || arguments.output.quiet;
    arguments.output.quiet = true;
    drive(arguments, quiet)
}

/// Drives the server. `quiet`: without progress.
fn drive(arguments: Arguments, quiet: bool) -> anyhow::Result<Done> {
    let mut files = files(&arguments)?;
    let output = arguments.output.open(&mut files)?;
    let (table, table_file) = arguments.table(&mut files)?;
    let (tap, tap_file) = arguments.tap(&mut files)?;
    let (mut spec, variants) = asked(&arguments)?;
    let work: Vec<(&Variant, Vec<LevelSpec>)> =
        variants.iter().zip(&spec.variants).map(|(variant, spec)| (variant, spec.levels.clone())).collect();
    let Some((first, level)) = variants.first().zip(spec.levels().next().map(|(_, level)| level.clone())) else {
        let why = "no load level to run: give --vary at least one value, or give --from a recording with load levels";
        return Err(Usage(why.to_owned()).into());
    };
    let target = match &arguments.from {
        Some(folder) => arguments.target.recorded(&mut spec, folder)?,
        None => arguments.target.clone(),
    };
    // They name the versions that the servers spoke: these are not asked for a version again.
    let recorded = arguments.record.folder().filter(|_| arguments.go_on).map(recorded_targets).unwrap_or_default();
    let (resolved, spec) = chosen(&arguments, (&target, &recorded), &variants, spec)?;
    let (earlier, names) = already(&arguments, &spec)?;
    // Then no client connects, and the recording stays as it is.
    let only_prints = earlier.as_ref().is_some_and(|earlier| earlier.are_whole(&spec))
        && !arguments.remove_files
        && arguments.about.read()?.is_empty();
    let spec = RunSpec { about: about(&arguments)?, ..spec };
    let companions = spec.with.iter().map(CompanionSpec::workload).collect::<Result<Vec<_>, _>>()?;
    let server_side = server_side(&arguments, &variants, &companions, &resolved)?;
    let counters = arguments.server_side.counters(&resolved)?.map(CounterWatch::start).transpose()?;
    let named: Vec<&str> = std::iter::once(&first.workload).chain(&companions).map(Workload::name).collect();
    let shown = format!("{} on {}", named.join(" beside "), resolved.shown);
    let printed = (quiet, output.prints());
    let terminal = arguments.watch.monitor(&shown, printed, server_side.as_ref())?;
    let terminal = terminal.and_file(arguments.part.progress_file()?);
    let monitor: &dyn Monitor = &terminal;
    let record_to = arguments.record.to().filter(|_| !only_prints);
    let recording = RunRecording::resume(record_to.as_ref(), (&spec, &first.workload), earlier.as_ref())?;
    let phase_hook = arguments.phases.hook();
    let points: usize = work.iter().map(|(_, level_specs)| level_specs.len()).sum();
    let runner = Runner {
        table: table.as_ref(),
        tap: tap.as_ref(),
        recording: recording.as_ref(),
        // A load curve needs the confidence intervals of its points.
        interval_mode: if points > 1 { IntervalMode::Transient } else { IntervalMode::Off },
        stop_above_s: spec.stop_above_s,
        file_set: spec.file_set.as_deref(),
        remove_files: arguments.remove_files,
        server_side: server_side.as_deref(),
        counters: counters.as_ref(),
        live: terminal.feed(),
        phase_hook: phase_hook.as_ref(),
        ..Runner::new(&first.workload, monitor, level.plan.timeout_ns)
    };
    let connect_options = target.connect_options();
    let measured = match (earlier, spec.with.is_empty()) {
        (Some(earlier), _) if only_prints => earlier.report(),
        (earlier, true) => {
            let finished = earlier.map(|earlier| earlier.finished).unwrap_or_default();
            let work = Work { variants: work, finished, names };
            measure(work, &runner, &resolved, &connect_options, &spec)
        }
        (_, false) => measure_beside(&runner, &companions, &resolved, &connect_options, &spec),
    };
    terminal.end_view();
    // Completes the recording even after a failure, because the recorded levels are still useful.
    let recording = recording.map_or(Ok(()), |recording| recording.finish(monitor.stopped(), measured.as_ref()));
    let tap = tap.zip(tap_file).map_or(Ok(()), |(tap, file)| file.write(|_| tap.finish()));
    let table = table.zip(table_file).map_or(Ok(()), |(table, file)| finish(table, file));
    let (findings, besides) = match measured {
        Ok(measured) => measured,
        Err(error) => return first_error([Err(error), recording, tap, table]).map(|()| Done::Normally),
    };
    let done = Done::with(&findings.validity, output.prints());
    first_error([output.write(&findings.into()), recording, tap, table, besides])?;
    Ok(done)
}

/// Input files and the output folder.
fn files(arguments: &Arguments) -> anyhow::Result<Files> {
    let read = arguments.target.files().chain([Path::new(&arguments.workload)]).chain(arguments.from.as_deref());
    let mut files =
        Files::reading(read.chain(arguments.about.files()).chain(arguments.server_side.samba_conf.as_deref()));
    let filled = files.fills("--record", arguments.record.folder());
    // A recording that is continued is not replaced: it may also be the one that names the run.
    if !arguments.go_on {
        filled?;
    }
    Ok(files)
}

/// Sources of the server's own metrics. If the workload states the source of its data, the disks of a local server are always among them.
fn server_side(
    arguments: &Arguments,
    variants: &[Variant],
    companions: &[Workload],
    resolved: &ResolvedTarget,
) -> anyhow::Result<Option<Arc<ServerSideWatch>>> {
    let mut workloads = variants.iter().map(|variant| &variant.workload).chain(companions);
    let watch = match workloads.any(|workload| workload.source() != DataSource::Any) {
        true => arguments.server_side.watch_disks(&resolved.target)?,
        false => arguments.server_side.watch()?,
    };
    Ok(watch.map(Arc::new))
}

/// The targets, which are also added to the specification. `recorded`: targets whose versions are known.
fn chosen(
    arguments: &Arguments,
    (target, recorded): (&TargetFlags, &[Target]),
    variants: &[Variant],
    spec: RunSpec,
) -> anyhow::Result<(ResolvedTarget, RunSpec)> {
    let resolved = target.choose_as_recorded(spec.timeout(), recorded)?;
    for one in resolved.all() {
        for (variant, planned) in variants.iter().zip(&spec.variants) {
            check_slots(variant, &planned.levels, &one.target)?;
        }
    }
    if arguments.tap.is_some() && !resolved.is_connected() {
        let why = "--tap: with a file:// target, the operating system sends the requests, so Plimsoll has no data to write; remove --tap, \
            and capture the connection of the mount, e.g. with tcpdump";
        return Err(Usage(why.to_owned()).into());
    }
    arguments.part.options().check(&resolved)?;
    let server = ServerSpec { targets: resolved.targets(), ..spec.server };
    let target = resolved.shown.clone();
    Ok((resolved, RunSpec { target, server, ..spec }))
}

/// The specification of the run and its workload variants, from a recording or from the flags.
fn asked(arguments: &Arguments) -> anyhow::Result<(RunSpec, Vec<Variant>)> {
    if let Some(folder) = &arguments.from {
        let (mut spec, text) = RunSpec::read(folder)?;
        repeat_whole(&mut spec, &folder.display().to_string())?;
        let variants = spec.variants(&text)?;
        return Ok((spec, variants));
    }
    let variants = arguments.parameters.variants(&arguments.workload, &arguments.vary)?;
    // With other workloads, rounds take the place of repeats.
    let repeat = if arguments.with.with.is_empty() { arguments.repeat.unwrap_or(1) } else { 1 };
    let of = |(place, variant): (usize, &Variant)| {
        let load = arguments.load.options().with(variant.load);
        let levels = repeated(load.levels(variant.workload.defaults())?, repeat);
        let levels = levels_of_variant(levels, place, variant);
        let workload_sha256 = variant.workload.digest().to_owned();
        anyhow::Ok(VariantSpec { value: variant.value.clone(), workload_sha256, levels })
    };
    let mut spec = RunSpec {
        // Set when the target is chosen, without a password.
        target: String::new(),
        server: arguments.target.spec(),
        workload: absolute_workload(&arguments.workload)?,
        settings: arguments.parameters.settings().to_vec(),
        with: Vec::new(),
        file_set: arguments.load.file_set.clone(),
        seed: arguments.load.seed,
        warmup_ns: 0,
        no_cpu_idle: arguments.load.no_cpu_idle,
        stop_above_s: arguments.stop_above.map(|limit| limit.as_secs_f64()),
        clock_bound_ns: None,
        search: None,
        variants: variants.iter().enumerate().map(of).collect::<anyhow::Result<_>>()?,
        about: About::default(),
    };
    let level = spec.levels().next().map(|(_, level)| level.clone());
    if let Some((variant, level)) = variants.first().zip(level) {
        let rounds = arguments.repeat.unwrap_or(ROUNDS_BESIDE);
        add_companions(
            &arguments.with.with,
            &mut spec,
            (&variant.workload, level),
            (&arguments.load.options(), rounds),
        )?;
    }
    arguments.part.options().put(&mut spec)?;
    let warmup_ns = spec.levels().next().map(|(_, level)| level.plan.phases.warmup_ns);
    spec.warmup_ns = warmup_ns.unwrap_or(0);
    Ok((spec, variants))
}

/// The description of the run. A continued recording keeps its description unless the flags give another one.
fn about(arguments: &Arguments) -> anyhow::Result<About> {
    let about = arguments.about.read()?;
    match arguments.record.folder() {
        Some(folder) if arguments.go_on && about.is_empty() => recording_findings::about(folder),
        _ => Ok(about),
    }
}

/// The levels of a continued recording, with their names.
fn already(arguments: &Arguments, spec: &RunSpec) -> anyhow::Result<(Option<EarlierLevels>, Names)> {
    let mut names = Names::default();
    let earlier = match arguments.record.to() {
        Some(to) if arguments.go_on => Some(earlier_levels(&to.folder, spec, to.sample(spec.seed), &mut names)?),
        _ => None,
    };
    Ok((earlier, names))
}

/// Finishes the table. All workers have returned their sinks, so this is the last reference.
fn finish(table: Table, file: OutputFile) -> anyhow::Result<()> {
    let table: TransactionsFile = Arc::into_inner(table)
        .and_then(|table| table.into_inner().ok())
        .context("the transactions table still has a writer; please report this bug")?;
    finish_table(table.finish(), file)
}
