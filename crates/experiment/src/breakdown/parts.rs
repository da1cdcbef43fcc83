//! Computes the parts of a call from the measurements of its phase, each with its source.

use plimsoll_report::collect::times_of;
use plimsoll_report::findings::ServerSide;
use plimsoll_report::findings::calls::{CallPart, CallPhase, LocalCall};
use plimsoll_stats::Accumulator;
use plimsoll_stats::parts::{CallTimes, Known, Missing, Part, PartEstimate, parts};

use super::calls::Phase;
use super::place::ServerCpuSource;
use crate::level::LevelResult;

/// A phase that was run.
pub(super) struct MeasuredPhase<'a> {
    pub(super) phase: &'a Phase,
    pub(super) ran: &'a LevelResult,
    /// Its number among all levels.
    pub(super) level: u64,
    /// In the local directory.
    pub(super) local: bool,
    /// Whether a Plimsoll client made the calls over its own connections; otherwise through the operating system.
    pub(super) connected: bool,
    pub(super) server_cpu_source: &'a ServerCpuSource,
}

/// The value of a part with its source, or the reason why it is unknown.
struct Source {
    known: Known,
    why: String,
}

impl Source {
    fn measured(seconds: f64, why: impl Into<String>) -> Self {
        Self { known: Known::Measured(seconds), why: why.into() }
    }

    fn inferred(seconds: f64, why: impl Into<String>) -> Self {
        Self { known: Known::Inferred(seconds), why: why.into() }
    }

    fn missing(why: impl Into<String>) -> Self {
        Self { known: Known::Missing(Missing::Unmeasured), why: why.into() }
    }
}

/// The phase's own operations.
pub(super) fn calls_of(ran: &LevelResult, phase: &Phase) -> Accumulator {
    let mut sum = Accumulator::default();
    let own = ran.statistics().operations().filter(|(procedure, _)| procedure.row().operation == phase.operation);
    own.for_each(|(_, row)| sum.merge(row));
    sum
}

impl MeasuredPhase<'_> {
    /// The phase as a report shows it.
    pub(super) fn summary(&self) -> CallPhase {
        let facts = self.ran.facts();
        let row = calls_of(self.ran, self.phase);
        let calls = row.answered();
        let each = |seconds: f64| if calls > 0 { seconds / calls as f64 } else { 0.0 };
        let seconds = self.ran.seconds();
        let (whole_s, client_cpu_s) = (each(seconds), each(facts.generator.cpu_s));
        let server = facts.server.as_ref();
        let sources = [
            (Part::WakeUp, self.wake_up()),
            (Part::Network, self.network()),
            (Part::ServerCpu, self.server_cpu(server, client_cpu_s, each(seconds))),
            (Part::Disk, self.disk(server, each(seconds))),
        ];
        let known = |part| sources.iter().find(|(of, _)| *of == part).map_or(NOTHING, |(_, source)| source.known);
        let times = CallTimes {
            whole_s,
            client_cpu_s,
            wake_up: known(Part::WakeUp),
            network: known(Part::Network),
            server_cpu: known(Part::ServerCpu),
            disk: known(Part::Disk),
            outstanding: self.phase.outstanding,
            remote: !self.local,
        };
        let why = |told: &PartEstimate| match sources.iter().find(|(of, _)| *of == told.part) {
            Some((_, source)) => source.why.clone(),
            None => why(told).to_owned(),
        };
        let part = |told: &PartEstimate| CallPart {
            part: name(told.part).to_owned(),
            seconds: told.known.seconds(),
            how: told.known.into(),
            why: why(told),
            adds: told.adds,
            over_above_s: None,
        };
        let payload = row.payload().exact().filter(|&bytes| bytes > 0);
        let from_disk = server.and_then(|server| server.disk_read_bytes_per_s).filter(|_| payload.is_some());
        CallPhase {
            level: self.level,
            call: self.phase.call.to_owned(),
            local: self.local,
            calls,
            outstanding: self.phase.outstanding,
            whole_s,
            response_s: times_of(&row.response()).map(|times| times.mean_s),
            client_busy: facts.generator.cpu_share,
            server_cores_busy: server.and_then(|server| server.cores_busy).filter(|_| self.tells_of_the_server()),
            disk_reads_per_s: server.and_then(|server| server.disk_reads_per_s).filter(|_| self.phase.reads()),
            above: None,
            over_above_s: None,
            from_disk: from_disk.zip(payload).map(|(rate, payload)| rate * seconds / payload as f64),
            parts: parts(&times).iter().map(part).collect(),
        }
    }

    fn wake_up(&self) -> Source {
        match &self.ran.facts().generator.wake_up_lag {
            Some(lag) => Source::measured(
                lag.mean_s,
                "from the kernel's receive timestamp of the response (SO_TIMESTAMPNS) to the client's read",
            ),
            None if self.connected => Source::missing("the kernel reports no receive timestamps"),
            None => Source::missing(
                "a kernel mount: Plimsoll cannot read receive timestamps of the kernel's own connection",
            ),
        }
    }

    fn network(&self) -> Source {
        match &self.ran.facts().generator.round_trip {
            Some(found) => Source::measured(
                found.least_s,
                "minimum TCP round-trip time between the two kernels during the phase (TCP_INFO, tcpi_min_rtt); unlike the time of a null \
                call, it contains no server time",
            ),
            None if self.connected => Source::missing("the kernel reports no round-trip times (TCP_INFO)"),
            None => Source::missing("a kernel mount: Plimsoll cannot read TCP_INFO of the kernel's own connection"),
        }
    }

    fn server_cpu(&self, server: Option<&ServerSide>, client_cpu_s: f64, whole_s: f64) -> Source {
        let cores = server.and_then(|server| server.cores_busy);
        let why = || {
            server
                .and_then(|server| server.why_missing.clone())
                .unwrap_or_else(|| "the server reports no CPU time".to_owned())
        };
        match (self.server_cpu_source, cores) {
            (ServerCpuSource::Nowhere, _) => Source::missing("needs --server-pid or --server-metrics"),
            (_, None) => Source::missing(why()),
            (ServerCpuSource::Process, Some(cores)) => Source::measured(
                cores * whole_s,
                "CPU time of the server's processes (/proc), divided by the number of calls",
            ),
            (ServerCpuSource::Machine, Some(cores)) => Source::measured(
                cores * whole_s,
                "CPU time of the whole server machine (exporter), divided by the number of calls",
            ),
            (ServerCpuSource::ThisProcess, Some(cores)) => match cores * whole_s - client_cpu_s {
                left if left < 0.0 => {
                    Source::missing("the CPU time of this process is below that of its client threads")
                }
                left => Source::inferred(
                    left,
                    "CPU time of this process (server and client), minus the CPU time of the client",
                ),
            },
        }
    }

    fn disk(&self, server: Option<&ServerSide>, whole_s: f64) -> Source {
        let Some(server) = server else { return Source::missing("needs --server-pid or --server-metrics") };
        match (server.disk_read_s_per_s, server.disk_read_bytes_per_s) {
            (Some(0.0), _) => Source::measured(0.0, "no reads from disks"),
            (Some(busy), _) => Source::inferred(
                busy * whole_s,
                "time of all reads from the machine's disks (/proc/diskstats or exporter), multiplied by the server's share of the \
                bytes read, divided by the number of calls",
            ),
            (None, Some(_)) => {
                Source::missing("the server read from storage, but its machine reports no disk read times")
            }
            (None, None) => Source::missing("no data about the server's disk reads"),
        }
    }

    /// Whether cores that are busy are the server's alone.
    fn tells_of_the_server(&self) -> bool {
        !self.local && *self.server_cpu_source != ServerCpuSource::ThisProcess
    }
}

const NOTHING: Known = Known::Missing(Missing::Unmeasured);

/// Joy's (1984) column "incremental from that above": additional time of each call compared with the previous one of the same place.
pub(super) fn beside_above(phases: &mut [CallPhase]) {
    let before = phases.to_vec();
    for (above, phase) in
        before.iter().zip(phases.iter_mut().skip(1)).filter(|(above, phase)| above.local == phase.local)
    {
        let seconds = |name: &str| above.parts.iter().find(|part| part.part == name)?.seconds;
        phase.above = Some(above.call.clone());
        phase.over_above_s = Some(phase.whole_s - above.whole_s);
        for part in &mut phase.parts {
            part.over_above_s = part.seconds.zip(seconds(&part.part)).map(|(own, above)| own - above);
        }
    }
}

/// The same calls remote and local, where both were measured.
pub(super) fn beside_local(phases: &[CallPhase]) -> Vec<LocalCall> {
    let local = |call: &str| phases.iter().find(|phase| phase.local && phase.call == call)?.response_s;
    let both = |phase: &CallPhase| {
        Some(LocalCall { call: phase.call.clone(), remote_s: phase.response_s?, local_s: local(&phase.call)? })
    };
    phases.iter().filter(|phase| !phase.local).filter_map(both).collect()
}

fn name(part: Part) -> &'static str {
    match part {
        Part::ClientCpu => "client CPU",
        Part::ClientWait => "client wait",
        Part::WakeUp => "client wake-up",
        Part::Network => "network",
        Part::ServerCpu => "server CPU",
        Part::Disk => "disk",
        Part::ServerWait => "server wait",
        Part::Remainder => "remainder",
    }
}

/// Source of an inferred part, or of the client's.
fn why(told: &PartEstimate) -> &'static str {
    match (told.part, told.known) {
        (Part::ClientCpu, _) => "CPU clock of the calling thread, which runs the whole client",
        (Part::ClientWait, _) => "the rest of the calling thread's time, divided into the parts below",
        (Part::ServerWait, Known::Missing(Missing::Overlapping)) => {
            "the measured parts overlap: their sum is longer than the call"
        }
        (Part::ServerWait, Known::Missing(Missing::Outstanding)) => {
            "calls overlap: the server works on one call while another waits"
        }
        (Part::ServerWait, Known::Missing(_)) => "needs the network time and the server CPU time",
        (Part::ServerWait, _) => {
            "the rest of the client's wait: the server's threads waited for a lock, a disk or a CPU"
        }
        _ => "the unexplained rest of the call; below 0 if parts overlap",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use plimsoll_client::local::Reading;
    use plimsoll_client::operation::Done;
    use plimsoll_client::target::Target;
    use plimsoll_drive::connect::{self, ConnectOptions, Work};
    use plimsoll_drive::engine::{Plan, Watch};
    use plimsoll_model::{Names, Operation, Symbol};
    use plimsoll_testkit::servers::scripted::{Latency, Script, Scripted};
    use plimsoll_workload::Workload;
    use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};
    use plimsoll_workload::{Load, Pause, Phases};

    use super::*;
    use crate::{SinkOptions, run_level};

    const LATENCY: Duration = Duration::from_millis(5);

    /// Whether the call only requests an answer.
    struct Asking(bool);

    impl Scenario for Asking {
        fn next(&mut self) -> ScenarioStep<'_> {
            self.0 = !self.0;
            if self.0 {
                ScenarioStep::Act(plimsoll_client::Operation::Null, Symbol::NONE)
            } else {
                ScenarioStep::IterationOver
            }
        }

        fn done(&mut self, _: &Done) -> Verdict {
            Verdict::AsAnswered
        }

        fn reconnected(&mut self) {}
    }

    /// A phase of calls on a server that answers each after 5 ms, without known CPU time.
    fn phase(depth: u32) -> CallPhase {
        let server = Scripted::start(Script::parallel(Latency::Constant(LATENCY))).unwrap();
        let address = server.address();
        let target = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
        let mut names = Names::default();
        let reached = connect::open(&Target::parse(&target).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
        let scenarios = Box::new(|_, _, _| Box::new(Asking(false)) as Box<dyn Scenario>);
        let work = Work { server: &*reached, scenarios, names: Arc::new(names) };
        let phases = Phases { warmup_ns: 50_000_000, measured_ns: Some(500_000_000), ..Phases::default() };
        let load = Load::Closed { clients: 1, think: Pause::None };
        let plan = Plan { phases, depth, level: 0, threads: 1, ..Plan::new(load) };
        let options = SinkOptions { table: None, recording: None, with_intervals: false, live: None, by: None };
        let mut ran = run_level(&plan, "null", &work, options, &Watch::new()).unwrap();
        ran.serve_with(ServerSide {
            cores_busy: Some(0.0),
            disk_read_s_per_s: Some(0.0),
            disk_read_bytes_per_s: Some(0.0),
            ..ServerSide::default()
        });
        let workload = Workload::find("null").unwrap();
        let (operation, reading) = (Operation::Null, Reading::Unadvised);
        let phase = Phase { call: "null", operation, outstanding: depth, reading, workload };
        let server_cpu_source = ServerCpuSource::Process;
        let measured = MeasuredPhase {
            phase: &phase,
            ran: &ran,
            level: 0,
            local: false,
            connected: true,
            server_cpu_source: &server_cpu_source,
        };
        measured.summary()
    }

    fn seconds(phase: &CallPhase, name: &str) -> f64 {
        phase.parts.iter().find(|part| part.part == name).unwrap().seconds.unwrap()
    }

    /// However busy this machine is: a thread that waits does not compute, and the least round trip of a hundred is short.
    #[test]
    fn a_server_that_waits_is_found_to_wait() {
        let phase = phase(1);
        let whole: f64 = phase.parts.iter().filter(|part| part.adds).filter_map(|part| part.seconds).sum();
        assert!((whole / phase.whole_s - 1.0).abs() < 1e-9, "{phase:?}");
        let truth = LATENCY.as_secs_f64();
        // CPU time of the client during its call is the client's part.
        let waited = seconds(&phase, "server wait") + seconds(&phase, "client CPU");
        assert!(waited + seconds(&phase, "network") >= truth, "{phase:?}");
        assert!(seconds(&phase, "server wait") > 0.5 * truth, "{phase:?}");
        assert!(seconds(&phase, "network") < 0.2 * truth && seconds(&phase, "client CPU") < 0.5 * truth, "{phase:?}");
        assert_eq!((seconds(&phase, "server CPU"), seconds(&phase, "disk")), (0.0, 0.0));
    }

    #[test]
    fn calls_that_overlap_are_not_taken_apart() {
        let phase = phase(4);
        assert!(phase.response_s.unwrap() > phase.whole_s, "four are outstanding: {phase:?}");
        let waited = phase.parts.iter().find(|part| part.part == "server wait").unwrap();
        assert_eq!((waited.seconds, waited.how.label()), (None, "missing"));
    }
}
