//! A stop flag for reading: Ctrl-C must end it although a pipe may be silent for hours.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::waiting::is_ready;

/// How long a pipe is still read after the stop flag was set. Ctrl-C also ends the writer (`tcpdump -w - |`), and its last output belongs
/// to the capture.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which the stop flag is checked while a pipe is silent.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Ends the reading of captures, from any thread.
#[derive(Clone, Debug, Default)]
pub struct StopReading(Arc<State>);

#[derive(Debug, Default)]
struct State {
    asked: AtomicBool,
    cut_off: AtomicBool,
    /// When the stop flag is set although a pipe is silent.
    due: OnceLock<Instant>,
}

impl StopReading {
    /// Asks the reader to stop.
    pub fn ask(&self) {
        self.0.asked.store(true, Relaxed);
    }

    /// Has the reader of a pipe stop at this time, also before its first packet. Only the first call counts.
    pub fn ask_at(&self, due: Instant) {
        let _ = self.0.due.set(due);
    }

    fn is_due(&self) -> bool {
        self.0.due.get().is_some_and(|due| Instant::now() >= *due)
    }

    /// Whether the stop flag is set.
    #[inline]
    pub fn asked(&self) -> bool {
        self.0.asked.load(Relaxed)
    }

    /// Whether reading left a pipe whose writer may still be active.
    pub fn cut_off(&self) -> bool {
        self.0.cut_off.load(Relaxed)
    }
}

/// A source of live packets.
pub(super) trait Live: Read + Send {
    /// Waits for a read to return at once, with bytes, the end or an error. False if it would not.
    fn wait(&mut self, within: Duration) -> io::Result<bool>;
}

/// A pipe that reports its end soon after the stop flag was set.
pub(super) struct Stoppable {
    pub(super) inner: File,
    pub(super) stop: StopReading,
    pub(super) until: Option<Instant>,
}

impl Live for Stoppable {
    fn wait(&mut self, within: Duration) -> io::Result<bool> {
        // After the stop flag was set, the caller must not wait for more data.
        Ok(self.stop.asked() || is_ready(&self.inner, within)?)
    }
}

impl Read for Stoppable {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.until.is_none() && (self.stop.asked() || self.stop.is_due()) {
                self.stop.ask();
                self.until = Some(Instant::now() + GRACE);
            }
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                self.stop.0.cut_off.store(true, Relaxed);
                return Ok(0);
            }
            if is_ready(&self.inner, left.unwrap_or(CHECK_INTERVAL).min(CHECK_INTERVAL))? {
                return self.inner.read(room);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use super::*;

    fn file(pipe: io::PipeReader) -> File {
        OwnedFd::from(pipe).into()
    }

    #[test]
    fn what_was_written_before_the_end_is_read_after_somebody_asked() {
        let (reader, mut writer) = io::pipe().unwrap();
        let stop = StopReading::default();
        writer.write_all(b"the last record").unwrap();
        drop(writer);
        stop.ask();
        let mut read = Vec::new();
        Stoppable { inner: file(reader), stop: stop.clone(), until: None }.read_to_end(&mut read).unwrap();
        assert_eq!((read.as_slice(), stop.cut_off()), (&b"the last record"[..], false));
    }

    #[test]
    fn a_silent_pipe_is_left_when_the_time_is_over() {
        let (reader, writer) = io::pipe().unwrap();
        let stop = StopReading::default();
        stop.ask_at(Instant::now());
        assert!(!stop.asked(), "a file is read on");
        let mut read = Vec::new();
        Stoppable { inner: file(reader), stop: stop.clone(), until: None }.read_to_end(&mut read).unwrap();
        assert_eq!((read.len(), stop.asked(), stop.cut_off()), (0, true, true));
        drop(writer);
    }

    #[test]
    fn a_writer_that_does_not_end_is_left() {
        let (reader, mut writer) = io::pipe().unwrap();
        let stop = StopReading::default();
        writer.write_all(b"half a rec").unwrap();
        stop.ask();
        let mut read = Vec::new();
        Stoppable { inner: file(reader), stop: stop.clone(), until: None }.read_to_end(&mut read).unwrap();
        assert_eq!((read.as_slice(), stop.cut_off()), (&b"half a rec"[..], true));
        drop(writer);
    }
}
