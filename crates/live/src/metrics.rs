//! `--metrics`: the sums so far, for a program that collects them, such as Prometheus.

use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_model::Names;
use plimsoll_recording::LiveMetrics;
use plimsoll_stats::live::{LiveLosses, Totals, WaitingNow};

use super::http::{self, Answer, Request, Response, Site, Status};
use super::notices::OutputState;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Minimum age of a text before another one is made, for any number of readers.
const AGE: Duration = Duration::from_millis(500);
/// Maximum time for which a reader waits for a text. The capture thread checks for readers every 100 ms.
const PATIENCE: Duration = Duration::from_secs(3);

/// The metrics of a watch.
pub struct Metrics {
    input: String,
    filters: String,
    text: Arc<OnDemand>,
}

impl Metrics {
    /// Starts to answer requests on this listener.
    pub(super) fn start(listener: TcpListener, allow_remote: bool, (input, filters): (String, String)) -> Self {
        let text = Arc::new(OnDemand::default());
        http::start(listener, allow_remote, Arc::clone(&text) as Arc<dyn Site>);
        Self { input, filters, text }
    }

    /// Whether a reader waits for a text.
    pub fn is_wanted(&self) -> bool {
        self.text.is_wanted()
    }

    /// Makes a new text for readers. If none of them waited ([`Metrics::is_wanted`]) when the numbers were brought up to date, it would be
    /// too old for one that has come since. `waiting`: the requests without a response at an instant, ns since the Unix epoch.
    pub fn answer(
        &self,
        totals: &Totals,
        names: &Names,
        losses: Option<LiveLosses>,
        waiting: Option<(&WaitingNow, i64)>,
        outputs: &[OutputState],
    ) {
        let tool = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));
        let mut text = Vec::new();
        let (input, filters) = (self.input.as_str(), self.filters.as_str());
        let outputs: Vec<_> = outputs.iter().map(|output| (output.name, output.failure.is_some())).collect();
        // Writing to memory cannot fail.
        let _ =
            LiveMetrics { tool, input, filters, totals, names, losses, waiting, outputs: &outputs }.write(&mut text);
        self.text.put(text.into());
    }
}

/// A text that one thread makes for the threads that wait for it.
#[derive(Default)]
struct OnDemand {
    state: Mutex<State>,
    made: Condvar,
}

#[derive(Default)]
struct State {
    wanted: bool,
    text: Option<(Instant, Arc<[u8]>)>,
}

impl State {
    fn fresh(&self) -> Option<Arc<[u8]>> {
        self.text.as_ref().filter(|(made, _)| made.elapsed() < AGE).map(|(_, text)| Arc::clone(text))
    }
}

impl OnDemand {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        self.state().wanted
    }

    fn put(&self, text: Arc<[u8]>) {
        let mut state = self.state();
        (state.wanted, state.text) = (false, Some((Instant::now(), text)));
        self.made.notify_all();
    }

    /// Waits for a text that is new enough.
    fn get(&self) -> Option<Arc<[u8]>> {
        let mut state = self.state();
        if let Some(text) = state.fresh() {
            return Some(text);
        }
        state.wanted = true;
        let waited = self.made.wait_timeout_while(state, PATIENCE, |state| state.wanted);
        let (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
        // An older text would be out of date.
        if timed_out.timed_out() { None } else { state.text.as_ref().map(|(_, text)| Arc::clone(text)) }
    }
}

impl Site for OnDemand {
    fn answer(&self, request: &Request) -> Answer {
        Answer::Whole(match request.path.as_str() {
            "/metrics" => match self.get() {
                Some(text) => Response::new(CONTENT_TYPE, text),
                None => Response::says(Status::Unavailable, "Plimsoll has no numbers yet, or is ending"),
            },
            _ => Response::says(Status::NotFound, "Metrics are at /metrics"),
        })
    }
}
