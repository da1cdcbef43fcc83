//! The runs of `plimsoll demo`: a workload against both embedded servers.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::{Embedded, Target};
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_drive::engine::Plan;
use plimsoll_model::Names;
use plimsoll_report::findings::Findings;
use plimsoll_workload::{Load, Pause, Phases, Workload, nanoseconds};

use crate::level_spec::LevelSpec;
use crate::monitor::Monitor;
use crate::resolved_target::ResolvedTarget;
use crate::run_result::RunResult;
use crate::run_spec::RunSpec;
use crate::runner::{IntervalMode, Runner};

/// Load levels, clients. Few enough, with the pause between iterations, for a laptop that is client and server at once.
const LEVELS: [u32; 3] = [1, 4, 16];
/// Mean pause of a client between iterations.
const THINK: Duration = Duration::from_millis(10);
/// Unmeasured and measured part of each level.
const PHASES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3));
/// Seed of the random number generator.
const SEED: u64 = 1;

/// Drives both servers with the workload `mixed`.
///
/// # Errors
/// A server or a level fails.
pub fn demo(monitor: &dyn Monitor) -> anyhow::Result<Findings> {
    let workload = Workload::find("mixed")?;
    let timeout_ns = Plan::new(Load::Closed { clients: 1, think: Pause::None }).timeout_ns;
    let runner = Runner { interval_mode: IntervalMode::Transient, ..Runner::new(&workload, monitor, timeout_ns) };
    Ok(drive_both(&runner)?.findings())
}

fn drive_both<'a>(runner: &Runner<'a>) -> anyhow::Result<RunResult<'a>> {
    let mut names = Names::default();
    let mut prepared_targets = Vec::new();
    for (which, name) in [(Embedded::Smb, "SMB"), (Embedded::NFS, "NFS")] {
        let resolved = ResolvedTarget::start(Target::Embedded(which))?;
        let level_specs = level_specs(name, prepared_targets.len());
        let prepared = runner.reach(&resolved, &ConnectOptions::default(), &level_specs, &mut names)?;
        prepared_targets.push((resolved, prepared, level_specs));
    }
    let names = Arc::new(names);
    let (mut levels, mut facts) = (Vec::new(), Vec::new());
    for (resolved, prepared, level_specs) in prepared_targets {
        let ran = runner.levels(&prepared, &names, level_specs)?;
        facts.extend(ran.facts());
        levels.extend(ran.ran);
        facts.extend(prepared.server.facts());
        drop(resolved);
    }
    let target = "an in-memory SMB server and an in-memory NFS server in this process".to_owned();
    let warmup_ns = nanoseconds(PHASES.0);
    let spec = RunSpec { target, warmup_ns, ..RunSpec::new(runner.workload, SEED) };
    Ok(RunResult { spec, workload: runner.workload, levels, names, facts })
}

/// The levels of one server, the `place`th one.
fn level_specs(name: &str, place: usize) -> Vec<LevelSpec> {
    let first = u32::try_from(place * LEVELS.len()).unwrap_or(0);
    let level_spec = |(number, clients): (u32, u32)| {
        let load = Load::Closed { clients, think: Pause::Exponential(nanoseconds(THINK)) };
        let (warmup_ns, measured_ns) = (nanoseconds(PHASES.0), Some(nanoseconds(PHASES.1)));
        let phases = Phases { warmup_ns, measured_ns, ..Phases::default() };
        let plan = Plan { phases, seed: SEED, level: first + number, ..Plan::new(load) };
        let load_name = format!("{name}, {clients} client{}", if clients == 1 { "" } else { "s" });
        LevelSpec { plan, load_name, curve: Some(name.to_owned()), parameter: None, share: None }
    };
    (0..).zip(LEVELS).map(level_spec).collect()
}
