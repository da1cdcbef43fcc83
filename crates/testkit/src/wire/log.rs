//! What happened to every packet.

use std::time::Duration;

use crate::Side;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reached the other end.
    Passed,
    /// It went there twice.
    Doubled,
    /// It was lost.
    Lost,
    /// The queue for the rate was full: it was dropped.
    QueueFull,
}

impl Fate {
    /// How often such a packet arrives.
    #[must_use]
    pub fn copies(self) -> usize {
        match self {
            Fate::Passed => 1,
            Fate::Doubled => 2,
            Fate::Lost | Fate::QueueFull => 0,
        }
    }
}

/// A packet that an end sent. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The end that sent it.
    pub from: Side,
    /// The IP packet.
    pub packet: Vec<u8>,
    /// When the wire took it.
    pub taken_ns: i64,
    /// Its fate.
    pub fate: Fate,
    /// Later packets may have overtaken it.
    pub is_held_back: bool,
    /// How long the wire was to keep it.
    pub delay: Duration,
    /// Its arrivals at the other end so far.
    pub deliveries: Vec<Delivery>,
}

/// An arrival of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// How many arrived at this end before.
    pub place: usize,
    /// How long the wire kept it, by the monotonic clock: the clock of captures may be set meanwhile.
    pub took: Duration,
    /// Just before the wire gave the packet to the kernel of the other end.
    pub begun_ns: i64,
    /// After it.
    pub ended_ns: i64,
}

/// All packets, in the order in which the wire took them.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The packets.
    pub passages: Vec<Passage>,
}

impl Log {
    /// The packets that an end sent, in order.
    pub fn sent(&self, by: Side) -> impl Iterator<Item = &Passage> {
        self.passages.iter().filter(move |passage| passage.from == by)
    }

    /// The packets that arrived at an end, in order.
    #[must_use]
    pub fn arrived(&self, at: Side) -> Vec<(&Passage, Delivery)> {
        let each = |passage| Passage::arrivals(passage);
        let mut arrived: Vec<_> = self.sent(at.other()).flat_map(each).collect();
        arrived.sort_by_key(|(_, delivery)| delivery.place);
        arrived
    }
}

impl Passage {
    fn arrivals(&self) -> impl Iterator<Item = (&Self, Delivery)> {
        self.deliveries.iter().map(move |delivery| (self, *delivery))
    }
}
