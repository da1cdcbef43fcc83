//! A blocking client over one TCP connection, for bootstrap and tests, not for load.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use plimsoll_model::{Symbol, Transaction};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{Arrived, Client, Events};
use crate::clock;
use crate::inbox::Inbox;
use crate::operation::{Cause, Done, Failure, Operation, Reply, Tag, Ticket};
use crate::outbox::Outbox;
use crate::tls::Stream;

/// Bytes taken from the socket at once.
const CHUNK: usize = 64 << 10;
/// Slices handed to one `writev`.
const SLICES: usize = 64;

/// Events that a client reported.
#[derive(Debug, Default)]
pub struct Collected {
    /// Requests that ended, in that order.
    pub transactions: Vec<Transaction>,
    /// Data of reads with `keep`.
    pub data: Vec<(Tag, u64, Vec<u8>)>,
    /// Names listed.
    pub entries: Vec<(Tag, String)>,
    done: VecDeque<Done>,
}

impl Collected {
    /// How something went that was begun, if it is over.
    pub fn take_done(&mut self, tag: Tag) -> Option<Result<Reply, Failure>> {
        let at = self.done.iter().position(|done| done.tag == tag)?;
        self.done.remove(at).map(|done| done.result)
    }
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.transactions.push(transaction.clone());
    }

    fn done(&mut self, done: Done) {
        self.done.push_back(done);
    }

    fn data(&mut self, tag: Tag, offset: u64, piece: &[u8]) {
        self.data.push((tag, offset, piece.to_vec()));
    }

    fn entry(&mut self, tag: Tag, name: &str) {
        self.entries.push((tag, name.to_owned()));
    }
}

/// One client on one connection. Its clock is monotonic, set from the system's at the start.
#[derive(Debug)]
pub struct Blocking<C> {
    /// The protocol machine.
    pub client: C,
    /// Events so far.
    pub seen: Collected,
    stream: Stream,
    out: Outbox,
    inbox: Inbox,
    clock: (Instant, i64),
    patience: Duration,
    ended: bool,
    next_tag: u64,
}

impl<C: Client> Blocking<C> {
    /// Connects; `make` makes the client for the local address. No operation may take longer than `patience`.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn open(to: SocketAddr, patience: Duration, make: impl FnOnce(SocketAddr) -> C) -> io::Result<Self> {
        Self::on(Stream::plain(TcpStream::connect_timeout(&to, patience)?), patience, make)
    }

    /// As [`Self::open`], with an existing connection.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn on(stream: Stream, patience: Duration, make: impl FnOnce(SocketAddr) -> C) -> io::Result<Self> {
        stream.socket().set_nodelay(true)?;
        stream.socket().set_nonblocking(true)?;
        let client = make(stream.socket().local_addr()?);
        let clock = (Instant::now(), clock::time_of_day());
        let (seen, out, inbox) = (Collected::default(), Outbox::new(), Inbox::default());
        Ok(Self { client, seen, stream, out, inbox, clock, patience, ended: false, next_tag: 1 })
    }

    /// Performs the client's first exchange, such as a logon.
    ///
    /// # Errors
    /// The reason why it failed.
    pub fn connect(&mut self) -> Result<Reply, Failure> {
        let now = self.now();
        self.client.connect(now, &mut self.out, &mut self.seen);
        self.wait(Tag::CONNECT)
    }

    /// Does one thing and waits for it.
    ///
    /// # Errors
    /// Why it did not succeed.
    pub fn act(&mut self, operation: &Operation<'_>) -> Result<Reply, Failure> {
        let tag = self.begin(operation);
        self.wait(tag)
    }

    /// Begins something; its tag is for [`Blocking::wait`].
    pub fn begin(&mut self, operation: &Operation<'_>) -> Tag {
        let tag = Tag(self.next_tag);
        self.next_tag += 1;
        let ticket = Ticket { tag, intended: None, path: Symbol::NONE };
        let now = self.now();
        self.client.begin(operation, ticket, now, &mut self.out, &mut self.seen);
        tag
    }

    /// Waits for something that was begun.
    ///
    /// # Errors
    /// Why it did not succeed.
    pub fn wait(&mut self, tag: Tag) -> Result<Reply, Failure> {
        let until = Instant::now() + self.patience;
        loop {
            if let Some(result) = self.take_done(tag) {
                return result;
            }
            if self.ended || Instant::now() >= until {
                // The client owes a `done` for everything that was begun: it comes now, if it has not come.
                let now = self.now();
                self.client.broken(now, Cause::TimedOut, &mut self.seen);
                self.ended = true;
                if !self.seen.done.iter().any(|done| done.tag == tag) {
                    return Err(Failure::never_sent(Cause::Ended));
                }
                continue;
            }
            self.step(until.saturating_duration_since(Instant::now()));
        }
    }

    /// How something went that was begun, if it is over.
    pub fn take_done(&mut self, tag: Tag) -> Option<Result<Reply, Failure>> {
        self.seen.take_done(tag)
    }

    /// Sends and receives for this time, or until no request is outstanding. Received events are stored.
    pub fn run_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while !self.ended && Instant::now() < until {
            self.step(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Logs off.
    ///
    /// # Errors
    /// Why the client could not.
    pub fn leave(&mut self) -> Result<Reply, Failure> {
        let now = self.now();
        self.client.leave(now, &mut self.out, &mut self.seen);
        self.wait(Tag::LEAVE)
    }

    /// The connection, for manual use. Reads and writes do not block.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.stream.into_socket()
    }

    /// Nanoseconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        let (start, epoch) = self.clock;
        epoch.saturating_add(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX))
    }

    /// Sends and receives as much as possible, or waits until either is possible.
    fn step(&mut self, most: Duration) {
        match self.exchange(most) {
            Ok(()) => {}
            Err(error) => {
                let cause = match error.kind() {
                    io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Cause::ConnectionReset,
                    io::ErrorKind::InvalidData => Cause::Malformed,
                    _ => Cause::ConnectionClosed,
                };
                let now = self.now();
                self.client.broken(now, cause, &mut self.seen);
                self.ended = true;
            }
        }
    }

    fn exchange(&mut self, most: Duration) -> io::Result<()> {
        let now = self.now();
        if self.client.wakes_at() <= now {
            self.client.wake(now, &mut self.out, &mut self.seen);
        }
        let sent = self.send()?;
        let received = self.receive()?;
        if !sent && !received {
            let wakes = self.client.wakes_at().saturating_sub(self.now()).max(0);
            let most = most.min(Duration::from_nanos(wakes.unsigned_abs()));
            let writable = if self.out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            let mut polled = [PollFd::new(self.stream.socket(), PollFlags::IN | writable)];
            let limit = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) as _ };
            rustix::event::poll(&mut polled, Some(&limit))?;
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<bool> {
        if self.out.is_empty() {
            return Ok(false);
        }
        let before = self.now();
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        self.out.slices(SLICES, &mut slices);
        match self.stream.write_vectored(&slices) {
            Ok(count) => {
                self.out.consume(count);
                self.client.sent(0, self.out.sent(), before);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                let now = self.now();
                self.arrived(chunk.get(..count).unwrap_or_default(), now)?;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn arrived(&mut self, mut bytes: &[u8], now: i64) -> io::Result<()> {
        let Self { client, inbox, out, seen, .. } = self;
        let mut take = |client: &mut dyn Client, message: Arrived<'_>| client.message(message, out, seen);
        loop {
            // Asked without bytes too, a client tells that its connection has just become unusable.
            let is_last = bytes.is_empty();
            if !inbox.feed(&mut bytes, now, client, &mut take) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
