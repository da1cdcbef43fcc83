//! Levels that run at the same time, a thread each.

use plimsoll_drive::connect::Work;
use plimsoll_drive::engine::{EngineError, Watch};

use crate::level::{self, LevelResult};
use crate::level_spec::LevelSpec;
use crate::sink::SinkOptions;

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
    let Some((first, others)) = jobs.split_first() else { return Vec::new() };
    let watches: Vec<Watch> = others.iter().map(|_| Watch::new()).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = others.iter().zip(&watches).map(|(job, own)| scope.spawn(move || job.run(own))).collect();
        let mut ran = vec![first.run(watch)];
        for own in &watches {
            match (watch.stopped(), watch.abandoned()) {
                (_, true) => own.abandon(),
                (true, false) => own.stop(),
                (false, false) => {}
            }
        }
        ran.extend(running.into_iter().map(|thread| match thread.join() {
            Ok(ran) => ran,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        ran
    })
}
