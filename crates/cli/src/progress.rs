//! A progress bar, when a person watches and it takes long enough to matter.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Frames between looks at the clock.
const FRAMES_A_LOOK: u64 = 65_536;
/// Nothing shorter than this gets a bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// The bar of a long input.
pub(crate) struct Bar {
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
    frames: u64,
}

impl Bar {
    /// A bar that shows itself on standard error when that is a terminal and the user does not want quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = !quiet && std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self { started: Instant::now(), wanted, bar: None, frames: 0 }
    }

    /// One more frame; `position` tells the bytes read and, where known, their total.
    #[inline]
    pub(crate) fn frame(&mut self, position: impl FnOnce() -> (u64, Option<u64>)) {
        self.frames += 1;
        if self.wanted && self.frames.is_multiple_of(FRAMES_A_LOOK) {
            self.look(position());
        }
    }

    #[cold]
    fn look(&mut self, (read, total): (u64, Option<u64>)) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let (bar, template) = match total {
                Some(total) => {
                    (ProgressBar::new(total), "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
                }
                None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {bytes_per_sec}"),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            // The template is ours; were it wrong, the plain bar would do.
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_position(read);
    }

    /// Clears the bar away.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
