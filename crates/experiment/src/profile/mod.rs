//! Processor time by function, on both sides: samples that `perf` takes while calls are made.
//!
//! | file | what it does |
//! | --- | --- |
//! | `perf.rs` | finds `perf`, starts and ends it, and runs `perf script` on its samples |
//! | `script.rs` | the output of `perf script`: samples with their stacks |
//! | `folded.rs` | samples of the measured phases, by function and by stack |
//! | `kinds.rs` | the kind of work in a sample |

mod folded;
mod kinds;
mod perf;
mod script;

use anyhow::Context as _;
use plimsoll_report::findings::profile::Profile;

use crate::resolved_target::ResolvedTarget;
use crate::server_side::{ServerMetrics, tree};
use folded::Folded;
use perf::Recording;
use script::Samples;

/// Samples per second of processor time. Not a multiple of the frequency of timers, which would hide or exaggerate work that they start.
const HZ: u32 = 499;

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
        let mut processes = server.map(tree).transpose()?.unwrap_or_default();
        processes.insert(std::process::id());
        let recording = Recording::start(&processes, HZ).context("--profile")?;
        Ok(Self { recording, server, embedded: resolved.is_embedded() })
    }

    /// Takes no more samples.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        self.recording.stop()
    }

    /// The samples of some phases, by side, and sentences about what is missing of them.
    pub(crate) fn read(&self, spans: &[Span]) -> anyhow::Result<(Vec<Profile>, Vec<String>)> {
        let own = std::process::id();
        // A process that the server started later is also the server's. Of this process, nothing else runs in a measured phase.
        let side = |process| match process == own {
            true => Some(0),
            false => self.server.map(|_| 1),
        };
        let mut folded = [Folded::new(spans), Folded::new(spans)];
        let (lost, skipped) = self.recording.script(|output| {
            let mut samples = Samples::new(output);
            while let Some(sample) = samples.next()? {
                if let Some(side) = side(sample.process).and_then(|side| folded.get_mut(side)) {
                    side.add(&sample);
                }
            }
            Ok(samples.skipped())
        })?;
        let [client, server] = folded;
        let mut missing = Vec::new();
        missing.extend(lost.map(|words| format!("samples of the profile: perf script: {words}")));
        if skipped > 0 {
            missing
                .push(format!("samples of the profile: {skipped} lines of perf script's output have an unknown form"));
        }
        let mut profiles = Vec::new();
        let name = if self.embedded { "client and server" } else { "client" };
        if let Some(pid) = self.server {
            let processes = format!("process {pid} and its children");
            profiles.push(server.profile("server", &processes, HZ, &mut missing));
        } else if !self.embedded {
            let why = "profile of the server: its process is unknown; give --server-pid PID if the server runs on this machine";
            missing.push(why.to_owned());
        }
        profiles.push(client.profile(name, &format!("process {own} (plimsoll)"), HZ, &mut missing));
        Ok((profiles, missing))
    }
}
