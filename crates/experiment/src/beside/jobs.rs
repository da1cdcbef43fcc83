//! Levels that run at the same time, a thread each.

use std::time::Duration;

use plimsoll_drive::connect::Work;
use plimsoll_drive::engine::{EngineError, Watch};

use crate::level::{self, LevelResult};
use crate::level_spec::LevelSpec;
use crate::sink::SinkOptions;

/// Interval between checks whether all should end.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A level that is ready to run.
pub(super) struct Job<'a> {
    pub(super) level_spec: &'a LevelSpec,
    pub(super) work: &'a Work<'a>,
    pub(super) options: SinkOptions<'a>,
}

impl Job<'_> {
    fn run(&self, watch: &Watch) -> Result<LevelResult, EngineError> {
        let LevelSpec { plan, load_name, .. } = self.level_spec;
        let ran = level::run(plan, load_name, self.work, self.options, watch);
        // Where it did not come, the others do not wait for it.
        if let Some(rendezvous) = &plan.rendezvous {
            rendezvous.leave();
        }
        ran
    }
}

/// Runs all at the same time; who looks at `watch` sees the first, and ends all.
pub(super) fn at_once(jobs: &[Job<'_>], watch: &Watch) -> Vec<Result<LevelResult, EngineError>> {
    let others: Vec<Watch> = jobs.iter().skip(1).map(|_| Watch::new()).collect();
    std::thread::scope(|scope| {
        let watches = std::iter::once(watch).chain(&others);
        let running: Vec<_> = jobs.iter().zip(watches).map(|(job, its)| scope.spawn(move || job.run(its))).collect();
        // The first may end long before the others, and the others may hang at their end.
        while running.iter().any(|thread| !thread.is_finished()) {
            others.iter().for_each(|other| end_with(watch, other));
            std::thread::sleep(CHECK_INTERVAL);
        }
        let ended = running.into_iter().map(|thread| match thread.join() {
            Ok(ran) => ran,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// Ends the run of `other` in the way in which that of `watch` should end.
fn end_with(watch: &Watch, other: &Watch) {
    match (watch.stopped(), watch.abandoned()) {
        (_, true) => other.abandon(),
        (true, false) => other.stop(),
        (false, false) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_client::target::Target;
    use plimsoll_drive::connect::{ConnectOptions, open};
    use plimsoll_drive::engine::Plan;
    use plimsoll_model::Names;
    use plimsoll_testkit::servers::scripted::{Latency, Script, Scripted};
    use plimsoll_workload::{FileSet, Load, Pause, Phases, Workload};

    use super::*;

    fn level_spec(clients: u32) -> LevelSpec {
        let phases = Phases { warmup_ns: 0, measured_ns: Some(60_000_000_000), ..Phases::default() };
        let plan = Plan { phases, threads: 1, ..Plan::new(Load::Closed { clients, think: Pause::None }) };
        LevelSpec { plan, load_name: format!("{clients} clients"), curve: None, parameter: None, share: None }
    }

    /// The first has no client and fails at once. The other one has a minute to go.
    #[test]
    fn a_stop_reaches_the_others_when_the_first_has_ended() {
        let workload = Workload::find("random-read").unwrap();
        let scripted = Scripted::start(Script::parallel(Latency::Constant(Duration::from_millis(1)))).unwrap();
        let (address, mut names) = (scripted.address(), Names::default());
        let url = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
        let server = open(&Target::parse(&url).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
        let set = Arc::new(FileSet::new(&workload, "", 1, &mut names).unwrap());
        let scenarios = Box::new(|client, slot, seed| workload.scenario(&set, client, slot, seed));
        let work = Work { server: &*server, scenarios, names: Arc::new(names) };
        let options = SinkOptions { table: None, recording: None, with_intervals: false, live: None, by: None };
        let level_specs = [level_spec(0), level_spec(1)];
        let jobs: Vec<Job<'_>> =
            level_specs.iter().map(|level_spec| Job { level_spec, work: &work, options }).collect();
        let watch = Watch::new();
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                watch.stop();
            });
            at_once(&jobs, &watch)
        });
        assert!(ran[0].is_err(), "a level without clients");
        assert!(!ran[1].as_ref().unwrap().complete(), "it was stopped");
    }
}
