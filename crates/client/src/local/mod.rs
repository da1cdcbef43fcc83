//! The path target: operations through the operating system, below a mounted directory.
//!
//! So a kernel client, or a local disk, is measured with the same workloads. Each call blocks, so [`Client::begin`] performs the
//! operation and reports its result at once; each client needs a thread.
//!
//! Paths are relative to the directory and never go up (`..`); symbolic links in them are followed as by any program, wherever they lead.
//! Times are read just before and just after the system call; an open queries the file's size after that, outside of the measured time.
//!
//! Spec: POSIX.1-2024, System Interfaces; Linux man-pages section 2

mod asked;
mod calls;
mod data;
mod lock;
mod open_files;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use plimsoll_model::{Asked, FileCall, Frames, Outcome, Procedure, Timeline, Transaction, Vantage};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use self::open_files::OpenFiles;
use super::calls::Identity;
use super::{Arrived, Client, Events, Framing};
use crate::clock::Clock;
use crate::operation::{Cause, Done, Failure, Operation, Reply, Tag, Ticket};
use crate::outbox::Outbox;

/// The directory below which a path target works.
#[derive(Clone, Debug)]
pub struct Root {
    directory: Arc<OwnedFd>,
    reading: Reading,
}

/// Advice to the kernel how files are read (posix_fadvise), which controls read-ahead and caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Nothing.
    #[default]
    Unadvised,
    /// No read-ahead and no caching: each read goes to the storage. Written data is flushed first, because only clean pages can be
    /// dropped.
    UncachedAtRandom,
    /// Unlimited read-ahead, and read data is not cached.
    UncachedInOrder,
}

impl Root {
    /// Opens it.
    ///
    /// # Errors
    /// It is no directory, or not for us.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { directory: Arc::new(directory), reading: Reading::Unadvised })
    }

    /// The same, its files read in this way.
    #[must_use]
    pub fn read(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }
}

/// One user of a directory, with open files of his own.
#[derive(Debug)]
pub struct PathClient {
    root: Root,
    identity: Identity,
    files: OpenFiles,
    clock: Clock,
}

type Called = Result<Reply, Trouble>;

/// Why a call did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The system said no.
    Errno(Errno),
    /// It was never asked.
    NotAsked(Cause),
    /// Its result is invalid.
    Malformed,
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        Trouble::Errno(errno)
    }
}

impl PathClient {
    /// A user of this directory.
    #[must_use]
    pub fn new(root: Root, identity: Identity) -> Self {
        Self { root, identity, files: OpenFiles::default(), clock: Clock::new() }
    }

    /// Reports the result and the times of a call.
    fn tell(
        &self,
        call: FileCall,
        asked: Asked,
        ticket: Ticket,
        times: (i64, i64),
        called: Called,
        events: &mut dyn Events,
    ) {
        let (first, last) = times;
        let procedure = Procedure::of_call(call);
        let (status, outcome, payload_bytes) = match &called {
            Ok(Reply::Read { bytes } | Reply::Written { bytes }) => {
                (Some(0), Outcome::Succeeded, Some(u64::from(*bytes)))
            }
            Ok(_) => (Some(0), Outcome::Succeeded, None),
            Err(Trouble::Errno(errno)) => {
                let status = number(*errno);
                (Some(status), Outcome::of_status(procedure, status), None)
            }
            Err(Trouble::Malformed) => (Some(0), Outcome::Failed, None),
            Err(Trouble::NotAsked(_)) => (None, Outcome::NeverSent, None),
        };
        let result = called.map_err(|trouble| {
            let cause = match trouble {
                Trouble::Errno(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Cause::OutOfResources,
                Trouble::Errno(_) => Cause::Status,
                Trouble::Malformed => Cause::Malformed,
                Trouble::NotAsked(cause) => cause,
            };
            let asked = !matches!(trouble, Trouble::NotAsked(_));
            Failure { procedure: asked.then_some(procedure), status, outcome, cause }
        });
        if outcome != Outcome::NeverSent {
            events.transaction(
                Some(ticket.tag),
                &mut Transaction {
                    procedure,
                    client: self.identity.client,
                    server: self.identity.server,
                    connection: self.identity.connection,
                    session: None,
                    share: self.identity.share,
                    path: ticket.path,
                    user: self.identity.user,
                    id: None,
                    compound_position: None,
                    status,
                    outcome,
                    payload_bytes,
                    request_bytes: None,
                    response_bytes: None,
                    request_packets: 0,
                    response_packets: None,
                    timeline: Timeline {
                        intended: ticket.intended,
                        request_first: Some(first),
                        request_last: Some(first),
                        interim: None,
                        response_first: Some(last),
                        response_last: Some(last),
                    },
                    frames: Frames::default(),
                    vantage: Vantage::Client,
                    level: None,
                    long_lived: false,
                    counted: true,
                    resent_wait_ns: None,
                    asked,
                    client_index: None,
                },
            );
        }
        events.done(Done { tag: ticket.tag, at: last, result });
    }
}

fn number(errno: Errno) -> u32 {
    errno.raw_os_error().unsigned_abs()
}

impl Client for PathClient {
    fn connect(&mut self, now: i64, _out: &mut Outbox, events: &mut dyn Events) {
        events.done(Done { tag: Tag::CONNECT, at: now, result: Ok(Reply::Nothing) });
    }

    fn begin(
        &mut self,
        operation: &Operation<'_>,
        ticket: Ticket,
        _now: i64,
        _out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        // Before the file is closed, and before the time begins.
        let asked = self.asked(operation);
        let first = self.clock.now();
        // Copied, because `perform` borrows the client mutably and reads the clock in between.
        let clock = self.clock;
        let mut last = first;
        let (call, called) = self.perform(operation, ticket.tag, &mut || last = clock.now(), events);
        match call {
            Some(call) => self.tell(call, asked, ticket, (first, last), called, events),
            // Nothing that the system was asked for.
            None => {
                let result = called.map_err(|trouble| match trouble {
                    Trouble::NotAsked(cause) => Failure::never_sent(cause),
                    Trouble::Errno(_) | Trouble::Malformed => Failure::never_sent(Cause::Unsupported),
                });
                events.done(Done { tag: ticket.tag, at: first, result });
            }
        }
    }

    fn framing(&self, _channel: u32, _head: &[u8]) -> Framing {
        Framing::Broken
    }

    fn message(&mut self, _message: Arrived<'_>, _out: &mut Outbox, _events: &mut dyn Events) {}

    fn sent(&mut self, _channel: u32, _through: u64, _at: i64) {}

    fn broken(&mut self, _at: i64, _cause: Cause, _events: &mut dyn Events) {
        self.files = OpenFiles::default();
    }

    fn overdue(&mut self, _before: i64, _now: i64, _events: &mut dyn Events) {}

    fn leave(&mut self, now: i64, _out: &mut Outbox, events: &mut dyn Events) {
        self.files = OpenFiles::default();
        events.done(Done { tag: Tag::LEAVE, at: now, result: Ok(Reply::Nothing) });
    }

    fn outstanding(&self) -> usize {
        0
    }

    fn unmatched_responses(&self) -> u64 {
        0
    }
}
