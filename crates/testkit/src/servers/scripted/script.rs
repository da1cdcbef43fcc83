//! The server's handling of timed calls.

use std::time::Duration;

use super::answers::Asked;
use super::latency::{Draw, Latency};

/// The server's handling of timed calls.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// How long each takes.
    pub latency: Latency,
    /// How these times are drawn.
    pub draw: Draw,
    /// Whether calls wait for each other.
    pub service: Service,
    /// When nothing is answered at all.
    pub stalls: Option<Stalls>,
    /// Special treatment of some calls.
    pub odd: Oddities,
    /// The same seed, the same times, in the order in which calls arrive.
    pub seed: u64,
}

impl Script {
    /// Each call is answered after its own time, independent of others.
    #[must_use]
    pub fn parallel(latency: Latency) -> Self {
        Self { latency, draw: Draw::Stratified, service: Service::Parallel, stalls: None, odd: Oddities::NONE, seed: 1 }
    }

    /// One call at a time, in the order in which they arrive.
    #[must_use]
    pub fn queue(latency: Latency) -> Self {
        Self { latency, draw: Draw::Independent, service: Service::Queue, stalls: None, odd: Oddities::NONE, seed: 1 }
    }
}

/// Whether calls wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Each is answered after its own time, however many there are.
    Parallel,
    /// One at a time, in the order in which they arrive: the time drawn is the time at work, and waiting comes on top.
    Queue,
    /// At most this number of calls at a time: the capacity is this number per mean service time.
    Workers(u32),
}

/// Times at which the whole server stops: answers due then are sent at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// When the first one begins, after the first timed call arrived.
    pub first: Duration,
    /// From the beginning of one stall to that of the next; longer than [`Stalls::length`].
    pub every: Duration,
    /// How long each is.
    pub length: Duration,
}

impl Stalls {
    /// The end of the stall that this instant is in, ns after the first timed call.
    pub(super) fn end(&self, at: u64) -> Option<u64> {
        let (first, every) = (nanoseconds(self.first), nanoseconds(self.every).max(1));
        let since = at.checked_sub(first)?;
        let begun = first + since / every * every;
        let end = begun + nanoseconds(self.length);
        (at < end).then_some(end)
    }
}

/// Special treatment of some calls. A file is identified by the number at the end of its name, and so is a client that uses its own file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oddities {
    /// Only READs of this size take this multiple of the usual time.
    pub slow_size: Option<(u32, f64)>,
    /// Calls on the file with this number take this multiple of the usual time.
    pub unfair_file: Option<(u16, f64)>,
    /// Of the calls on the file with this number, one in this number is never answered.
    pub lossy_file: Option<(u16, u32)>,
}

impl Oddities {
    /// All alike.
    pub const NONE: Self = Self { slow_size: None, unfair_file: None, lossy_file: None };

    /// Factor of a call's time compared with other calls.
    pub(super) fn factor(&self, asked: Asked) -> f64 {
        let size = self.slow_size.filter(|(bytes, _)| asked.read == Some(*bytes)).map_or(1.0, |(_, factor)| factor);
        let file = self.unfair_file.filter(|(file, _)| asked.file == Some(*file)).map_or(1.0, |(_, factor)| factor);
        size * file
    }
}

/// A time in nanoseconds, at most what fits.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
