//! `plimsoll breakdown`: where the time of a call goes.
//!
//! | file | what it does |
//! | --- | --- |
//! | `phases.rs` | which calls are made again and again, by which workloads |
//! | `place.rs` | on the target and in a local directory: reaching, and running every phase |
//! | `told.rs` | what was measured becomes the parts of a call |

mod captured;
mod phases;
mod place;
mod told;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_model::Names;
use plimsoll_report::findings::calls::Calls;
use plimsoll_report::findings::{Findings, Parameter};
use plimsoll_workload::Workload;

use crate::exit::{Done, first_error};
use crate::output::Output;
use crate::output_file::Files;
use crate::run::{AuthFlags, TARGETS, TargetFlags, Terminal, WishFlags};
use crate::server_side::ServerSideFlags;
use phases::{LoopFlags, Phase};
use place::{Local, Place, ServersCpu};
use plimsoll_experiment::breakdown::counters::Counters;
use plimsoll_experiment::breakdown::{ganesha, requests, samba};
use plimsoll_experiment::{Beginning, Chosen, LevelResult, Told, Watching};

/// Makes the same call again and again, on a server and in a local directory, and says where its time goes: client,
/// network, server, disk; what of that was measured, and what follows from it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[arg(value_name = "TARGET", help = TARGETS)]
    target: String,
    /// The password's file (else the environment's PLIMSOLL_PASSWORD, else the target's own)
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    wishes: WishFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    /// Show what Samba counted, too: its smb.conf, with `smbd profiling level = on` (or count) in it
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    samba_conf: Option<PathBuf>,
    /// The same of Ganesha: its D-Bus, `system` or an address (unix:path=/run/bus), with Enable_NFS_Stats and
    /// Enable_FULLV3_Stats in its NFS_CORE_PARAM
    #[arg(long, value_name = "BUS", help_heading = "Server", conflicts_with = "samba_conf")]
    ganesha_bus: Option<String>,
    /// Of a mounted directory: a capture of its client's connection that is being written meanwhile (tcpdump -U -w FILE), to
    /// count the requests that a call takes
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    loops: LoopFlags,
    /// Remove the files from the server afterwards, after Ctrl-C too; they are kept for the next time else
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    output: Output,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let inputs = arguments.capture.iter().chain(&arguments.samba_conf).chain(&arguments.password_file);
    let output = arguments.output.open(&mut Files::reading(inputs.map(PathBuf::as_path)))?;
    arguments.loops.check()?;
    let Arguments { target, password_file, auth, wishes, .. } = &arguments;
    let flags = TargetFlags::new(target.clone(), password_file.clone(), auth.clone(), wishes.clone());
    let chosen = flags.choose()?;
    let local = Local::of(&arguments.loops)?;
    let phases = [Phase::on(&chosen, &arguments.loops)?, Phase::on(&local.chosen, &arguments.loops)?];
    // The report is called after one of them, and then after all.
    let workload = Workload::find("getattr-open")?;
    let terminal = Terminal::new(arguments.output.quiet);
    let watching: &dyn Watching = &terminal;
    let servers_cpu = ServersCpu::of(&chosen, &arguments.server_side);
    let watches =
        [servers_cpu.watch(&arguments.server_side)?, ServerSideFlags::of_process(std::process::id()).watch()?];
    let before = arguments.counted()?;
    let mut names = Names::default();
    let wishes = flags.wishes(arguments.loops.seed ^ u64::from(std::process::id()) << 32);
    let mut places = Vec::new();
    for ((chosen, phases), watch) in [&chosen, &local.chosen].into_iter().zip(&phases).zip(&watches) {
        let before: usize = places.iter().map(Place::phases).sum();
        let part = (watch.as_ref(), before, before > 0);
        places.push(Place::reach(chosen, phases, (&wishes, watching), part, &mut names, &arguments)?);
    }
    let names = Arc::new(names);
    let mut whole =
        Whole { arguments: &arguments, servers_cpu, levels: Vec::new(), calls: Calls::default(), facts: Vec::new() };
    let mut besides = Vec::new();
    for place in &places {
        let added = whole.add(place, &names);
        let over = added.is_err() || watching.stopped();
        besides.push(added);
        if over {
            break;
        }
    }
    if whole.levels.is_empty() {
        first_error(besides)?;
        anyhow::bail!("stopped before the first phase was over: there is nothing to report");
    }
    if !watching.stopped() {
        whole.requests(&chosen, places.first());
    }
    whole.counters(before);
    let findings = whole.findings(&workload, &phases[0], &chosen, names);
    let printed = output.prints();
    first_error([output.write(&findings)].into_iter().chain(besides))?;
    Ok(Done::with(&findings.validity, printed))
}

impl Arguments {
    /// What the server has counted so far, where it is to be asked.
    fn counted(&self) -> anyhow::Result<Option<Counters>> {
        match (&self.samba_conf, &self.ganesha_bus) {
            (Some(configuration), _) => samba::settled(configuration).map(Some),
            (None, Some(bus)) => ganesha::read(bus).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Everything that was measured so far.
struct Whole<'a> {
    arguments: &'a Arguments,
    servers_cpu: ServersCpu,
    levels: Vec<LevelResult>,
    calls: Calls,
    facts: Vec<String>,
}

impl Whole<'_> {
    /// Runs the phases of a place. Where one fails, those before it count.
    fn add(&mut self, place: &Place<'_>, names: &Arc<Names>) -> anyhow::Result<()> {
        let ran = place.run(&self.arguments.loops, names);
        for (phase, level) in ran.levels {
            let seen = told::Seen {
                phase,
                ran: &level,
                stage: self.levels.len() as u64,
                local: place.is_local(),
                connected: place.is_connected(),
                servers_cpu: &self.servers_cpu,
            };
            self.calls.phases.push(seen.told());
            self.levels.push(level);
        }
        self.facts.extend(ran.facts);
        self.calls.beside_local = told::beside_local(&self.calls.phases);
        ran.besides
    }

    /// Counts the requests of calls by the depth of their paths; what stands in the way is told.
    fn requests(&mut self, chosen: &Chosen, place: Option<&Place<'_>>) {
        let counted = match (place.and_then(Place::server), &chosen.target, &self.arguments.capture) {
            (Some(server), target, _) => {
                let timeout = Duration::from_nanos(self.arguments.loops.timeout_ns());
                requests::count((server, timeout), target)
            }
            (None, Target::Path(directory), Some(capture)) => captured::count(directory, capture),
            _ => Err(anyhow::anyhow!(
                "a mounted directory's are its client's own: capture its connection meanwhile (tcpdump -U -w FILE) and say \
                 --capture FILE"
            )),
        };
        match counted {
            Ok(counted) => self.calls.requests = counted,
            Err(why) => self.calls.missing.push(format!("requests by the depth of a path: {why:#}")),
        }
    }

    /// What the server has counted since `before`.
    fn counters(&mut self, before: Option<Counters>) {
        match self.arguments.counted() {
            Ok(after) => {
                let both = after.zip(before);
                self.calls.counters = both.map_or_else(Vec::new, |(after, before)| after.since(&before));
            }
            Err(why) => self.calls.missing.push(format!("the server's own counters: {why:#}")),
        }
    }

    fn findings(self, workload: &Workload, phases: &[Phase], chosen: &Chosen, names: Arc<Names>) -> Findings {
        let Self { arguments, levels, calls, facts, .. } = self;
        let warmup_ns = arguments.loops.warmup_ns();
        let several = |of: fn(&Phase) -> &str| {
            let mut all: Vec<&str> = phases.iter().map(of).collect();
            all.dedup();
            all
        };
        let (workloads, digests) = (several(|phase| phase.workload.name()), several(|phase| phase.workload.digest()));
        let beginning = Beginning {
            target: chosen.shown.clone(),
            warmup_ns,
            parameters: Vec::new(),
            ..Beginning::new(workload, arguments.loops.seed)
        };
        let told = Told { beginning, levels, names, facts };
        let mut findings = told.findings_of_calls(calls);
        if let Some(run) = &mut findings.run {
            run.workload = workloads.join(", ");
            "one call again and again, a phase each, and where its time goes".clone_into(&mut run.description);
            run.workload_sha256 = digests.join(" ");
            let parameter = |(name, value): (&str, &String)| Parameter {
                name: name.to_owned(),
                value: value.clone(),
                bytes: plimsoll_workload::size(value),
            };
            run.parameters = arguments.loops.parameters().map(parameter).collect();
        }
        findings
    }
}
