//! What a report tells of a run.

use std::sync::Arc;

use plimsoll_model::Names;
use plimsoll_report::findings::calls::Calls;
use plimsoll_report::findings::capacity::Capacity;
use plimsoll_report::findings::{Findings, Run};
use plimsoll_results::cautions;
use plimsoll_workload::Workload;

use crate::level::LevelResult;
use crate::run_spec::RunSpec;

/// Everything that a report tells of a run.
pub struct RunResult<'a> {
    /// All that was asked for.
    pub spec: RunSpec,
    /// The clients' workload.
    pub workload: &'a Workload,
    /// The levels, in order.
    pub levels: Vec<LevelResult>,
    /// Names of the results.
    pub names: Arc<Names>,
    /// Facts negotiated with servers.
    pub facts: Vec<String>,
}

impl RunResult<'_> {
    /// As reports want it.
    pub fn findings(self) -> Findings {
        self.findings_of(None)
    }

    /// The same of a search for a capacity.
    pub fn findings_of(self, capacity: Option<Box<Capacity>>) -> Findings {
        self.findings_with(|run| Run { capacity, ..run })
    }

    /// The same with where the time of calls goes.
    pub fn findings_of_calls(self, calls: Calls) -> Findings {
        self.findings_with(|run| Run { calls: Some(Box::new(calls)), ..run })
    }

    fn findings_with(self, more: impl FnOnce(Run) -> Run) -> Findings {
        let levels: Vec<&LevelResult> = self.levels.iter().collect();
        findings_of((&self.spec, self.workload), &levels, &self.names, self.facts, more)
    }
}

/// The findings of these levels of a run of a workload.
pub(crate) fn findings_of(
    (spec, workload): (&RunSpec, &Workload),
    ran: &[&LevelResult],
    names: &Names,
    facts: Vec<String>,
    more: impl FnOnce(Run) -> Run,
) -> Findings {
    let threads = ran.iter().map(|level| level.recorded.threads).max().unwrap_or(0);
    let run = more(spec.run(workload, facts, threads));
    let levels: Vec<_> = ran.iter().map(|level| &level.recorded).collect();
    let mut findings = Findings::collect_run(run, &levels, names, spec.source(), plimsoll_client::status_name);
    findings.warnings.extend(levels.into_iter().flat_map(cautions));
    findings
}
