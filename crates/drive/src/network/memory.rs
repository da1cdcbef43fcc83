//! Connections in memory under a clock that only moves when everybody waits: the same run, to the nanosecond, every time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind, IoSlice};
use std::net::{Ipv4Addr, SocketAddr};

use super::{ConnectionKey, Network, Ready, Received, Take};

/// The remote end of a connection.
pub trait Server: Send {
    /// Bytes arrived at `at`. Replies are added to `replies`.
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>);
    /// How many bytes it takes at `at`; where that is less than the client has, the client may try again at the instant
    /// that is returned with it.
    fn room(&mut self, at: i64) -> (usize, i64) {
        (usize::MAX, at)
    }
}

impl<F: FnMut(i64, &[u8], &mut Vec<Reply>) + Send> Server for F {
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
        self(at, bytes, replies);
    }
}

/// Something that reaches the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// When.
    pub at: i64,
    /// What.
    pub what: Delivery,
}

/// An event at a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Bytes.
    Bytes(Vec<u8>),
    /// The end: the server closed the connection.
    Close,
    /// A reset.
    Reset,
}

/// The result of an attempt to connect.
pub enum Accept {
    /// Fails with this error after this time, ns.
    Refuse(ErrorKind, i64),
    /// Nothing ever comes back.
    Silence,
    /// Succeeds after this time, ns.
    Serve(Box<dyn Server>, i64),
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Accept::Refuse(..) => "Refuse",
            Accept::Silence => "Silence",
            Accept::Serve(..) => "Serve",
        })
    }
}

/// Decides about attempts to connect: it gets the connection, how many attempts it saw before, and the time.
type Door = Box<dyn FnMut(ConnectionKey, u32, i64) -> Accept + Send>;

/// How the generator's thread is kept from running, as the clock shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Wake-up latency after a wait, ns.
    pub waking_ns: i64,
    /// Other work uses the processor periodically: (period, duration from its beginning), ns from the Unix epoch on; 0: never.
    pub taken_ns: (i64, i64),
}

impl Delays {
    /// When the thread runs that waited for `due`, at `now`.
    fn runs(&self, now: i64, due: i64) -> i64 {
        let idle_inhibitor = if due > now { due.saturating_add(self.waking_ns) } else { now };
        let (every, taken) = self.taken_ns;
        let into = if every > 0 { idle_inhibitor.rem_euclid(every) } else { taken };
        idle_inhibitor.saturating_add((taken - into).max(0))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ConnectionKey = ConnectionKey(0);
    const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

    /// Echoes received bytes after 100 ns, and closes 50 ns later.
    fn echo(at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
        replies.push(Reply { at: at + 150, what: Delivery::Close });
        replies.push(Reply { at: at + 100, what: Delivery::Bytes(bytes.to_vec()) });
    }

    fn step(net: &mut Memory, until: Option<i64>) -> Vec<Ready> {
        let mut ready = Vec::new();
        net.wait(until, &mut ready).unwrap();
        ready
    }

    #[test]
    fn the_clock_moves_to_what_comes_next_and_no_further() {
        let mut net = Memory::new(1_000, |_, _, _| Accept::Serve(Box::new(echo), 30));
        net.connect(KEY, ANYWHERE).unwrap();
        assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(step(&mut net, Some(1_010)), []);
        assert_eq!(net.now(), 1_010);
        assert_eq!(step(&mut net, None), [Ready { key: KEY, readable: false, writable: true }]);
        assert_eq!(net.now(), 1_030);
        assert!(net.local(KEY).is_ok());
        net.want_writable(KEY, false).unwrap();
        assert_eq!(net.send(KEY, &[IoSlice::new(b"ab"), IoSlice::new(b"c")]).unwrap(), 3);
        assert_eq!(step(&mut net, None), [Ready { key: KEY, readable: true, writable: false }]);
        assert_eq!(net.now(), 1_130);
        let mut buffer = [0; 2];
        assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap(), Received { bytes: 2, kernel_ns: Some(1_130) });
        assert_eq!(&buffer, b"ab");
        assert_eq!(step(&mut net, None).len(), 1, "a byte is left");
        assert_eq!(net.discard(KEY, 9).unwrap().bytes, 1);
        assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(step(&mut net, None).len(), 1, "the end");
        assert_eq!((net.now(), net.receive(KEY, &mut buffer, Take::AtOnce).unwrap().bytes), (1_180, 0));
        net.close(KEY);
        let mut ready = Vec::new();
        assert!(net.wait(None, &mut ready).is_err(), "nothing will ever happen");
    }

    #[test]
    fn what_was_sent_to_a_connection_before_does_not_reach_the_next() {
        let mut net = Memory::new(0, |_, attempt, _| match attempt {
            0 => Accept::Serve(Box::new(echo), 0),
            _ => Accept::Refuse(ErrorKind::ConnectionRefused, 500),
        });
        net.connect(KEY, ANYWHERE).unwrap();
        step(&mut net, None);
        net.send(KEY, &[IoSlice::new(b"x")]).unwrap();
        net.connect(KEY, ANYWHERE).unwrap();
        assert_eq!(step(&mut net, None), [], "old bytes, dropped");
        while step(&mut net, None).is_empty() {}
        assert_eq!(net.now(), 500);
        assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
