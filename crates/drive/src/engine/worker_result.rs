//! The result of a worker.

use super::generator::{Generator, WorkerCpu};
use super::tally::{ClientTally, IterationTally};
use crate::simulated_client::silence::TargetGaps;

/// The result of a worker.
#[derive(Clone, Debug)]
pub(super) struct WorkerResult<S> {
    pub(super) sink: S,
    pub(super) tallies: Vec<ClientTally>,
    pub(super) iterations: Vec<IterationTally>,
    /// Its `workers`, `asked_rate` and `clock_granularity_ns` are not filled in.
    pub(super) generator: Generator,
    pub(super) cpu: WorkerCpu,
    /// Between its answers of the measured phase, by target.
    pub(super) gaps: Vec<TargetGaps>,
    pub(super) measured: (i64, i64),
    pub(super) stopped: bool,
}

/// The result of one worker so far (the checkpoints of [`run`](super::run)).
#[derive(Clone, Debug)]
pub struct Part(pub(super) WorkerResult<()>);
