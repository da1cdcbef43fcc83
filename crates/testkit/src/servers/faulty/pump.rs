//! One connection: bytes to the server as they come, messages to the client as the rules say.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::rules::{Fault, Judge};
use super::{Framing, GLANCE, Seen, interfaces, persistent};

/// How often a connection looks whether it is to end though nothing happens on it: seldom, for there may be hundreds.
const IDLE: Duration = Duration::from_millis(25);
/// Maximum number of bytes that wait in one direction: some of the longest messages.
const FULL: usize = 64 << 20;

/// A pair of connections, on a thread that alone holds them: dropping one closes it.
#[derive(Debug)]
pub(super) struct Pump {
    client: TcpStream,
    server: TcpStream,
    framing: Framing,
    judge: Judge,
    /// From the server, an incomplete message.
    incoming: Vec<u8>,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    held: Vec<Held>,
    /// Bytes that went to the client.
    written: u64,
    seen: Seen,
    /// Whether the client has sent its last byte, and whether the server was informed.
    client_done: (bool, bool),
    server_done: bool,
}

/// A message that waits.
#[derive(Debug)]
struct Held {
    message: Vec<u8>,
    until: Until,
}

#[derive(Debug)]
enum Until {
    Time(Instant),
    /// Until this number of messages have passed.
    Passed(u64),
}

/// How a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Going,
    /// It ends in order.
    Closed,
    Reset,
}

impl Pump {
    pub(super) fn new(client: TcpStream, server: TcpStream, framing: Framing, judge: Judge) -> io::Result<Self> {
        for stream in [&client, &server] {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
        }
        Ok(Self {
            client,
            server,
            framing,
            judge,
            incoming: Vec::new(),
            to_client: Vec::new(),
            to_server: Vec::new(),
            held: Vec::new(),
            written: 0,
            seen: Seen::default(),
            client_done: (false, false),
            server_done: false,
        })
    }

    /// Until it ends, of itself or because everything does.
    pub(super) fn run(mut self, down: &AtomicBool, note: impl Fn(Seen)) {
        loop {
            let taken = self.take();
            // Before the client can notice it.
            note(self.seen);
            // An error is a reset of one connection, which also resets the other.
            match taken.and_then(|()| self.forward()).unwrap_or(State::Reset) {
                State::Going if !down.load(Ordering::Relaxed) => self.wait(),
                State::Closed => return self.close(down),
                State::Going | State::Reset => {
                    reset(self.server);
                    return reset(self.client);
                }
            }
        }
    }

    /// Receives from both sides, and sends the server its part.
    fn take(&mut self) -> io::Result<()> {
        self.client_done.0 |= receive(&mut self.client, &mut self.to_server)?;
        send(&mut self.server, &mut self.to_server, usize::MAX)?;
        if self.client_done == (true, false) && self.to_server.is_empty() {
            self.server.shutdown(Shutdown::Write)?;
            self.client_done.1 = true;
        }
        let before = self.incoming.len();
        self.server_done |= receive(&mut self.server, &mut self.incoming)?;
        self.seen.bytes += (self.incoming.len() - before) as u64;
        while let Some(length) = self.framing.whole(&self.incoming) {
            let message = self.incoming.drain(..length).collect();
            self.seen.replies += 1;
            self.pass(message);
        }
        self.release();
        if self.server_done {
            // The rest of an incomplete message.
            self.to_client.append(&mut self.incoming);
        }
        Ok(())
    }

    /// One message, as the rules say.
    fn pass(&mut self, mut message: Vec<u8>) {
        if self.judge.has_persistent_handles() {
            persistent::grant(&mut message);
        }
        if let Some(addresses) = self.judge.interfaces() {
            interfaces::list(&mut message, &addresses);
        }
        match self.judge.next() {
            None => self.to_client.append(&mut message),
            Some(Fault::Never) => (),
            Some(Fault::Twice) => {
                self.to_client.extend_from_slice(&message);
                self.to_client.append(&mut message);
            }
            Some(Fault::Delayed(time)) => self.held.push(Held { message, until: Until::Time(Instant::now() + time) }),
            // The message itself is counted when it passes, so one more than it waits for.
            Some(Fault::After(count)) => self.held.push(Held { message, until: Until::Passed(count + 1) }),
            Some(Fault::Flipped(bit)) => {
                let bit = bit % (8 * message.len() as u64);
                if let Some(byte) = message.get_mut((bit / 8) as usize) {
                    *byte ^= 0x80 >> (bit % 8);
                }
                self.to_client.append(&mut message);
            }
            Some(Fault::Cut(length)) => self.to_client.extend_from_slice(message.get(..length).unwrap_or(&message)),
        }
        for held in &mut self.held {
            if let Until::Passed(count) = &mut held.until {
                *count = count.saturating_sub(1);
            }
        }
        self.release();
    }

    /// Sends the messages whose wait is over.
    fn release(&mut self) {
        let now = Instant::now();
        let ready = |held: &mut Held| match held.until {
            Until::Time(at) => at <= now,
            Until::Passed(left) => left == 0,
        };
        for mut held in self.held.extract_if(.., ready) {
            self.to_client.append(&mut held.message);
        }
    }

    /// Sends to the client, up to where the connection ends.
    fn forward(&mut self) -> io::Result<State> {
        let end = self.judge.end();
        let room = end.map_or(u64::MAX, |(offset, _)| offset.saturating_sub(self.written));
        self.written +=
            send(&mut self.client, &mut self.to_client, usize::try_from(room).unwrap_or(usize::MAX))? as u64;
        let timed = self.held.iter().any(|held| matches!(held.until, Until::Time(_)));
        Ok(match end {
            // At the offset, whether more would come or not.
            Some((offset, true)) if self.written >= offset => State::Reset,
            Some((offset, false)) if self.written >= offset => State::Closed,
            _ if self.server_done && self.to_client.is_empty() && !timed => State::Closed,
            _ => State::Going,
        })
    }

    /// Sleeps until there may be something to do.
    fn wait(&self) {
        let wanted = |out: &[u8], into: usize, done: bool| {
            let read = if done || into >= FULL { PollFlags::empty() } else { PollFlags::IN };
            read | if out.is_empty() { PollFlags::empty() } else { PollFlags::OUT }
        };
        let client = wanted(&self.to_client, self.to_server.len(), self.client_done.0);
        let server = wanted(&self.to_server, self.incoming.len() + self.to_client.len(), self.server_done);
        let mut sockets = [PollFd::new(&self.client, client), PollFd::new(&self.server, server)];
        let now = Instant::now();
        let due = self.held.iter().filter_map(|held| match held.until {
            Until::Time(at) => Some(at.saturating_duration_since(now)),
            Until::Passed(_) => None,
        });
        let limit = due.min().unwrap_or(IDLE).min(IDLE);
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
        // The next round finds any error.
        let _ready = rustix::event::poll(&mut sockets, Some(&limit));
    }

    /// An orderly close: the client sees the end of the stream; its remaining bytes are read and discarded, because unread bytes would
    /// cause a reset.
    fn close(mut self, down: &AtomicBool) {
        if self.client.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut rest = Vec::new();
        while !down.load(Ordering::Relaxed) && matches!(receive(&mut self.client, &mut rest), Ok(false)) {
            rest.clear();
            std::thread::sleep(GLANCE);
        }
    }
}

/// Receives available bytes; returns true at the end of the stream.
fn receive(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 64 << 10];
    while into.len() < FULL {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => into.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Sends as much as possible, up to `most` bytes.
fn send(stream: &mut TcpStream, from: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let mut sent = 0;
    while let Some(rest) = from.get(sent..from.len().min(most)).filter(|rest| !rest.is_empty()) {
        match stream.write(rest) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    from.drain(..sent);
    Ok(sent)
}

/// Ends a connection by a reset instead of in order.
pub(super) fn reset(stream: TcpStream) {
    // Without it the connection ends in order: all that can be done.
    let _set = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}
