//! Connections in memory under a clock that only moves when everybody waits: the same run, to the nanosecond, every time.

mod delays;
mod server;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind, IoSlice};
use std::net::{Ipv4Addr, SocketAddr};

pub use delays::Delays;
pub use server::{Accept, Delivery, Reply, Server};

use super::{ConnectionKey, Network, Ready, Received, Take};

/// Decides about attempts to connect: it gets the connection, how many attempts it saw before, and the time.
type Door = Box<dyn FnMut(ConnectionKey, u32, i64) -> Accept + Send>;

/// Connections in memory.
pub struct Memory {
    delays: Delays,
    /// The run-wide number of the first connection, and the distance between the numbers.
    numbers: (u32, u32),
    now: i64,
    door: Door,
    ends: Vec<End>,
    coming: BinaryHeap<Reverse<Coming>>,
    sequence: u64,
    /// Connections with something to read or room that is waited for.
    ready: BTreeSet<u32>,
}

/// The client's end of a connection.
#[derive(Default)]
struct End {
    server: Option<Box<dyn Server>>,
    /// Bytes that were delivered and not read.
    inbox: VecDeque<u8>,
    /// Arrival time of the last bytes.
    came: i64,
    /// The result of reading an empty inbox: an end (`Ok`) or an error.
    over: Option<Result<(), ErrorKind>>,
    connected: bool,
    wants_room: bool,
    has_room: bool,
    attempts: u32,
    /// Data for an older connection with this key is dropped.
    life: u32,
}

/// Ordered by time, and at the same time by the order in which it was sent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    at: i64,
    sequence: u64,
    key: u32,
    life: u32,
    what: Arrival,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    Connected,
    Bytes(Vec<u8>),
    Over(Option<ErrorKind>),
    Room,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Memory {
    /// No connection yet, at `start` (ns since the Unix epoch). `door` decides about attempts to connect.
    pub fn new(start: i64, door: impl FnMut(ConnectionKey, u32, i64) -> Accept + Send + 'static) -> Self {
        let (ends, coming, ready) = (Vec::new(), BinaryHeap::new(), BTreeSet::new());
        let delays = Delays::default();
        Self { delays, numbers: (0, 1), now: start, door: Box::new(door), ends, coming, sequence: 0, ready }
    }

    /// The same; the generator's thread is kept from running as `delays` say.
    #[must_use]
    pub fn delayed(self, delays: Delays) -> Self {
        Self { delays, ..self }
    }

    /// The same of one of several workers or processes: its connections have the numbers `first`, `first + step` … in the whole run, which
    /// their addresses follow from.
    #[must_use]
    pub fn numbered(self, first: u32, step: u32) -> Self {
        Self { numbers: (first, step), ..self }
    }

    fn end(&mut self, key: ConnectionKey) -> &mut End {
        let at = key.0 as usize;
        if self.ends.len() <= at {
            self.ends.resize_with(at + 1, End::default);
        }
        &mut self.ends[at]
    }

    fn schedule(&mut self, key: ConnectionKey, at: i64, what: Arrival) {
        let life = self.end(key).life;
        let at = at.max(self.now);
        self.sequence += 1;
        self.coming.push(Reverse(Coming { at, sequence: self.sequence, key: key.0, life, what }));
    }

    /// Delivers all events up to now.
    fn deliver(&mut self) {
        while self.coming.peek().is_some_and(|Reverse(next)| next.at <= self.now)
            && let Some(Reverse(coming)) = self.coming.pop()
        {
            let end = self.end(ConnectionKey(coming.key));
            if end.life != coming.life {
                continue;
            }
            match coming.what {
                Arrival::Connected => (end.connected, end.has_room) = (true, true),
                Arrival::Bytes(bytes) => {
                    end.inbox.extend(bytes);
                    end.came = coming.at;
                }
                Arrival::Over(error) => end.over = Some(error.map_or(Ok(()), Err)),
                Arrival::Room => end.has_room = true,
            }
            self.look(ConnectionKey(coming.key));
        }
    }

    /// Notes whether a connection has something to tell.
    fn look(&mut self, key: ConnectionKey) {
        let end = self.end(key);
        if end.readable() || end.writable() {
            self.ready.insert(key.0);
        } else {
            self.ready.remove(&key.0);
        }
    }

    /// Takes up to `count` bytes out of an inbox.
    fn take(&mut self, key: ConnectionKey, count: usize, mut each: impl FnMut(usize, u8)) -> io::Result<Received> {
        let now = self.now;
        let end = self.end(key);
        if end.inbox.is_empty() {
            return match end.over {
                Some(Ok(())) => Ok(Received { bytes: 0, kernel_ns: Some(now) }),
                Some(Err(kind)) => Err(kind.into()),
                None => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let (bytes, came) = (count.min(end.inbox.len()), end.came);
        end.inbox.drain(..bytes).enumerate().for_each(|(at, byte)| each(at, byte));
        self.look(key);
        Ok(Received { bytes, kernel_ns: Some(came) })
    }
}

impl End {
    fn readable(&self) -> bool {
        !self.inbox.is_empty() || self.over.is_some()
    }

    fn writable(&self) -> bool {
        self.wants_room && (self.has_room || self.over.is_some())
    }
}

impl Network for Memory {
    fn now(&mut self) -> i64 {
        self.now
    }

    fn connect(&mut self, key: ConnectionKey, _to: SocketAddr) -> io::Result<()> {
        let now = self.now;
        let end = self.end(key);
        let attempts = end.attempts;
        *end = End { attempts: attempts + 1, life: end.life + 1, wants_room: true, ..End::default() };
        self.look(key);
        match (self.door)(key, attempts, now) {
            Accept::Refuse(kind, after) => self.schedule(key, now + after, Arrival::Over(Some(kind))),
            Accept::Silence => {}
            Accept::Serve(server, after) => {
                self.end(key).server = Some(server);
                self.schedule(key, now + after, Arrival::Connected);
            }
        }
        Ok(())
    }

    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr> {
        let end = self.ends.get(key.0 as usize).ok_or(ErrorKind::NotConnected)?;
        if let Some(Err(kind)) = end.over {
            return Err(kind.into());
        }
        if !end.connected {
            return Err(ErrorKind::WouldBlock.into());
        }
        // A unique address per connection.
        let number = self.numbers.0 + key.0 * self.numbers.1;
        let port = 1024 + (number % 60_000) as u16;
        Ok(SocketAddr::from((Ipv4Addr::from(0x0a00_0001 + number / 60_000), port)))
    }

    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let now = self.now;
        let end = self.end(key);
        if let Some(over) = end.over {
            return Err(over.err().unwrap_or(ErrorKind::BrokenPipe).into());
        }
        let Some(server) = &mut end.server else { return Err(ErrorKind::NotConnected.into()) };
        let (room, again) = server.room(now);
        let mut bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        if room < bytes.len() {
            bytes.truncate(room);
            end.has_room = false;
            self.schedule(key, again, Arrival::Room);
        }
        if bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut replies = Vec::new();
        if let Some(server) = &mut self.end(key).server {
            server.received(now, &bytes, &mut replies);
        }
        for reply in replies {
            let what = match reply.what {
                Delivery::Bytes(bytes) => Arrival::Bytes(bytes),
                Delivery::Close => Arrival::Over(None),
                Delivery::Reset => Arrival::Over(Some(ErrorKind::ConnectionReset)),
            };
            self.schedule(key, reply.at, what);
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], _: Take) -> io::Result<Received> {
        let room = buffer.len();
        self.take(key, room, |at, byte| buffer[at] = byte)
    }

    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        self.take(key, count, |_, _| {})
    }

    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()> {
        self.end(key).wants_room = wanted;
        self.look(key);
        Ok(())
    }

    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.deliver();
        if self.ready.is_empty() {
            let next = self.coming.peek().map(|Reverse(coming)| coming.at);
            let Some(then) = next.into_iter().chain(until).min() else {
                return Err(io::Error::other("nothing will ever happen"));
            };
            self.now = self.delays.runs(self.now, then);
            self.deliver();
            // Other threads have separate clocks: lets them catch up.
            std::thread::yield_now();
        }
        ready.extend(self.ready.iter().map(|&key| {
            let end = &self.ends[key as usize];
            Ready { key: ConnectionKey(key), readable: end.readable(), writable: end.writable() }
        }));
        Ok(())
    }

    fn close(&mut self, key: ConnectionKey) {
        let end = self.end(key);
        *end = End { attempts: end.attempts, life: end.life + 1, ..End::default() };
        self.look(key);
    }
}
