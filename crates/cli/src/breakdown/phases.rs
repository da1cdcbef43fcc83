//! The calls that are made again and again, each a workload of its own.

use std::time::Duration;

use plimsoll_client::local::Reading;
use plimsoll_drive::engine::Plan;
use plimsoll_model::Operation;
use plimsoll_workload::{Load, Pause, Phases};
use plimsoll_workload::{Parameter, Workload, size};

use crate::exit::Usage;
use plimsoll_experiment::{Chosen, LevelSpec};

/// How the loops are made, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Calls")]
pub(crate) struct LoopFlags {
    /// Calls of each kind that are measured, at least
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) calls: u32,
    /// Length of each measured phase; it is made longer where that is too short for --calls
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "2s")]
    duration: Duration,
    /// Load without measurement before each
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "1s")]
    warmup: Duration,
    /// Bytes that a call reads
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    block: String,
    /// Bytes of the files that are read: where the server's memory holds them, its cache answers
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    size: String,
    /// Blocks that are asked for at a time where a file is read ahead (on mounted directories the system decides that)
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=64))]
    ahead: u32,
    /// The directory for the same calls without a server: file:///path [default: a temporary one]
    #[arg(long, value_name = "URL")]
    pub(super) local: Option<String>,
    /// A command (of sh) that empties the server's cache; it is run before each phase that reads
    #[arg(long, value_name = "COMMAND")]
    pub(super) empty_caches: Option<String>,
    /// A request without an answer after so long is given up and counted
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    timeout: Duration,
    /// Everything random follows from it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
}

/// Files that random reads are spread over: as the workload has them.
const FILES: u64 = 8;

/// A call that is made again and again.
pub(super) struct Phase {
    /// The call in a word.
    pub(super) call: &'static str,
    /// What is counted as one.
    pub(super) operation: Operation,
    /// Calls outstanding at most.
    pub(super) outstanding: u32,
    /// How a mounted directory is read.
    pub(super) reading: Reading,
    /// What does it.
    pub(super) workload: Workload,
}

impl Phase {
    /// All phases on a target. There is no call for nothing but an answer where nobody answers.
    pub(super) fn on(chosen: &Chosen, flags: &LoopFlags) -> Result<Vec<Self>, Usage> {
        let connected = chosen.is_connected();
        let file = |size: u64| format!("{size}B");
        let block = || Parameter { name: "block".to_owned(), value: flags.block.clone() };
        let of_size = |bytes: u64| Parameter { name: "size".to_owned(), value: file(bytes) };
        let together = |ahead: u32| Parameter { name: "ahead".to_owned(), value: ahead.to_string() };
        let whole = size(&flags.size).ok_or_else(|| Usage(format!("--size {}: a size such as 128MiB", flags.size)))?;
        let ahead = if connected { flags.ahead } else { 1 };
        let random = Reading::UncachedAtRandom;
        let mut all = Vec::new();
        if connected {
            all.push(Self::of("null", ("null", &[]), Operation::Null, 1, random)?);
        }
        all.push(Self::of("getattr", ("getattr-open", &[]), Operation::GetAttributes, 1, random)?);
        let scattered = [block(), of_size(whole / FILES)];
        all.push(Self::of("random", ("random-read", &scattered), Operation::Read, 1, random)?);
        for (call, lanes, reading) in [("sequential", 1, random), ("ahead", ahead, Reading::UncachedInOrder)] {
            let settings = [block(), of_size(whole), together(lanes)];
            all.push(Self::of(call, ("sequential-read", &settings), Operation::Read, lanes, reading)?);
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

impl LoopFlags {
    /// Refuses what cannot work.
    pub(super) fn check(&self) -> Result<(), Usage> {
        let bytes = |flag: &str, text: &str| {
            let wrong = || Usage(format!("--{flag} {text}: a size such as 4KiB or 128MiB"));
            size(text).filter(|&bytes| bytes > 0).ok_or_else(wrong)
        };
        let (block, whole) = (bytes("block", &self.block)?, bytes("size", &self.size)?);
        let least = block.saturating_mul(FILES.max(self.ahead.into()));
        if whole < least {
            return Err(Usage(format!(
                "--size {}: at least {least} bytes, so that there is a block in each of {FILES} files, and one for each that \
                 is asked for at a time",
                self.size
            )));
        }
        if self.duration.is_zero() {
            return Err(Usage("--duration must be above 0s".to_owned()));
        }
        Ok(())
    }

    /// Length of the load before each phase, ns.
    pub(super) fn warmup_ns(&self) -> u64 {
        nanoseconds(self.warmup)
    }

    /// When a request without an answer is given up, ns.
    pub(super) fn timeout_ns(&self) -> u64 {
        nanoseconds(self.timeout)
    }

    /// What may be chosen of the calls, by name.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&str, &String)> {
        [("block", &self.block), ("size", &self.size)].into_iter()
    }

    /// A phase as a stage of this number.
    pub(super) fn step(&self, phase: &Phase, number: u32, local: bool) -> LevelSpec {
        let load = Load::Closed { stations: 1, think: Pause::None };
        let (warmup_ns, measured_ns) = (self.warmup_ns(), Some(nanoseconds(self.duration)));
        let phases = Phases { warmup_ns, measured_ns, ..Phases::default() };
        let (lanes, timeout_ns, stage) = (phase.outstanding, self.timeout_ns(), Some(number));
        let plan = Plan { lanes, phases, timeout_ns, threads: 1, seed: self.seed, stage, ..Plan::new(load) };
        let words = format!("{}{}", phase.call, if local { ", local" } else { "" });
        // No two phases are points of one load curve.
        LevelSpec { plan, curve: Some(words.clone()), words, parameter: None }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
