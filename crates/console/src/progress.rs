//! A progress bar, when a person watches and it takes long enough to matter.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::shell;

/// Frames between looks at the clock.
const FRAMES_A_LOOK: u64 = 65_536;
/// Nothing shorter than this gets a bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Window of the rate; data from the page cache, or mapped at once, affects it only briefly.
const RATE_WINDOW: Duration = Duration::from_secs(5);
/// Minimum time for a rate.
const SHORTEST_RATE: Duration = Duration::from_millis(500);

/// The bar of a long input.
pub struct Bar {
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
    frames: u64,
    rate: Rate,
}

impl Bar {
    /// A bar that shows itself on standard error when that is a terminal and the user does not want quiet.
    pub fn new(quiet: bool) -> Self {
        let wanted = !quiet && shell::shows_progress();
        Self { started: Instant::now(), wanted, bar: None, frames: 0, rate: Rate::default() }
    }

    /// One more frame; `position` tells the bytes read and, where known, their total.
    #[inline]
    pub fn frame(&mut self, position: impl FnOnce() -> (u64, Option<u64>)) {
        self.frames += 1;
        if self.wanted && self.frames.is_multiple_of(FRAMES_A_LOOK) {
            self.look(position());
        }
    }

    #[cold]
    fn look(&mut self, (read, total): (u64, Option<u64>)) {
        let elapsed = self.started.elapsed();
        self.rate.look(elapsed, read);
        if elapsed < PATIENCE {
            return;
        }
        let message = message(read, total, self.rate.per_second());
        let bar = self.bar.get_or_insert_with(|| {
            let (bar, template) = match total {
                Some(total) => (ProgressBar::new(total), ("{bar:24} {wide_msg}", "{wide_msg}")),
                None => (ProgressBar::new_spinner(), ("{spinner} {wide_msg}", "{wide_msg}")),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            bar.set_style(style(template));
            bar
        });
        bar.set_message(message);
        bar.set_position(read);
    }

    /// Clears the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Below this width only numbers are shown, without a bar.
const NARROW: u16 = 60;

/// How a bar looks in the characters of the locale, in a wide terminal and in a narrow one.
pub fn style((wide, narrow): (&str, &str)) -> ProgressStyle {
    let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(NARROW, |(width, _)| width.0);
    let template = if columns < NARROW { narrow } else { wide };
    // The template is ours; were it wrong, the plain bar would do.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    if shell::ascii_only() { style.progress_chars("##-").tick_chars("-\\|/ ") } else { style }
}

/// Bytes per second of the last seconds.
#[derive(Default)]
struct Rate {
    /// When it was looked, and the bytes read by then.
    looks: VecDeque<(Duration, u64)>,
}

impl Rate {
    fn look(&mut self, at: Duration, read: u64) {
        self.looks.push_back((at, read));
        // One is left that is at least as old as the window.
        while self.looks.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= RATE_WINDOW) {
            self.looks.pop_front();
        }
    }

    /// `None`: no bytes yet, or too short a time.
    fn per_second(&self) -> Option<f64> {
        let ((since, before), (at, read)) = self.looks.front().zip(self.looks.back())?;
        let time = at.saturating_sub(*since);
        let bytes = read.saturating_sub(*before);
        (time >= SHORTEST_RATE && bytes > 0).then(|| bytes as f64 / time.as_secs_f64())
    }
}

/// Bytes read, of the size and in per cent where that is known, the rate, and the time left at that rate.
fn message(read: u64, total: Option<u64>, rate: Option<f64>) -> String {
    let mut said = BinaryBytes(read).to_string();
    if let Some(total) = total.filter(|&total| total > 0) {
        let per_cent = read.min(total) as f64 / total as f64 * 100.0;
        said += &format!(" of {} ({per_cent:.0} %)", BinaryBytes(total));
    }
    let Some(rate) = rate else { return said };
    said += &format!(", {}/s", BinaryBytes(rate as u64));
    let left = total.map(|total| Duration::try_from_secs_f64(total.saturating_sub(read) as f64 / rate));
    match left {
        Some(Ok(left)) => format!("{said}, {} left", HumanDuration(left)),
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rate_and_the_time_left_are_said_where_they_are_known() {
        let (read, total) = (4 << 30, Some(16 << 30));
        let rate = Some(2.0 * f64::from(1 << 30));
        assert_eq!(message(read, total, rate), "4.00 GiB of 16.00 GiB (25 %), 2.00 GiB/s, 6 seconds left");
        assert_eq!(message(read, None, rate), "4.00 GiB, 2.00 GiB/s");
        assert_eq!(message(read, total, None), "4.00 GiB of 16.00 GiB (25 %)");
        // A file that has grown meanwhile.
        assert!(message(32 << 30, total, None).contains("(100 %)"));
    }

    #[test]
    fn the_rate_forgets_what_came_from_the_cache() {
        let mut rate = Rate::default();
        let mib = 1 << 20;
        rate.look(Duration::from_micros(1), 60 << 40);
        assert_eq!(rate.per_second(), None, "of no time there is no rate");
        for second in 1..=20 {
            rate.look(Duration::from_secs(second), (60 << 40) + second * mib);
        }
        assert_eq!(rate.per_second(), Some(mib as f64));
        assert!(rate.looks.len() <= 7);
    }
}
