//! The thread that answers: one epoll set, and a heap of due answers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, IoSliceMut, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use rustix::event::{Timespec, epoll};

use super::answers::{Answer, answer};
use super::schedule::Schedule;
use super::script::nanoseconds;

/// The thread stops sleeping this time before an answer is due, ns: waking up takes some ten microseconds, more on a machine that saves
/// power.
const EARLY: u64 = 150_000;
/// How often it looks whether it is to stop, at least, ns.
const GLANCE: u64 = 20_000_000;
/// The longest call, bytes.
const LONGEST_CALL: usize = 64 << 10;
/// Answers kept for [`super::Scripted::stop`].
const MOST_KEPT: usize = 4 << 20;
/// The listener among the connections.
const LISTENER: u64 = 0;

/// A timed call that was answered. Nanoseconds since the kernel had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// When it was to be answered.
    pub due: u64,
    /// When the server began to send the answer; the difference is its own error.
    pub sent: u64,
}

#[derive(Debug)]
pub(super) struct Machine {
    listener: TcpListener,
    epoll: OwnedFd,
    schedule: Schedule,
    stop: Arc<AtomicBool>,
    clock: Instant,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Due time, order of arrival, connection.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    waiting: BTreeMap<u64, Waiting>,
    arrivals: u64,
    answered: Vec<Answered>,
}

#[derive(Debug)]
struct Waiting {
    connection: u64,
    arrived: u64,
    due: u64,
    answer: Answer,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// Waits until it can be written to.
    full: bool,
}

impl Machine {
    pub(super) fn new(listener: TcpListener, schedule: Schedule, stop: Arc<AtomicBool>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            listener,
            epoll,
            schedule,
            stop,
            clock: Instant::now(),
            connections: BTreeMap::new(),
            next: LISTENER + 1,
            due: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            answered: Vec::new(),
        })
    }

    pub(super) fn run(mut self) -> io::Result<Vec<Answered>> {
        // The default of 50 µs would be the largest part of every wake-up's lateness.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let mut events = Vec::with_capacity(256);
        while !self.stop.load(Ordering::Relaxed) {
            self.send_due();
            let now = self.now();
            let next = self.due.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let sleep = next.saturating_sub(now).saturating_sub(EARLY).min(GLANCE);
            let limit = Timespec { tv_sec: 0, tv_nsec: i64::try_from(sleep).unwrap_or(0) };
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&limit)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    key => self.serve(key),
                }
            }
        }
        Ok(self.answered)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.clock.elapsed())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    setsockopt(&stream, sockopt::ReceiveTimestampns, &true)?;
                    let (key, flags) = (self.next, epoll::EventFlags::IN);
                    self.next += 1;
                    epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(key), flags)?;
                    let connection = Connection { stream, incoming: Vec::new(), outgoing: Vec::new(), full: false };
                    self.connections.insert(key, connection);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The client took it back.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => (),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads and writes what is possible; the end of a connection drops its calls.
    fn serve(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let Ok(calls) = connection.receive() else {
            self.connections.remove(&key);
            return;
        };
        let (now, time_of_day) = (self.clock.elapsed(), SystemTime::now());
        for (stamp, answer) in calls {
            // The kernel's time of day in terms of our clock: however late this thread woke up, the call is not.
            let since = time_of_day.duration_since(UNIX_EPOCH + stamp).unwrap_or_default();
            let arrived = nanoseconds(now.saturating_sub(since));
            if answer.timed {
                let Some(due) = self.schedule.due(arrived, answer.asked) else { continue };
                let order = self.arrivals;
                self.arrivals += 1;
                self.due.push(Reverse((due, order)));
                self.waiting.insert(order, Waiting { connection: key, arrived, due, answer });
            } else {
                answer.write(&mut connection.outgoing);
            }
        }
        self.flush(key);
    }

    /// Sends everything whose time has come, what goes to one connection together.
    fn send_due(&mut self) {
        let mut gone: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        while let Some(Reverse((due, order))) = self.due.peek().copied()
            && due <= self.now()
        {
            self.due.pop();
            let Some(waiting) = self.waiting.remove(&order) else { continue };
            let Some(connection) = self.connections.get_mut(&waiting.connection) else { continue };
            waiting.answer.write(&mut connection.outgoing);
            gone.entry(waiting.connection).or_default().push((waiting.arrived, waiting.due));
        }
        for (key, answers) in gone {
            let (sent, room) = (self.now(), MOST_KEPT.saturating_sub(self.answered.len()));
            let answered = answers.into_iter().take(room);
            self.answered.extend(answered.map(|(arrived, due)| Answered { due: due - arrived, sent: sent - arrived }));
            self.flush(key);
        }
    }

    fn flush(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let before = connection.full;
        let alive = connection.send();
        let flags = match connection.full {
            true => epoll::EventFlags::OUT,
            false => epoll::EventFlags::IN,
        };
        let changed = before == connection.full
            || epoll::modify(&self.epoll, &connection.stream, epoll::EventData::new_u64(key), flags).is_ok();
        if alive.is_err() || !changed {
            self.connections.remove(&key);
        }
    }
}

impl Connection {
    /// The complete calls, each with the kernel timestamp of the read that completed it. While answers cannot be written, no calls are
    /// read: memory stays bounded.
    fn receive(&mut self) -> io::Result<Vec<(Duration, Answer)>> {
        let mut calls = Vec::new();
        let mut buffer = [0; 16 << 10];
        while !self.full {
            let (count, stamp) = match stamped(&self.stream, &mut buffer) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            self.incoming.extend_from_slice(buffer.get(..count).unwrap_or_default());
            while let Some((record, length)) = first_record(&self.incoming)? {
                calls.push((stamp, answer(record).ok_or(io::ErrorKind::InvalidData)?));
                self.incoming.drain(..length);
            }
        }
        Ok(calls)
    }

    fn send(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.full = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.full = false;
        Ok(())
    }
}

/// Reads, and returns the kernel timestamp of the last byte, since 1970; the present time without one.
fn stamped(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Duration)> {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let read = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())?;
    let stamp = read.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((read.bytes, stamp.unwrap_or_else(now)))
}

/// The first record, which must be one fragment, and its length with its mark.
pub(super) fn first_record(bytes: &[u8]) -> io::Result<Option<(&[u8], usize)>> {
    let Some(mark) = bytes.first_chunk().map(|mark| u32::from_be_bytes(*mark)) else { return Ok(None) };
    let length = (mark & 0x7fff_ffff) as usize;
    if mark & 0x8000_0000 == 0 || length > LONGEST_CALL {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(bytes.get(4..4 + length).map(|record| (record, 4 + length)))
}
