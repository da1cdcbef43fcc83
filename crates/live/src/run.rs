//! `--watch`, `--browser` and `--metrics` of a run: a thread that shows the numbers of the load threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::{Phase, Progress, Watch};
use plimsoll_experiment::server_side::ServerSideWatch;
use plimsoll_experiment::{LevelResult, LiveFeed};
use plimsoll_model::Names;
use plimsoll_report::live::{LiveLevel, LiveRun, LiveTimes, counters_line};
use plimsoll_stats::Headline;
use plimsoll_stats::live::{Recent, Totals};
use plimsoll_workload::fileset::JobProgress;

use crate::pace::{BEHIND_NS, CHECK_INTERVAL};
use crate::publish::Publish;
use crate::{Beside, Lines, LiveView, Metrics, Screen};

/// Interval between two reads of the numbers of generator and server.
const SLOW_LOOK: Duration = Duration::from_secs(1);
/// Number of reads from which a rate is calculated: two seconds.
const RATE_LOOKS: usize = 20;

/// Views that a run should have.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// A screen in the terminal, or lines without a terminal.
    pub watch: bool,
    /// Access over HTTP.
    pub publish: &'a Publish,
    /// Print no messages.
    pub quiet: bool,
    /// Whether the report goes to standard output.
    pub prints: bool,
}

/// The live views of a run.
pub struct RunView {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether the view replaces the progress bar.
    pub replaces_progress: bool,
}

/// State of the run, for the thread that shows it.
struct Shared {
    feed: LiveFeed,
    watch: Arc<Watch>,
    server: Option<Arc<ServerSideWatch>>,
    said: Mutex<Said>,
    ended: AtomicBool,
}

#[derive(Default)]
struct Said {
    activity: String,
    /// Progress of the file preparation, if it is running.
    files: Option<JobProgress>,
    levels: Vec<LiveLevel>,
    /// The server's own counters of the last level.
    counters: Option<String>,
}

impl RunView {
    /// Starts the views of a run if any is requested; `input` names the run.
    ///
    /// # Errors
    /// An address is not free, or not one of this machine.
    pub fn start(
        wanted: &Wanted<'_>,
        input: &str,
        watch: &Arc<Watch>,
        server: Option<&Arc<ServerSideWatch>>,
    ) -> anyhow::Result<Option<Self>> {
        let mut listening = wanted.publish.listen()?;
        let browser = listening.browser(input)?;
        let metrics = listening.metrics(input, &[], wanted.quiet)?;
        if !wanted.watch && browser.is_none() && metrics.is_none() {
            return Ok(None);
        }
        // The report on standard output would appear in the middle of the screen.
        let screen = (wanted.watch && wanted.prints).then(|| Screen::open(input, &listening.addresses)).flatten();
        let view = LiveView::new(screen, Lines::new(1, !wanted.watch), browser);
        let shared = Arc::new(Shared {
            feed: LiveFeed::new(metrics.is_some()),
            watch: Arc::clone(watch),
            server: server.cloned(),
            said: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let follower = Follower::new(Arc::clone(&shared), view, metrics);
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(move || follower.follow());
        let thread = Mutex::new(Some(thread.context("cannot start the thread that shows the run")?));
        Ok(Some(Self { shared, thread, replaces_progress: wanted.watch }))
    }

    /// The channel to which load threads send their numbers.
    pub fn feed(&self) -> &LiveFeed {
        &self.shared.feed
    }

    /// Another activity begins.
    pub fn begins(&self, activity: &str, files: Option<JobProgress>) {
        let mut said = self.shared.said();
        activity.clone_into(&mut said.activity);
        said.files = files;
    }

    /// A level has ended.
    pub fn level_over(&self, level: &LevelResult) {
        let times = level.leading_times();
        let seconds = level.seconds();
        let facts = level.facts();
        let name = facts.curve.as_ref().filter(|curve| !facts.load_name.contains(*curve));
        let level = LiveLevel {
            words: name.map_or_else(|| facts.load_name.clone(), |curve| format!("{}, {curve}", facts.load_name)),
            operations_per_s: if seconds > 0.0 { level.answered().requests as f64 / seconds } else { 0.0 },
            p50_s: times.map(|times| times.p50_s),
            p99_s: times.map(|times| times.p99_s),
            verdict: level.validity().verdict.label().to_uppercase(),
        };
        let counters = facts.counters.as_ref().map(|found| counters_line(&level.words, found));
        let mut said = self.shared.said();
        said.levels.push(level);
        // Of several workloads at the same time, only one level has them.
        said.counters = counters.or_else(|| said.counters.take());
    }

    /// The run has ended: restores the terminal, and sends the last numbers to browsers.
    pub fn end(&self) {
        self.shared.ended.store(true, SeqCst);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            // If the view panicked, the numbers of the run are still complete.
            let _ = thread.join();
        }
    }
}

impl Drop for RunView {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that updates the views.
struct Follower {
    shared: Arc<Shared>,
    view: LiveView,
    metrics: Option<Metrics>,
    recent: Recent,
    totals: Option<Totals>,
    clock: Clock,
    iterations: VecDeque<(Instant, u64)>,
    run: LiveRun,
    slow_look: Instant,
    logged: String,
    asked_to_end: bool,
}

impl Follower {
    fn new(shared: Arc<Shared>, view: LiveView, metrics: Option<Metrics>) -> Self {
        let totals = metrics.is_some().then(Totals::default);
        Self {
            shared,
            view,
            metrics,
            recent: Recent::new(),
            totals,
            clock: Clock::new(),
            iterations: VecDeque::new(),
            run: LiveRun::default(),
            slow_look: Instant::now(),
            logged: String::new(),
            asked_to_end: false,
        }
    }

    fn follow(mut self) {
        loop {
            let ended = self.shared.ended.load(SeqCst);
            self.look(ended);
            if ended {
                return;
            }
            std::thread::park_timeout(CHECK_INTERVAL);
        }
    }

    fn look(&mut self, ended: bool) {
        let now_ns = self.clock.now() + if ended { BEHIND_NS } else { 0 };
        let names = self.shared.feed.names();
        // Asked once: a reader that comes behind `take` would get the sums of the reader before it.
        let wanted = self.metrics.as_ref().is_some_and(Metrics::is_wanted);
        if names.is_some() {
            self.shared.feed.take(now_ns, &mut self.recent, self.totals.as_mut().filter(|_| wanted || ended));
            self.recent.advance(now_ns);
        }
        let unnamed = Names::default();
        let names = names.as_deref().unwrap_or(&unnamed);
        if let Some((metrics, totals)) = self.metrics.as_ref().zip(self.totals.as_ref()).filter(|_| wanted) {
            metrics.answer(totals, names, None, None, &[]);
        }
        self.describe(now_ns);
        let times = match self.shared.feed.headline() {
            Some(Headline::FromIntended) => LiveTimes::FromIntended,
            Some(Headline::Response) | None => LiveTimes::Response,
        };
        let beside = Beside { run: Some(&self.run), times, ended, ..Beside::default() };
        if self.view.look(&self.recent, names, now_ns, &beside) && !std::mem::replace(&mut self.asked_to_end, true) {
            // The same as a first Ctrl-C.
            self.shared.watch.stop();
            self.view.say("Ending the run: waiting for outstanding responses, then logging off".to_owned());
        }
    }

    /// Updates the description of the run.
    fn describe(&mut self, now_ns: i64) {
        let progress = self.shared.watch.progress();
        {
            let said = self.shared.said();
            self.run.activity.clone_from(&said.activity);
            self.run.levels.clone_from(&said.levels);
            self.run.counters.clone_from(&said.counters);
            self.run.phase = phase(&progress, said.files);
            let is_level = said.files.is_none() && !said.activity.is_empty();
            let shown = is_level && progress.until > progress.since;
            self.run.elapsed_s =
                shown.then(|| ((now_ns - progress.since) as f64 / 1e9, (progress.until - progress.since) as f64 / 1e9));
            self.run.clients = if is_level { (progress.connected, progress.clients) } else { (0, 0) };
        }
        self.run.errors = progress.errors;
        self.run.achieved_per_s = self.rate(&progress);
        self.run.asked_per_s = self.shared.feed.asked_per_s();
        let now = Instant::now();
        if now >= self.slow_look {
            self.slow_look = now + SLOW_LOOK;
            let found = self.shared.feed.generator();
            (self.run.generator, self.run.generators_fault) =
                found.map_or((None, None), |(found, fault)| (Some(found), fault));
            self.run.server = self.shared.server.as_ref().and_then(|server| server.lately(now_ns));
        }
        let line = format!("{}: {}", self.run.activity, self.run.phase);
        let is_new = self.run.elapsed_s.is_some() && self.logged != line;
        if is_new {
            self.view.log(&line);
            self.logged = line;
        }
    }

    /// Iterations per second over the last two seconds.
    fn rate(&mut self, progress: &Progress) -> Option<f64> {
        let now = (Instant::now(), progress.iterations);
        // The counter starts from 0 at each level.
        if self.iterations.back().is_some_and(|before| before.1 > now.1) {
            self.iterations.clear();
        }
        self.iterations.push_back(now);
        if self.iterations.len() > RATE_LOOKS {
            self.iterations.pop_front();
        }
        let first = self.iterations.front()?;
        let seconds = now.0.duration_since(first.0).as_secs_f64();
        (seconds > 0.5).then(|| (now.1 - first.1) as f64 / seconds)
    }
}

fn phase(progress: &Progress, files: Option<JobProgress>) -> String {
    if let Some(JobProgress { done, total }) = files {
        return format!("{done} of {total} files and directories");
    }
    match progress.phase {
        Phase::Waiting => "waiting",
        Phase::Connecting => "connecting",
        Phase::WarmUp => "warm-up",
        Phase::Measured => "measuring",
        Phase::Drain => "waiting for the last responses",
        Phase::Leaving => "logging off",
        Phase::Over => "over",
    }
    .to_owned()
}
