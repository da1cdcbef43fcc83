//! The repeated calls, one workload each.

use plimsoll_client::local::Reading;
use plimsoll_drive::engine::Plan;
use plimsoll_model::Operation;
use plimsoll_workload::{Load, Pause, Phases};
use plimsoll_workload::{Parameter, Workload, size};

use crate::level_spec::LevelSpec;
use crate::resolved_target::ResolvedTarget;
use plimsoll_results::Usage;

/// How calls are made.
#[derive(Clone, Debug)]
pub struct CallSpec {
    /// Calls of each kind that are measured, at least.
    pub calls: u32,
    /// Length of each measured phase, ns; it is made longer where that is too short for `calls`.
    pub measured_ns: u64,
    /// Load before each, which is not measured, ns.
    pub warmup_ns: u64,
    /// Bytes that a call reads, as they were written.
    pub block: String,
    /// Bytes of the files that are read, as they were written.
    pub size: String,
    /// Blocks outstanding where a file is read ahead.
    pub ahead: u32,
    /// A command (of sh) that empties the server's cache before each phase that reads.
    pub empty_caches: Option<String>,
    /// Timeout of a request, ns.
    pub timeout_ns: u64,
    /// Everything random follows from it.
    pub seed: u64,
}

/// Files that random reads are spread over: as the workload has them.
const FILES: u64 = 8;

/// A call that is made again and again.
pub(super) struct Phase {
    /// The call in a word.
    pub(super) call: &'static str,
    /// The operation that counts as one call.
    pub(super) operation: Operation,
    /// Calls outstanding at most.
    pub(super) outstanding: u32,
    /// How a mounted directory is read.
    pub(super) reading: Reading,
    /// The workload that performs it.
    pub(super) workload: Workload,
}

impl Phase {
    /// All phases on a target. A call that only requests an answer is left out on targets without a server.
    pub(super) fn on(resolved: &ResolvedTarget, spec: &CallSpec) -> Result<Vec<Self>, Usage> {
        let connected = resolved.is_connected();
        let file = |size: u64| format!("{size}B");
        let block = || Parameter { name: "block".to_owned(), value: spec.block.clone() };
        let of_size = |bytes: u64| Parameter { name: "size".to_owned(), value: file(bytes) };
        let together = |ahead: u32| Parameter { name: "ahead".to_owned(), value: ahead.to_string() };
        let whole =
            size(&spec.size).ok_or_else(|| Usage(format!("--size {}: expected a size such as 128MiB", spec.size)))?;
        let ahead = if connected { spec.ahead } else { 1 };
        let random = Reading::UncachedAtRandom;
        let mut all = Vec::new();
        if connected {
            all.push(Self::of("null", ("null", &[]), Operation::Null, 1, random)?);
        }
        all.push(Self::of("getattr", ("getattr-open", &[]), Operation::GetAttributes, 1, random)?);
        let scattered = [block(), of_size(whole / FILES)];
        all.push(Self::of("random", ("random-read", &scattered), Operation::Read, 1, random)?);
        for (call, depth, reading) in [("sequential", 1, random), ("ahead", ahead, Reading::UncachedInOrder)] {
            let settings = [block(), of_size(whole), together(depth)];
            all.push(Self::of(call, ("sequential-read", &settings), Operation::Read, depth, reading)?);
        }
        Ok(all)
    }

    fn of(
        call: &'static str,
        (name, settings): (&str, &[Parameter]),
        operation: Operation,
        outstanding: u32,
        reading: Reading,
    ) -> Result<Self, Usage> {
        let workload = Workload::find_with(name, settings).map_err(|error| Usage(error.to_string()))?;
        Ok(Self { call, operation, outstanding, reading, workload })
    }

    /// Whether it reads data.
    pub(super) fn reads(&self) -> bool {
        self.operation == Operation::Read
    }
}

impl CallSpec {
    /// Refuses what cannot work.
    ///
    /// # Errors
    /// A size is none, too few blocks fit into the files, or the measured phase has no length.
    pub fn check(&self) -> Result<(), Usage> {
        let bytes = |flag: &str, text: &str| {
            let wrong = || Usage(format!("--{flag} {text}: expected a size such as 4KiB or 128MiB"));
            size(text).filter(|&bytes| bytes > 0).ok_or_else(wrong)
        };
        let (block, whole) = (bytes("block", &self.block)?, bytes("size", &self.size)?);
        let least = block.saturating_mul(FILES.max(self.ahead.into()));
        if whole < least {
            return Err(Usage(format!(
                "--size {}: expected at least {least} bytes (--block × {FILES} files, or --block × --ahead if that is more)",
                self.size
            )));
        }
        if self.measured_ns == 0 {
            return Err(Usage("--duration 0s: expected more than 0s".to_owned()));
        }
        Ok(())
    }

    /// The parameters of the calls, by name.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&str, &String)> {
        [("block", &self.block), ("size", &self.size)].into_iter()
    }

    pub(super) fn level(&self, phase: &Phase, number: u32, local: bool) -> LevelSpec {
        let load = Load::Closed { clients: 1, think: Pause::None };
        let (warmup_ns, measured_ns) = (self.warmup_ns, Some(self.measured_ns));
        let phases = Phases { warmup_ns, measured_ns, ..Phases::default() };
        let (depth, timeout_ns) = (phase.outstanding, self.timeout_ns);
        let plan = Plan { depth, phases, timeout_ns, threads: 1, seed: self.seed, level: number, ..Plan::new(load) };
        let load_name = format!("{}{}", phase.call, if local { ", local" } else { "" });
        // No two phases are points of one load curve.
        LevelSpec { plan, curve: Some(load_name.clone()), load_name, parameter: None, share: None }
    }
}
