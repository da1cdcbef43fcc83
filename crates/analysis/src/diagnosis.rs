//! The diagnosis of the traffic so far.

use std::time::{Duration, Instant};

use plimsoll_model::Coverage;
use plimsoll_observe::capture::CaptureAnomalies;
use plimsoll_observe::status_name;
use plimsoll_report::findings::{Findings, Source};

use crate::running::Running;

/// Interval between two diagnoses.
const EVERY: Duration = Duration::from_secs(5);
/// Minimum number of packets per reported lost packet for a capture that shows which requests got no response.
const PACKETS_PER_DROP: u64 = 100;

/// The diagnosis so far.
pub struct DiagnosisSoFar {
    source: Source,
    due: Instant,
    /// Its first sentence.
    pub text: Option<String>,
}

impl DiagnosisSoFar {
    /// The first one is due soon.
    pub fn new(source: &Source) -> Self {
        Self { source: source.clone(), due: Instant::now() + EVERY, text: None }
    }

    /// Makes a new diagnosis of the packets until `seen_ns` if the last diagnosis is too old. At the end of the input there is always a
    /// diagnosis.
    pub fn look(&mut self, running: &mut Running, (seen_ns, damage): (i64, CaptureAnomalies), ended: bool) {
        let now = Instant::now();
        if now < self.due && !(ended && self.text.is_none()) {
            return;
        }
        self.due = now + EVERY;
        let observer = &mut running.observer;
        // Whether gaps explain the lost packets is known only at the end.
        let is_lossy = damage.reported_drops.saturating_mul(PACKETS_PER_DROP) > observer.frames();
        let unfinished = if is_lossy { Vec::new() } else { observer.unfinished(seen_ns) };
        let last_responses = observer.last_responses();
        let (sinks, names) = observer.sink();
        let (statistics, live) = (&mut sinks.sink.statistics, &sinks.sink.live);
        let first_ns = live.as_ref().and_then(|live| live.0.seconds().next()).map(|second| second.start_ns());
        let downtime = damage.downtime;
        let last_ns = Some(seen_ns);
        let coverage = Coverage { first_ns, last_ns, downtime, unfinished, last_responses, ..Coverage::default() };
        let findings = Findings::collect(statistics.settled(), &coverage, names, self.source.clone(), status_name);
        let first = findings.diagnosis.statements.into_iter().next();
        self.text = first.map(|statement| format!("So far: {}", statement.text));
    }
}
