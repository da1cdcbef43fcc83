//! The server's own metrics while it is driven: processor, disk and network, for comparison with the client's numbers.

mod counters;
mod exporter;
mod here;
mod process;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_report::findings::ServerSide;

use counters::{Counters, Sample, between};
use exporter::Exporter;
use plimsoll_results::Usage;
use process::{Disks, Tree};

pub use here::is_here;
pub(crate) use process::tree;

/// Between two looks at the server.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Number of samples before the last one that show the current state.
const LATELY: usize = 2;
/// Maximum age of the last sample for the current state, ns.
const STALE_NS: i64 = 5_000_000_000;
/// Maximum number of samples: those of 36 hours.
const MOST_SAMPLES: usize = 1 << 18;
/// Number of the oldest samples that make room for new ones: those of 31 hours remain.
const DROPPED_SAMPLES: usize = MOST_SAMPLES / 8;

/// Where the server's own numbers come from.
#[derive(Clone, Debug)]
pub enum ServerMetrics {
    /// A process of this machine, and its children.
    Process(u32),
    /// The disks of this machine, whoever uses them.
    Disks,
    /// A Prometheus exporter.
    Exporter {
        /// Where its page is.
        url: String,
        /// The same without a password.
        shown: String,
    },
}

/// Something that has counters.
trait Source: Send {
    fn read(&mut self) -> anyhow::Result<Counters>;
}

/// Looks at the server every half second until it is dropped.
pub struct ServerSideWatch {
    source: String,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    samples: Mutex<Samples>,
}

#[derive(Default)]
struct Samples {
    all: Vec<Sample>,
    /// Looks that failed, and why the last one did.
    failed: u64,
    why: Option<String>,
    /// The oldest ones were dropped.
    dropped: bool,
}

impl Samples {
    fn add(&mut self, sample: Sample) {
        if self.all.len() >= MOST_SAMPLES {
            self.all.drain(..DROPPED_SAMPLES);
            self.dropped = true;
        }
        self.all.push(sample);
    }

    /// Why there are no rates of a phase that began at `first_ns`.
    fn why_missing(&self, first_ns: i64) -> String {
        if self.dropped && self.all.first().is_none_or(|oldest| oldest.at_ns > first_ns) {
            let kept_s = CHECK_INTERVAL.as_secs_f64() * (MOST_SAMPLES - DROPPED_SAMPLES) as f64;
            let hours = (kept_s / 3600.0).floor();
            return format!("the phase was too long: Plimsoll keeps the samples of about {hours} h");
        }
        self.why.clone().unwrap_or_else(|| "not sampled in this phase".to_owned())
    }
}

impl ServerMetrics {
    /// What cannot be read, and what to do.
    fn failed(&self, source: &str) -> String {
        match self {
            Self::Process(_) => {
                format!("--server-pid: cannot read the figures of {source}; give a process of this machine")
            }
            Self::Disks => format!("cannot read the figures of {source}"),
            Self::Exporter { .. } => {
                format!(
                    "--server-metrics: cannot read {source}; check that the exporter is running and listens on this port"
                )
            }
        }
    }
}

impl ServerSideWatch {
    /// Begins to look.
    ///
    /// # Errors
    /// There is nothing to look at: better said now than after the run.
    pub fn start(metrics: &ServerMetrics) -> anyhow::Result<Self> {
        let (source, mut from): (String, Box<dyn Source>) = match metrics {
            ServerMetrics::Process(pid) => (format!("process {pid} and its children"), Box::new(Tree::new(*pid)?)),
            ServerMetrics::Disks => ("the disks of this machine, all processes".to_owned(), Box::new(Disks)),
            ServerMetrics::Exporter { url, shown } => {
                if !url.starts_with("http://") {
                    return Err(Usage(format!("--server-metrics {shown}: expected http://host:port/metrics")).into());
                }
                (shown.clone(), Box::new(Exporter::new(url)))
            }
        };
        let first = from.read().with_context(|| metrics.failed(&source))?;
        let seen = Arc::new(Seen::default());
        seen.take(Ok(first));
        let theirs = Arc::clone(&seen);
        let look = move || {
            while !theirs.stop.load(Relaxed) {
                std::thread::park_timeout(CHECK_INTERVAL);
                theirs.take(from.read());
            }
        };
        let thread = std::thread::Builder::new().name("server-side".to_owned()).spawn(look)?;
        Ok(Self { source, seen, thread: Some(thread) })
    }
}

impl Seen {
    fn take(&self, read: anyhow::Result<Counters>) {
        // The clock of the run: the system time may be set while it runs, and machines may have a clock in common.
        let at_ns = Clock::new().now();
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(counters) => samples.add(Sample { at_ns, counters }),
            Err(error) => {
                samples.failed += 1;
                samples.why = Some(format!("{error:#}"));
            }
        }
    }
}

impl ServerSideWatch {
    /// The server's metrics in a measured phase with `operations` answered operations.
    pub fn during(&self, span_ns: (i64, i64), operations: u64) -> ServerSide {
        self.look_after(span_ns.1);
        let samples = self.seen.samples.lock().unwrap_or_else(PoisonError::into_inner);
        self.found(&samples, span_ns, operations)
    }

    /// The server's metrics in about the last second, as of `now_ns`; never waits for a sample.
    pub fn lately(&self, now_ns: i64) -> Option<ServerSide> {
        let samples = self.seen.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latest = samples.all.iter().rev();
        let last_ns = latest.next()?.at_ns;
        let first_ns = latest.nth(LATELY - 1)?.at_ns;
        let is_recent = now_ns.saturating_sub(last_ns) < STALE_NS;
        is_recent.then(|| self.found(&samples, (first_ns, last_ns), 0))
    }

    fn found(&self, samples: &Samples, span_ns: (i64, i64), operations: u64) -> ServerSide {
        let rates = between(&samples.all, span_ns);
        let seconds = span_ns.1.saturating_sub(span_ns.0) as f64 / 1e9;
        ServerSide {
            source: self.source.clone(),
            cores_busy: rates.and_then(|rates| rates.cpu_s),
            cpu_per_operation_s: rates
                .and_then(|rates| rates.cpu_s)
                .filter(|_| operations > 0)
                .map(|cores| cores * seconds / operations as f64),
            disk_read_bytes_per_s: rates.and_then(|rates| rates.disk_read_bytes),
            disk_write_bytes_per_s: rates.and_then(|rates| rates.disk_write_bytes),
            received_bytes_per_s: rates.and_then(|rates| rates.received_bytes),
            sent_bytes_per_s: rates.and_then(|rates| rates.sent_bytes),
            disk_read_s_per_s: rates.and_then(|rates| rates.disk_read_s()),
            disk_reads_per_s: rates.and_then(|rates| rates.disk_reads()),
            disk_writes_per_s: rates.and_then(|rates| rates.disk_writes()),
            why_missing: rates.is_none().then(|| samples.why_missing(span_ns.0)),
        }
    }
}

impl ServerSideWatch {
    /// Looks once more, so that there is something after the end of a phase; a look that fails is not waited for again.
    fn look_after(&self, end_ns: i64) {
        let (seen, began) = (|| self.seen.samples.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let failed = seen().failed;
        while began.elapsed() < PATIENCE {
            let samples = seen();
            if samples.failed > failed || samples.all.last().is_some_and(|last| last.at_ns >= end_ns) {
                return;
            }
            drop(samples);
            if let Some(thread) = &self.thread {
                thread.thread().unpark();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for ServerSideWatch {
    fn drop(&mut self) {
        self.seen.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A look that panicked has cost no number but its own.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_drops_only_its_oldest_samples() {
        let at = |number: usize| i64::try_from(number).unwrap() * 500_000_000;
        let mut samples = Samples::default();
        for number in 0..MOST_SAMPLES + 10 {
            let counters = Counters { cpu_s: Some(number as f64 / 2.0), ..Counters::default() };
            samples.add(Sample { at_ns: at(number), counters });
        }
        assert!(samples.all.len() <= MOST_SAMPLES);
        let (late, whole) = ((at(MOST_SAMPLES), at(MOST_SAMPLES + 8)), (0, at(MOST_SAMPLES + 8)));
        assert_eq!(between(&samples.all, late).and_then(|rates| rates.cpu_s), Some(1.0));
        assert_eq!(between(&samples.all, whole), None);
        assert_eq!(samples.why_missing(whole.0), "the phase was too long: Plimsoll keeps the samples of about 31 h");
        assert_eq!(samples.why_missing(late.0), "not sampled in this phase");
    }
}
