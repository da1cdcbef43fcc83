//! What the server does with timed calls.

use std::time::Duration;

use super::answers::Asked;
use super::latency::{Draw, Latency};

/// What the server does with timed calls.
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
    /// What is treated otherwise than all else.
    pub odd: Oddities,
    /// The same seed, the same times, in the order in which calls arrive.
    pub seed: u64,
}

impl Script {
    /// Each call answered after its own time, whatever others do.
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
    /// So many at a time, likewise: the capacity is so many calls in the mean time at work.
    Workers(u32),
}

/// When the whole server stands still: nothing is answered, and what was due then is answered at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// When the first one begins, after the first timed call arrived.
    pub first: Duration,
    /// From the beginning of one to that of the next; longer than [`Stalls::length`].
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

/// What a server treats otherwise than all else. A file is known by the number that its name ends in: a client that works on a
/// file of its own is known by that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oddities {
    /// READs of so many bytes, and no others, take so many times as long.
    pub slow_size: Option<(u32, f64)>,
    /// Calls on the file of this number take so many times as long.
    pub unfair_file: Option<(u16, f64)>,
    /// Of the calls on the file of this number, one in so many is never answered.
    pub lossy_file: Option<(u16, u32)>,
}

impl Oddities {
    /// All alike.
    pub const NONE: Self = Self { slow_size: None, unfair_file: None, lossy_file: None };

    /// How many times as long as others a call takes.
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
