//! The result of a run.

use serde::{Deserialize, Serialize};

use super::generator::Generator;
use super::plan::Plan;
use super::tally::{ClientTally, IterationTally};
use crate::simulated_client::silence::{Gap, TargetGaps, silences};

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineResult<S> {
    /// The sinks, in the order of the workers.
    pub sinks: Vec<S>,
    /// Every client, in order.
    pub clients: Vec<ClientTally>,
    /// Iterations by kind, as [`plimsoll_workload::scenario::Scenario::kind`] numbers them.
    pub iterations: Vec<IterationTally>,
    /// How well the load generator itself kept up.
    pub generator: Generator,
    /// Begin and end of the measured phase, ns since the Unix epoch. Equal where it was stopped before it began.
    pub measured: (i64, i64),
    /// Times without an answer that all workers share.
    pub gaps: Vec<Gap>,
    /// Times of 10 ms or more in the measured phase without any answer to an action, although a request was outstanding or due: from, to, ns since
    /// the Unix epoch, in their order.
    pub silences: Vec<(i64, i64)>,
    /// The same of each target, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetGaps>,
    /// The run was stopped early.
    pub stopped: bool,
}

impl<S> EngineResult<S> {
    /// The sinks, and the rest of the result.
    pub fn split(mut self) -> (Vec<S>, EngineResult<()>) {
        let sinks = std::mem::take(&mut self.sinks);
        let Self { clients, iterations, generator, measured, gaps, silences, targets, stopped, .. } = self;
        let none = Vec::new();
        (
            sinks,
            EngineResult { sinks: none, clients, iterations, generator, measured, gaps, silences, targets, stopped },
        )
    }

    /// The result of a plan before any worker has ended.
    pub(super) fn none(plan: &Plan) -> Self {
        let (asked_rate, no_cpu_idle) = (plan.asked_rate(), plan.no_cpu_idle);
        Self {
            sinks: Vec::new(),
            clients: Vec::new(),
            iterations: Vec::new(),
            generator: Generator { asked_rate, no_cpu_idle, ..Generator::default() },
            measured: (i64::MIN, i64::MIN),
            gaps: Vec::new(),
            silences: Vec::new(),
            targets: Vec::new(),
            stopped: false,
        }
    }

    pub(super) fn add(&mut self, clients: Vec<ClientTally>, iterations: &[IterationTally], generator: &Generator) {
        self.clients.extend(clients);
        add_iterations(&mut self.iterations, iterations);
        self.generator.add(generator);
    }

    pub(super) fn add_phase(&mut self, measured: (i64, i64), stopped: bool) {
        // Workers agree on both, unless nothing was measured.
        self.measured = (self.measured.0.max(measured.0), self.measured.1.max(measured.1));
        self.stopped |= stopped;
    }

    /// The result after the last worker has ended. `targets` has the gaps by target, if there are several.
    pub(super) fn settled(mut self, gaps: Vec<Gap>, targets: Vec<TargetGaps>) -> Self {
        self.silences = silences(&gaps);
        (self.gaps, self.targets) = (gaps, targets);
        self.measured.0 = self.measured.0.min(self.measured.1);
        self.clients.sort_by_key(|tally| tally.client_index);
        let seconds = (self.measured.1 - self.measured.0) as f64 / 1e9;
        let iterations: u64 = self.clients.iter().map(|tally| tally.iterations).sum();
        self.generator.achieved_rate = if seconds > 0.0 { iterations as f64 / seconds } else { 0.0 };
        self
    }
}

fn add_iterations(all: &mut Vec<IterationTally>, part: &[IterationTally]) {
    all.resize(all.len().max(part.len()), IterationTally::default());
    all.iter_mut().zip(part).for_each(|(all, part)| all.add(part));
}
