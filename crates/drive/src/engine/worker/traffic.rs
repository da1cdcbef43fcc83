//! Bytes in and out.

use std::io::{self, ErrorKind, IoSlice};

use plimsoll_client::operation::Cause;
use plimsoll_client::{Arrived, Client};
use plimsoll_model::Sink;

use super::super::connection::{ConnectionState, Wired, wired};
use super::Worker;
use super::cause::cause_of;
use crate::network::{ConnectionKey, Network, Received};

/// Slices handed to the kernel at once (it takes at most 1,024).
const SLICES: usize = 256;
/// Maximum number of reads of one connection before others are served.
const READS: usize = 8;
/// Maximum number of calls of `readable` for one connection at once, because a server may send without end.
const TIMES: usize = 1_000;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Sends waiting data: one system call per connection, as long as the kernel has room.
    pub(super) fn flush_all(&mut self) {
        // Losing a connection while sending may cause more to be sent.
        while let Some(connection) = self.dirty.pop() {
            if let Some(connection) = self.connections.get_mut(connection as usize) {
                connection.dirty = false;
            }
            self.flush(connection);
        }
    }

    pub(super) fn flush(&mut self, at: u32) {
        loop {
            let Some(wired) = wired(&mut self.connections, at) else { return };
            let Wired { key, channel, alive, client, out, full_since, several, answers, tapped, .. } = wired;
            let out = out.channel(channel);
            if out.is_empty() || !alive || full_since.is_some() {
                return;
            }
            let (one, mut many);
            let slices: &[IoSlice<'_>] = match out.single() {
                Some(bytes) => {
                    one = [IoSlice::new(bytes)];
                    &one
                }
                None => {
                    many = Vec::with_capacity(4);
                    out.slices(SLICES, &mut many);
                    &many
                }
            };
            let offered: usize = slices.iter().map(|slice| slice.len()).sum();
            let prepared = self.net.prepare(key, slices);
            let first = self.net.now();
            let sent = prepared.and_then(|()| self.net.send(key, slices));
            self.now = self.net.now();
            let count = match sent {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return self.lose(at, cause_of(&error)),
            };
            if let (Some(stream), Some(tap)) = (tapped, &self.job.plan.tap) {
                tap.sent(stream, first, slices, count);
            }
            if count > 0 {
                *answers = *several;
                out.consume(count);
                if let Some(client) = client {
                    client.sent(channel, out.sent(), first);
                }
            }
            if count < offered {
                *full_since = Some(self.now);
                if let Err(error) = self.net.want_writable(key, true) {
                    self.lose(at, cause_of(&error));
                }
                return;
            }
        }
    }

    /// There is something to read: bytes, an end or an error.
    pub(super) fn readable(&mut self, at: u32) {
        if !self.connections.get(at as usize).is_some_and(|connection| connection.alive()) {
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..READS {
            let read = self.read(at, &mut buffer);
            if !self.goes_on(at, read) {
                break;
            }
        }
        self.buffer = buffer;
        self.lose_if_over(at);
    }

    /// Reads all that has arrived, so that no response that has arrived counts as missing. A thread that was kept from running may not have
    /// read it yet: one wait reports only some of the connections, and the thread does not read all bytes of a connection at once.
    #[cold]
    pub(super) fn read_arrived(&mut self) {
        // Clients with blocking calls have no connection that this thread could read.
        let count = if self.address.is_some() { self.connections.len() as u32 } else { 0 };
        // The further channels first: one of them takes the place of a session's first connection if that is lost.
        for at in (0..count).rev() {
            for _ in 0..TIMES {
                let heard = self.heard;
                self.readable(at);
                if self.heard == heard {
                    break;
                }
            }
        }
    }

    /// A client that has given up its connection would fail every request, and no event would show it.
    pub(super) fn lose_if_over(&mut self, at: u32) {
        let Some((home, cause)) = self.over_of(at) else { return };
        // The end of a logon is reported as done.
        if self.connections.get(home as usize).is_some_and(|connection| connection.state == ConnectionState::Up) {
            self.lose(home, cause);
        }
    }

    /// The place and the cause of a client that has given up the connection at `at`.
    fn over_of(&self, at: u32) -> Option<(u32, Cause)> {
        let home = self.connections.get(at as usize)?.home;
        let cause = self.connections.get(home as usize)?.client.as_ref()?.over()?;
        Some((home, cause))
    }

    /// If this worker has a single connection, waits for its data and receives it at once. Returns false without any effect if the worker
    /// must wait for other events too.
    pub(super) fn await_bytes(&mut self, until: i64) -> bool {
        let [connection] = self.connections.as_slice() else { return false };
        // Clients with blocking calls have no connection that this thread could read.
        if self.address.is_none()
            || connection.state != ConnectionState::Up
            || connection.full_since.is_some()
            || connection.inbox.unwanted() > 0
        {
            return false;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let (room, take) = connection.manner(buffer.len());
        let front = buffer.get_mut(..room).unwrap_or_default();
        let received = self.net.receive_when_there(ConnectionKey(0), until, front, take);
        let waited = received.is_some();
        if let Some(received) = received {
            self.received = received.as_ref().is_ok_and(|received| received.bytes > 0);
            let read = received.and_then(|received| {
                self.arrived(0, buffer.get(..received.bytes).unwrap_or_default(), received)?;
                Ok(received.bytes == room)
            });
            // Further bytes are received as quickly the next time.
            self.goes_on(0, read);
        }
        self.buffer = buffer;
        self.lose_if_over(0);
        waited
    }

    /// Whether there is certainly more to read. Where reading failed, the connection is lost.
    fn goes_on(&mut self, at: u32, read: io::Result<bool>) -> bool {
        match read {
            Ok(more) => more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => {
                let malformed = error.kind() == ErrorKind::InvalidData;
                let cause = if malformed { Cause::Malformed } else { cause_of(&error) };
                // A client that has given up refuses the remaining bytes: they are not the cause.
                let (lost, cause) = self.over_of(at).unwrap_or((at, cause));
                self.lose(lost, cause);
                false
            }
        }
    }

    /// Reads once. `true` if there is certainly more.
    fn read(&mut self, at: u32, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(connection) = self.connections.get_mut(at as usize) else { return Ok(false) };
        let key = connection.key;
        let unwanted = connection.inbox.unwanted();
        if unwanted >= buffer.len() as u64 / 16 {
            let unwanted = usize::try_from(unwanted).unwrap_or(usize::MAX);
            let received = self.net.discard(key, unwanted)?;
            self.arrived(at, &[], received)?;
            // If the whole message has arrived, the bytes after it may have too.
            return Ok(false);
        }
        let (room, take) = connection.manner(buffer.len());
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        let received = self.net.receive(key, buffer, take)?;
        self.arrived(at, buffer.get(..received.bytes).unwrap_or_default(), received)?;
        Ok(received.bytes == room)
    }

    /// Bytes arrived: `bytes`, or where they are fewer than were received, bytes that were dropped.
    fn arrived(&mut self, at: u32, mut bytes: &[u8], received: Received) -> io::Result<()> {
        if received.bytes == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.heard += 1;
        self.now = self.net.now();
        self.look();
        let now = self.now;
        // The kernel's clock may have been set: an impossible timestamp is ignored.
        let lag = received.kernel_ns.map(|kernel| now - kernel).filter(|lag| *lag >= 0);
        if let Some(lag) = lag.filter(|_| self.accounting.measures(now)) {
            self.wake_up_lag.record(lag);
        }
        self.accounting.wake_ns = lag;
        let dropped = received.bytes.saturating_sub(bytes.len());
        let Some(wired) = wired(&mut self.connections, at) else { return Ok(()) };
        let Wired { home, client, out, inbox, several, answers, tapped, .. } = wired;
        if let (Some(stream), Some(tap)) = (tapped, &self.job.plan.tap) {
            tap.received(stream, now, bytes, dropped);
        }
        let Some(client) = client else { return Ok(()) };
        let accounting = &mut self.accounting;
        accounting.caller = home;
        let mut messages = 0u32;
        let mut take = |client: &mut dyn Client, message: Arrived<'_>| {
            messages += 1;
            client.message(message, out, accounting);
        };
        let mut sane = true;
        if dropped > 0 {
            inbox.drop_unread(dropped as u64, now, client.as_mut(), &mut take);
        }
        while sane && !bytes.is_empty() {
            sane = inbox.feed(&mut bytes, now, client.as_mut(), &mut take);
        }
        *several = messages > 1;
        *answers &= *several;
        self.accounting.wake_ns = None;
        self.note_dirty(home);
        self.arm(home);
        if sane { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
    }
}
