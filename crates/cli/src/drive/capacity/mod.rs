//! `plimsoll capacity`: the highest load that meets an objective.

use std::path::Path;
use std::sync::Arc;

use plimsoll_experiment::server_counters::CounterWatch;
use plimsoll_experiment::{
    Monitor, RunRecording, RunSpec, Runner, SearchOptions, absolute_workload, find_capacity, parse_objective, searching,
};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::capacity::CapacityOutcome;
use plimsoll_results::comparison::Condition;

use crate::drive::run::{LoadFlags, PartFlags, PhaseFlags, SetFlags, TargetFlags};
use crate::drive::server_side::ServerSideFlags;
use crate::exit::{Done, first_error};
use crate::flags::about::AboutFlags;
use crate::flags::live::WatchFlags;
use crate::flags::output::Output;
use crate::flags::record::RecordFlags;
use plimsoll_console::output_file::Files;

const EXAMPLES: &str = "Examples:
  plimsoll capacity mixed --target smb://user@server/share --hold \"p99 < 20ms\"
  plimsoll capacity home-folders --target smb://me@nas/x --users 1 --every 11s";

/// Finds the highest load at which a server meets a service-level objective. Doubles the load until the server misses
/// the objective, then bisects, and confirms both ends of the interval with alternating runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("part", |part| part.conflicts_with_all(["samba_conf", "ganesha_bus"])))]
pub(crate) struct Arguments {
    /// Workload: a name from `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    #[command(flatten)]
    parameters: SetFlags,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    #[command(flatten)]
    objectives: ObjectiveFlags,
    #[command(flatten)]
    bounds: BoundFlags,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    part: PartFlags,
    #[command(flatten)]
    phases: PhaseFlags,
    /// Delete the workload's files at the end, also after Ctrl-C [default: leave them for the next run]
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    watch: WatchFlags,
    #[command(flatten)]
    about: AboutFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    output: Output,
}

/// Service-level objectives, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Objective")]
struct ObjectiveFlags {
    /// Service-level objective, e.g. "p99 < 20ms", "read.mean < 5ms" or "bytes > 80MB/s"; may be repeated. A run also misses the
    /// objective if an operation fails, if an iteration is still running when the same user's next iteration is due (--users), or if
    /// an iteration never begins (--rate)
    #[arg(long, value_name = "CONDITION", value_parser = parse_objective)]
    hold: Vec<Condition>,
}

/// Where to search, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Search")]
struct BoundFlags {
    /// Load of the first run: number of clients, of users (with --users) or of iterations per second (with --rate) [default: 1
    /// client or user, 100 iterations per second]. `capacity` ignores the numbers given to --clients, --users and --rate
    #[arg(long, value_name = "LOAD")]
    start: Option<f64>,
    /// Upper limit of the search [default: 1000 clients or users, 1000000 iterations per second]. Before the search,
    /// Plimsoll prepares files for this number of clients or users
    #[arg(long, value_name = "LOAD")]
    most: Option<f64>,
    /// End the search when the interval that contains the capacity is at most this wide, as a percentage of its lower end
    #[arg(long, value_name = "PER_CENT", default_value_t = 2.0)]
    resolution: f64,
    /// Maximum number of runs
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    arguments.part.set_clock()?;
    let read = arguments.target.files().chain([Path::new(&arguments.workload)]).chain(arguments.about.files());
    let mut files = Files::reading(read.chain(arguments.server_side.samba_conf.as_deref()));
    files.fills("--record", arguments.record.folder())?;
    let output = arguments.output.open(&mut files)?;
    let about = arguments.about.read()?;
    let workload = arguments.parameters.workload(&arguments.workload)?;
    let (options, part) = (arguments.load.options(), arguments.part.options());
    let asked = (&options, workload.defaults());
    let BoundFlags { start, most, resolution, runs } = arguments.bounds;
    let bounds = SearchOptions { start, most, resolution, runs };
    let search = bounds.search(asked, &arguments.objectives.hold, &part)?;
    let resolved = arguments.target.choose(arguments.load.timeout)?;
    part.check(&resolved)?;
    let server_side = arguments.server_side.watch()?.map(Arc::new);
    let counters = arguments.server_side.counters(&resolved)?.map(CounterWatch::start).transpose()?;
    let shown = format!("{} on {}", workload.name(), resolved.shown);
    let printed = (arguments.output.quiet, output.prints());
    let terminal = arguments.watch.monitor(&shown, printed, server_side.as_ref())?;
    let terminal = terminal.and_file(arguments.part.progress_file()?);
    let monitor: &dyn Monitor = &terminal;
    let spec = RunSpec {
        target: resolved.shown.clone(),
        server: arguments.target.spec(),
        workload: absolute_workload(&arguments.workload)?,
        settings: arguments.parameters.settings().to_vec(),
        file_set: arguments.load.file_set.clone(),
        warmup_ns: search.most.plan.phases.warmup_ns,
        no_cpu_idle: arguments.load.no_cpu_idle,
        about,
        ..RunSpec::new(&workload, arguments.load.seed)
    };
    let spec = searching(spec, &search, &part, &workload)?;
    let phase_hook = arguments.phases.hook();
    let connect_options = arguments.target.connect_options();
    let recording = RunRecording::begin(arguments.record.to().as_ref(), &spec, &workload)?;
    let runner = Runner {
        recording: recording.as_ref(),
        file_set: arguments.load.file_set.as_deref(),
        remove_files: arguments.remove_files,
        server_side: server_side.as_deref(),
        counters: counters.as_ref(),
        live: terminal.feed(),
        phase_hook: phase_hook.as_ref(),
        ..Runner::new(&workload, monitor, options.timeout_ns())
    };
    let found = find_capacity(&runner, &resolved, &connect_options, (&spec, &search, part.level_gap));
    terminal.end_view();
    let recording = recording.map_or(Ok(()), |recording| recording.finish(monitor.stopped(), found.as_ref()));
    let (findings, besides) = match found {
        Ok(found) => found,
        Err(error) => return first_error([Err(error), recording]).map(|()| Done::Normally),
    };
    let done = ended(&findings, output.prints());
    first_error([output.write(&findings.into()), recording, besides])?;
    Ok(done)
}

/// Missing the objective at the lowest load is a failed condition; a search without a result has no verdict.
pub(super) fn ended(findings: &Findings, printed: bool) -> Done {
    let capacity = findings.run.as_ref().and_then(|run| run.capacity.as_deref());
    match capacity.filter(|capacity| capacity.outcome == CapacityOutcome::NoLoad) {
        Some(none) => Done::Failed(format!(
            "{}: {}",
            none.objectives.join(", "),
            none.why.as_deref().unwrap_or("not met at any load")
        )),
        None => Done::with(&findings.validity, printed),
    }
}
