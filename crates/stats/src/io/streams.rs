//! Which streams are followed, and how many: in the order in which their requests were sent.
//!
//! Requests arrive in the order of their ends, so a window of them is sorted. What is forgotten for want of space must not depend on how a
//! load is divided into parts: so each connection of a load has a window and streams of its own, in numbers that follow from the whole
//! load. A capture can have any number of connections, most of them with few requests: they share one window and one space for streams.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::generations::Generations;
use super::sequence::{Head, step};
use super::{Direction, Request};

/// Streams that one connection, or a capture, can have.
const MOST_STREAMS: usize = 16_384;
/// Requests that one connection, or a capture, keeps in order: more than are outstanding at once.
const MOST_WAITING: usize = 1_024;
/// The same of all connections of a load: two threads with one connection each have as many streams.
const STREAMS_OF_LOAD: usize = 2 * MOST_STREAMS;
const WAITING_OF_LOAD: usize = 8 * MOST_WAITING;
/// The same of a connection of a load with so many that a fair share would be less. A stream takes about 300 bytes, a request 48.
const LEAST_STREAMS: usize = 4;
const LEAST_WAITING: usize = 8;

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Connections that are remembered one by one, in each of two generations; `None`: all are one.
    pub(super) connections: Option<usize>,
    /// Streams of a connection, in both generations.
    pub(super) streams: usize,
    /// Requests of a connection that are kept in order before the earliest is taken.
    pub(super) waiting: usize,
}

impl Limits {
    /// Of a capture.
    pub const CAPTURE: Self = Self { connections: None, streams: MOST_STREAMS, waiting: MOST_WAITING };

    /// Of a load with so many connections in all parts.
    pub fn of_load(connections: u64) -> Self {
        let connections = usize::try_from(connections).unwrap_or(usize::MAX).max(1);
        Self {
            connections: Some(connections),
            streams: (STREAMS_OF_LOAD / connections).clamp(LEAST_STREAMS, MOST_STREAMS),
            waiting: (WAITING_OF_LOAD / connections).clamp(LEAST_WAITING, MOST_WAITING),
        }
    }
}

/// Where orders and runs are counted.
pub(super) struct Found<'a> {
    pub(super) reads: &'a mut Direction,
    pub(super) writes: &'a mut Direction,
}

impl Found<'_> {
    fn of(&mut self, writes: bool) -> &mut Direction {
        if writes { self.writes } else { self.reads }
    }

    /// A stream ends, with all its runs.
    fn end(&mut self, ((_, _, writes), heads): &(Key, Vec<Head>)) {
        let direction = self.of(*writes);
        heads.iter().for_each(|head| direction.add_run(head.run()));
    }
}

/// Which stream: connection, file, whether it writes.
type Key = (u32, u64, bool);

/// All streams.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Streams {
    limits: Limits,
    connections: Generations<u32, Connection>,
}

/// A connection, or all of a capture.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Connection {
    /// Earliest first.
    waiting: BinaryHeap<Reverse<Request>>,
    streams: Generations<Key, Vec<Head>>,
}

impl Streams {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, connections: Generations::default() }
    }

    /// How many connections are remembered.
    #[cfg(test)]
    pub(super) fn connections(&self) -> usize {
        self.connections.clone().all().count()
    }

    /// Leaves none.
    pub(super) fn leave(&mut self) -> Self {
        let none = Self::new(self.limits);
        std::mem::replace(self, none)
    }

    /// Takes a request, which may have been sent before others that were taken.
    pub(super) fn take(&mut self, request: Request, found: &mut Found<'_>) {
        let Limits { connections, streams, waiting } = self.limits;
        let number = connections.map_or(0, |_| request.connection);
        let end = |(_, gone): (u32, Connection)| gone.end(streams, found);
        let connection = self.connections.at(number, connections.unwrap_or(1), end);
        if let Some(earliest) = connection.in_order(request, waiting) {
            connection.next(&earliest, streams, found);
        }
    }

    /// Takes what still waits, and ends all runs.
    pub(super) fn end(self, found: &mut Found<'_>) {
        self.connections.all().for_each(|(_, connection)| connection.end(self.limits.streams, found));
    }
}

impl Connection {
    /// Puts a request among those that wait; returns the earliest, if more than `most` would wait.
    fn in_order(&mut self, request: Request, most: usize) -> Option<Request> {
        if self.waiting.len() < most {
            self.waiting.push(Reverse(request));
            return None;
        }
        match self.waiting.peek_mut() {
            Some(mut earliest) if earliest.0 < request => Some(std::mem::replace(&mut earliest.0, request)),
            _ => Some(request),
        }
    }

    /// Takes the next request in the order of sending.
    fn next(&mut self, request: &Request, most: usize, found: &mut Found<'_>) {
        let key = (request.connection, request.file, request.writes);
        let heads = self.streams.at(key, most / 2, |gone| found.end(&gone));
        let (order, over) = step(heads, request);
        found.of(request.writes).add(order, over);
    }

    fn end(mut self, most: usize, found: &mut Found<'_>) {
        while let Some(Reverse(request)) = self.waiting.pop() {
            self.next(&request, most, found);
        }
        self.streams.all().for_each(|gone| found.end(&gone));
    }
}
