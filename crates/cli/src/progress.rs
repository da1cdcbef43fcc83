//! A progress bar, when a person watches and it takes long enough to matter.

use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

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
        let pace = pace(read, total, self.started.elapsed());
        let bar = self.bar.get_or_insert_with(|| {
            let (bar, template) = match total {
                Some(total) => (ProgressBar::new(total), "{bar:40} {bytes} of {total_bytes}, {msg}"),
                None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {msg}"),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            // The template is ours; were it wrong, the plain bar would do.
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_message(pace);
        bar.set_position(read);
    }

    /// Clears the bar away.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The rate since the start, and the time that is left at that rate. (The bar's own estimate begins when the bar does, 2 s and
/// perhaps gigabytes after the start.)
fn pace(read: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = read as f64 / elapsed.as_secs_f64();
    if !rate.is_finite() || rate < 1.0 {
        return "no rate so far".to_owned();
    }
    let left = total.map(|total| Duration::try_from_secs_f64(total.saturating_sub(read) as f64 / rate));
    let rate = BinaryBytes(rate as u64);
    match left {
        Some(Ok(left)) => format!("{rate}/s, {} left", HumanDuration(left)),
        _ => format!("{rate}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_over_all_of_the_time() {
        let (read, total) = (4 << 30, Some(16 << 30));
        assert_eq!(pace(read, total, Duration::from_secs(2)), "2.00 GiB/s, 6 seconds left");
        assert_eq!(pace(read, None, Duration::from_secs(4)), "1.00 GiB/s");
        assert_eq!(pace(0, total, Duration::from_secs(2)), "no rate so far");
        assert_eq!(pace(read, total, Duration::ZERO), "no rate so far");
    }
}
