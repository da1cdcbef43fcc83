//! Processor time by function, on both sides: samples that `perf` takes while calls are made.
//!
//! | file | what it does |
//! | --- | --- |
//! | `perf.rs` | finds `perf`, starts and ends it, and runs `perf script` on its samples |
//! | `heads.rs` | which samples perf took, without names of functions |
//! | `script.rs` | the output of `perf script`: samples with their stacks |
//! | `folded.rs` | samples of the measured phases, by function and by stack |
//! | `kinds.rs` | the kind of work in a sample |
//!
//! In `report`, `text/profile.rs` has the tables and `html/profile.rs` the flame graph (docs/decisions/0040-profiles.md).

mod folded;
mod heads;
mod kinds;
mod perf;
mod script;

use std::collections::BTreeSet;

use anyhow::Context as _;
use plimsoll_report::findings::profile::Profile;

use crate::resolved_target::ResolvedTarget;
use crate::server_side::{ServerMetrics, tree};
use folded::Folded;
use heads::Heads;
use perf::Recording;
use script::{Sample, Samples};

/// Samples per second of processor time. Not a multiple of the frequency of timers, which would hide or exaggerate work that they start.
const HZ: u32 = 499;
/// Attempts to begin while processes of the server end.
const ATTEMPTS: u32 = 8;

/// A phase whose samples are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// The call in words.
    pub(crate) call: String,
    /// When its measured phase began and ended, ns since the Unix epoch.
    pub(crate) span_ns: (i64, i64),
}

/// Records samples of a server's processes and of this one.
pub(crate) struct Profiler {
    recording: Recording,
    /// The server's process.
    server: Option<u32>,
    /// The server is in this process.
    embedded: bool,
}

impl Profiler {
    /// Begins to take samples. Returns when perf has begun.
    ///
    /// # Errors
    /// There is no perf on this machine, it may not look at a process, or the server's process is not there.
    pub(crate) fn start(resolved: &ResolvedTarget, metrics: Option<&ServerMetrics>) -> anyhow::Result<Self> {
        let server = match metrics {
            Some(ServerMetrics::Process(pid)) => Some(*pid),
            _ => None,
        };
        let processes = || -> anyhow::Result<BTreeSet<u32>> {
            let mut processes = server.map(tree).transpose()?.unwrap_or_default();
            processes.insert(std::process::id());
            Ok(processes)
        };
        let recording = attach(processes, |processes| Recording::start(processes, HZ)).context("--profile")?;
        Ok(Self { recording, server, embedded: resolved.is_embedded() })
    }

    /// The rate in words.
    pub(crate) fn rate() -> String {
        format!("{HZ} samples per second of CPU time")
    }

    /// Takes no more samples. Returns sentences about samples that are missing.
    pub(crate) fn stop(&mut self) -> anyhow::Result<Vec<String>> {
        self.recording.stop()
    }

    /// The samples of some phases, by side, and sentences about what is missing of them.
    pub(crate) fn read(&self, spans: &[Span]) -> anyhow::Result<(Vec<Profile>, Vec<String>)> {
        let own = std::process::id();
        // A process that the server started later is also the server's. Without a server in this process, its other threads, which show
        // progress and read counters, are not the client.
        let side = |sample: &Sample| match sample.head.process == own {
            true => (self.embedded || sample.is_load).then_some(0),
            false => self.server.map(|_| 1),
        };
        let mut folded = [Folded::new(spans), Folded::new(spans)];
        let (_, mut heads) = self.recording.script(heads::FIELDS, |output| Ok(Heads::read(output)?))?;
        let (lost, skipped) = self.recording.script(script::FIELDS, |output| {
            let mut samples = Samples::new(output, &mut heads);
            while let Some(sample) = samples.next()? {
                if let Some(side) = side(&sample).and_then(|side| folded.get_mut(side)) {
                    side.add(&sample);
                }
            }
            Ok(samples.skipped())
        })?;
        let [client, server] = folded;
        let mut missing = Vec::new();
        missing.extend(lost.map(|words| format!("profile: perf script reports {words}")));
        if skipped > 0 {
            missing.push(format!(
                "profile: {skipped} lines of perf script's output were left out, because their format is unknown"
            ));
        }
        if heads.left() > 0 {
            missing.push(format!("profile: {} samples without a stack were left out", heads.left()));
        }
        let mut profiles = Vec::new();
        let (name, threads) = if self.embedded { ("client and server", "") } else { ("client", "load threads of ") };
        if let Some(pid) = self.server {
            let processes = format!("process {pid} and its children");
            profiles.push(server.profile("server", &processes, HZ, &mut missing));
        } else if !self.embedded {
            let why = "profile of the server: its process is unknown; give --server-pid PID if the server runs on this machine";
            missing.push(why.to_owned());
        }
        profiles.push(client.profile(name, &format!("{threads}process {own} (plimsoll)"), HZ, &mut missing));
        Ok((profiles, missing))
    }
}

/// Begins to sample some processes, which may end meanwhile: then perf refuses all of them.
fn attach<T>(
    processes: impl Fn() -> anyhow::Result<BTreeSet<u32>>,
    start: impl Fn(&BTreeSet<u32>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut attempt = 1;
    loop {
        let before = processes()?;
        match start(&before) {
            Err(error) if attempt == ATTEMPTS || before.is_subset(&processes()?) => return Err(error),
            Err(_) => attempt += 1,
            started => return started,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Sampling of processes of which `ending` end one by one: the result, and the number of attempts.
    fn attached(ending: u32, allowed: bool) -> (anyhow::Result<usize>, u32) {
        let attempts = Cell::new(0);
        let processes = || Ok((attempts.get()..ending).chain([1000]).collect());
        let start = |processes: &BTreeSet<u32>| {
            attempts.set(attempts.get() + 1);
            anyhow::ensure!(allowed && attempts.get() > ending, "refused");
            Ok(processes.len())
        };
        (attach(processes, start), attempts.get())
    }

    #[test]
    fn a_process_that_ends_meanwhile_is_left_out() {
        let (started, attempts) = attached(2, true);
        assert_eq!((started.unwrap(), attempts), (1, 3));
        let (refused, attempts) = attached(0, false);
        assert_eq!((refused.unwrap_err().to_string(), attempts), ("refused".to_owned(), 1));
        assert_eq!(attached(1000, true).1, ATTEMPTS);
    }
}
