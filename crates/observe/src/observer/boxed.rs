//! An observer whose sink is behind a pointer.
//!
//! The way of a packet is generic over its sink, and compiled again for each. This one is compiled once, in this crate, for all callers that
//! can spare an indirect call per transaction.

use plimsoll_model::{Coverage, Names, Sink};

use super::{HandOverError, Observer};
use crate::capture::Frame;
use crate::tracer::Tracer;

type BoxedSink<'a> = Box<dyn Sink + 'a>;

/// An [`Observer`] of any sink.
pub struct BoxedObserver<'a>(Observer<BoxedSink<'a>>);

impl<'a> BoxedObserver<'a> {
    /// See [`Observer::new`].
    pub fn new(sink: BoxedSink<'a>) -> Self {
        Self(Observer::new(sink))
    }

    /// See [`Observer::with_session_keys`].
    #[cfg(feature = "decrypt")]
    #[must_use]
    pub fn with_session_keys(self, keys: crate::decrypt::SessionKeys) -> Self {
        Self(self.0.with_session_keys(keys))
    }

    /// See [`Observer::traced`].
    #[must_use]
    pub fn traced(self, tracer: Box<dyn Tracer + Send>) -> Self {
        Self(self.0.traced(tracer))
    }

    /// See [`Observer::of_state`].
    ///
    /// # Errors
    /// As there.
    pub fn of_state(state: &[u8], sink: BoxedSink<'a>) -> Result<Self, HandOverError> {
        Observer::of_state(state, sink).map(Self)
    }

    /// See [`Observer::frame`].
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.0.frame(frame);
    }

    /// See [`Observer::captured_until`].
    pub fn captured_until(&mut self, ns: i64) {
        self.0.captured_until(ns);
    }

    /// Ends the capture: passes on waiting data. Returns the names of the transactions, and the completeness of the capture.
    pub fn finish(self) -> (Names, Coverage) {
        let observed = self.0.finish();
        (observed.names, observed.coverage)
    }
}
