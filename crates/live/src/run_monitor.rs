//! Progress of a run in the terminal, and the effect of Ctrl-C.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::{Phase, Progress, Watch};
use plimsoll_workload::fileset::JobProgress;

use crate::progress_file::ProgressFile;
use crate::{RunView, Wanted};
use plimsoll_console::progress::style;
use plimsoll_console::{interrupt, shell};
use plimsoll_experiment::server_side::ServerSideWatch;
use plimsoll_experiment::{Activity, LevelResult, LiveFeed, Monitor};

/// Interval between two reads of the run's progress.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Between two writes of the progress file.
const FILE_INTERVAL: Duration = Duration::from_millis(500);

/// What the first Ctrl-C prints.
const INTERRUPTED: &str =
    "plimsoll: interrupted; waiting for the last responses, then cleaning up (press Ctrl-C again to end at once)";
/// The progress bar ends without a new line.
const BELOW_THE_BAR: &str = "\n";

/// Shows the progress of an experiment in the terminal, and ends the experiment at Ctrl-C.
pub struct RunMonitor {
    /// Progress of the setup and the measured levels.
    watch: Arc<Watch>,
    /// Progress of the cleanup, which the first Ctrl-C does not stop.
    cleaning: Arc<Watch>,
    caught: OnceLock<()>,
    shown: bool,
    /// An interruption is confirmed: nothing else on the terminal shows it.
    notes: bool,
    /// A live view in addition to progress.
    view: Option<RunView>,
    /// Shows progress to a launcher.
    file: Option<ProgressFile>,
}

impl RunMonitor {
    /// Shows progress if standard error is a terminal.
    pub fn new(quiet: bool) -> Self {
        let shown = !quiet && shell::shows_progress();
        Self {
            watch: Arc::default(),
            cleaning: Arc::default(),
            caught: OnceLock::new(),
            shown,
            notes: !quiet,
            view: None,
            file: None,
        }
    }

    /// Shows runs of `input` in the live views that are wanted.
    ///
    /// # Errors
    /// An address is not free, or not one of this machine.
    pub fn watching(wanted: &Wanted<'_>, input: &str, server: Option<&Arc<ServerSideWatch>>) -> anyhow::Result<Self> {
        let plain = Self::new(wanted.quiet);
        let view = RunView::start(wanted, input, &plain.watch, server)?;
        let has_screen = view.as_ref().is_some_and(|view| view.replaces_progress);
        Ok(Self { shown: plain.shown && !has_screen, notes: plain.notes && !has_screen, view, ..plain })
    }

    /// The same, and shows progress in a file.
    pub fn and_file(self, file: Option<ProgressFile>) -> Self {
        Self { file, ..self }
    }

    /// Where load threads bring what is shown.
    pub fn feed(&self) -> Option<&LiveFeed> {
        self.view.as_ref().map(RunView::feed)
    }

    /// Ends the live view: restores the terminal before anything is printed.
    pub fn end_view(&self) {
        self.view.iter().for_each(RunView::end);
    }
}

impl Monitor for RunMonitor {
    /// From now on the first Ctrl-C (or SIGTERM) ends the phase and cleans up, and the second one ends without waiting. Earlier there is
    /// nothing to lose, so signals end the process as usual.
    fn catch(&self) -> anyhow::Result<()> {
        if self.caught.set(()).is_err() {
            return Ok(());
        }
        let (watch, cleaning, mut first) = (Arc::clone(&self.watch), Arc::clone(&self.cleaning), true);
        let note = self.notes.then_some(if self.shown { BELOW_THE_BAR } else { "" });
        interrupt::on_signal(move || {
            if std::mem::take(&mut first) {
                watch.stop();
                if let Some(before) = note {
                    shell::note(&format!("{before}{INTERRUPTED}"));
                }
            } else {
                watch.abandon();
                cleaning.abandon();
            }
        })
    }

    fn watch(&self) -> &Watch {
        &self.watch
    }

    fn cleaning(&self) -> &Watch {
        &self.cleaning
    }

    fn level_over(&self, level: &LevelResult) {
        self.view.iter().for_each(|view| view.level_over(level));
    }

    fn show(&self, what: &str, shown: Activity<'_>, work: &mut (dyn FnMut() + Send)) {
        let begins = |files| self.view.iter().for_each(|view| view.begins(what, files));
        begins(if let Activity::Files(progress) = shown { Some(progress()) } else { None });
        let mut before = (Instant::now(), self.watch.progress());
        let mut written: Option<Instant> = None;
        let mut is_due = || {
            let due = written.is_none_or(|written| written.elapsed() >= FILE_INTERVAL);
            if due {
                written = Some(Instant::now());
            }
            due
        };
        self.with_bar(what, work, |bar| match shown {
            Activity::Level => {
                let now = (Instant::now(), self.watch.progress());
                show(bar, &now, &before);
                before = now;
                self.file.iter().filter(|_| is_due()).for_each(|file| file.level(what, &before.1));
            }
            Activity::Files(progress) => {
                let progress = progress();
                begins(Some(progress));
                self.file.iter().filter(|_| is_due()).for_each(|file| file.files(what, progress));
                let JobProgress { done, total } = progress;
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(format!("{done} of {total} files and directories"));
            }
        });
        // The last line is that of the end.
        if let (Some(file), Activity::Level) = (&self.file, shown) {
            file.level(what, &self.watch.progress());
        }
    }
}

impl RunMonitor {
    fn with_bar(&self, what: &str, work: &mut (dyn FnMut() + Send), mut look: impl FnMut(&ProgressBar)) {
        if !self.shown && self.view.is_none() && self.file.is_none() {
            return work();
        }
        let bar = ProgressBar::no_length().with_prefix(what.to_owned());
        bar.set_draw_target(match self.shown {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        });
        bar.set_style(style(("{prefix} {bar:24} {wide_msg}", "{prefix}: {wide_msg}")));
        let result = std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            while !worker.is_finished() {
                std::thread::sleep(CHECK_INTERVAL);
                look(&bar);
            }
            worker.join()
        });
        bar.finish_and_clear();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn show(bar: &ProgressBar, (at, now): &(Instant, Progress), (before, was): &(Instant, Progress)) {
    // On a busy machine, reads may be late.
    let rate = now.actions.saturating_sub(was.actions) as f64 / (*at - *before).max(CHECK_INTERVAL).as_secs_f64();
    let errors = if now.errors > 0 { format!(", {} errors", now.errors) } else { String::new() };
    let (total, done) = match now.phase {
        Phase::Connecting => (u64::from(now.clients), u64::from(now.connected)),
        _ => elapsed(now),
    };
    bar.set_length(total);
    bar.set_position(done.min(total));
    bar.set_message(match now.phase {
        Phase::Waiting => "waiting".to_owned(),
        Phase::Connecting => format!("connecting: {} of {} clients{errors}", now.connected, now.clients),
        Phase::WarmUp => format!("warm-up: {rate:.0} op/s{errors}"),
        Phase::Measured => format!("measuring: {rate:.0} op/s{errors}"),
        Phase::Drain => format!("waiting for the last responses{errors}"),
        Phase::Leaving => format!("logging off: {} of {} clients still connected", now.connected, now.clients),
        Phase::Over => "done".to_owned(),
    });
}

/// Length of the phase and time elapsed, in ms; (0, 0) if the end is unknown.
fn elapsed(now: &Progress) -> (u64, u64) {
    // The clock of the run, which `now` is of.
    let at = Clock::new().now();
    let ms = |ns: i64| u64::try_from(ns / 1_000_000).unwrap_or(0);
    if now.until > now.since { (ms(now.until - now.since), ms(at - now.since)) } else { (0, 0) }
}
