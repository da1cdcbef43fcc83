//! Frames whose time is far from the previous one's: see `time_gate.rs`.

use plimsoll_model::{Anomaly, Sink};

use super::Observer;
use crate::capture::Frame;
use crate::time_gate::Waiting;

impl<S: Sink> Observer<S> {
    /// Takes a frame whose time is far from the previous one's: now, or after the next one has come.
    #[cold]
    #[inline(never)]
    pub(super) fn far(&mut self, frame: &Frame<'_>, time_ns: i64) {
        let decided = self.gate.decide(frame, time_ns);
        self.leave_out(decided.outliers);
        if let Some(waiting) = &decided.release {
            self.waited(waiting, decided.jumped);
        }
        if !decided.waits {
            self.decided(frame, time_ns);
        }
    }

    /// Takes a frame that waited for a decision.
    #[inline(never)]
    fn decided(&mut self, frame: &Frame<'_>, time_ns: i64) {
        self.timed(frame, time_ns);
    }

    /// Takes a frame that waited.
    fn waited(&mut self, waiting: &Waiting, jumped: bool) {
        let (frame, time_ns) = waiting.frame();
        if self.span.0 > self.span.1 {
            self.shared.output.sink.begin(time_ns);
        }
        if jumped {
            self.shared.output.jumped_at = frame.number;
            self.shared.output.anomalies.add(Anomaly::TimeJump);
        }
        self.decided(&frame, time_ns);
    }

    /// Counts frames whose time is damaged: they carry no transaction.
    fn leave_out(&mut self, frames: u64) {
        self.packets.other += frames;
        self.shared.output.anomalies.add_many(Anomaly::TimeOutlier, frames);
    }

    /// Takes or leaves out the frames that waited when the capture ended.
    pub(super) fn end_gate(&mut self) {
        let (waiting, outliers) = self.gate.end();
        self.leave_out(outliers);
        waiting.iter().enumerate().for_each(|(at, one)| self.waited(one, at > 0));
    }
}
