//! TCP connections of one thread, in one epoll set.
//!
//! Level-triggered: one `recv` per event is enough, because remaining bytes cause another event. Waits have nanosecond resolution and the
//! thread's timer slack is 1 ns: the default of 50 µs would be the largest part of the schedule lag. The wake-up latency of an idle
//! processor is added to that, so a thread polls shortly before a start is due. A thread with one connection and no timer soon waits in
//! `recv` itself, which saves a system call.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use plimsoll_client::clock::Clock;
use plimsoll_client::reserved;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, getpeername, getsockname, socket_with, sockopt};

use super::epoll_wait::{AT_ONCE, EVENTS, EpollWait};
use super::socket::Socket;
use super::{ConnectionKey, Network, Ready, Received, RoundTrip, Take, cpu_limit, processor, stamps, tcp_info};

/// Kernel timestamps use the time of day; its offset to this clock is measured again after this time, ns.
const DRIFT_EVERY_NS: i64 = 1_000_000_000;
/// Only where the next timer is farther away than this, ns, `recv` may wait: its time limit is a coarse one.
const FAR_NS: i64 = 25_000_000;

/// TCP connections of one thread.
pub struct Tcp {
    clock: Clock,
    epoll: OwnedFd,
    epoll_wait: EpollWait,
    sockets: Vec<Option<Socket>>,
    /// Connections for which the kernel may still hold received bytes.
    holding: Vec<ConnectionKey>,
    events: Vec<epoll::Event>,
    kernel_times: bool,
    reserved_ports: bool,
    /// Offset of the time of day from this clock, ns, and the time of its measurement.
    drift: (i64, i64),
    last: i64,
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tcp").field("sockets", &self.sockets.iter().flatten().count()).finish_non_exhaustive()
    }
}

impl Tcp {
    /// An empty set for the calling thread, whose timer slack it changes. With `kernel_times` the kernel adds timestamps to received
    /// bytes.
    ///
    /// # Errors
    /// The system has no file descriptor left.
    pub fn new(kernel_times: bool) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let epoll_wait = EpollWait::of_this_kernel(&epoll);
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let clock = Clock::new();
        let drift = (clock.drift(), clock.now());
        let (sockets, holding, events) = (Vec::new(), Vec::new(), Vec::with_capacity(EVENTS));
        let reserved_ports = false;
        let last = drift.1;
        Ok(Self { clock, epoll, epoll_wait, sockets, holding, events, kernel_times, reserved_ports, drift, last })
    }

    /// The same; with `reserved_ports` it connects from ports below 1024. Connecting fails where none is free, or we may not use
    /// them.
    #[must_use]
    pub fn with_reserved_ports(self, reserved_ports: bool) -> Self {
        Self { reserved_ports, ..self }
    }

    /// A new socket, as we want them.
    fn new_socket(&self, family: AddressFamily) -> io::Result<OwnedFd> {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if self.kernel_times {
            stamps::ask_for(&socket)?;
        }
        Ok(socket)
    }

    fn begin(&self, to: &SocketAddr) -> io::Result<OwnedFd> {
        if self.reserved_ports {
            return reserved::begin(to, |family| self.new_socket(family));
        }
        let socket = self.new_socket(if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
        match connect(&socket, to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    fn socket(&self, key: ConnectionKey) -> io::Result<&Socket> {
        let socket = self.sockets.get(key.0 as usize).and_then(Option::as_ref);
        socket.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn socket_mut(&mut self, key: ConnectionKey) -> io::Result<&mut Socket> {
        let socket = self.sockets.get_mut(key.0 as usize).and_then(Option::as_mut);
        socket.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Handles the result of a receive on a connection.
    #[inline]
    fn received(&mut self, key: ConnectionKey, came: (usize, Option<i64>), take: Take) -> Received {
        if take == Take::BeforeSending {
            self.holding.push(key);
        }
        let (bytes, stamp) = came;
        Received { bytes, kernel_ns: stamp.map(|stamp| self.on_our_clock(stamp)) }
    }

    /// Makes the kernel drop unneeded bytes that were received before a send. If that fails, the connection stays readable, and the next
    /// read returns the error.
    fn let_go(&mut self) {
        while let Some(key) = self.holding.pop() {
            if let Ok(socket) = self.socket_mut(key) {
                // The next receive retries, and returns the same error.
                let _ = socket.let_go();
            }
        }
    }

    /// Takes pending events; without any, waits for one as long as `limit` allows.
    fn take_events(&mut self, limit: Option<Timespec>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events.clear();
        match self.epoll_wait.wait(&self.epoll, &mut self.events, limit.as_ref()) {
            Ok(()) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let failed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        ready.extend(self.events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Ready {
                // Only our keys are in the set.
                key: ConnectionKey(data.u64() as u32),
                readable: flags.intersects(epoll::EventFlags::IN | failed),
                writable: flags.intersects(epoll::EventFlags::OUT | failed),
            }
        }));
        Ok(())
    }

    fn on_our_clock(&mut self, time_of_day: i64) -> i64 {
        let (ahead, since) = self.drift;
        if self.last - since < DRIFT_EVERY_NS {
            return time_of_day - ahead;
        }
        self.drift = (self.clock.drift(), self.last);
        time_of_day - self.drift.0
    }
}

impl Network for Tcp {
    #[inline]
    fn now(&mut self) -> i64 {
        self.last = self.clock.now();
        self.last
    }

    fn connect(&mut self, key: ConnectionKey, to: SocketAddr) -> io::Result<()> {
        let socket = self.begin(&to)?;
        let wanted = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(u64::from(key.0)), wanted)?;
        let at = key.0 as usize;
        if self.sockets.len() <= at {
            self.sockets.resize_with(at + 1, || None);
        }
        self.sockets[at] = Some(Socket::new(socket));
        Ok(())
    }

    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr> {
        let socket = &self.socket(key)?.file;
        sockopt::socket_error(socket)??;
        let peer = match getpeername(socket) {
            Ok(peer) => peer,
            Err(Errno::NOTCONN) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => return Err(error.into()),
        };
        let local = getsockname(socket)?;
        // No process listened on the ephemeral port, and the kernel connected the socket to itself (RFC 9293 3.5, simultaneous open). It
        // would receive its own data, and the server could not take the port again.
        if Some(&local) == peer.as_ref() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(SocketAddr::try_from(local)?)
    }

    #[inline]
    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket(key)?.send(slices)
    }

    #[inline]
    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], take: Take) -> io::Result<Received> {
        let came = self.socket_mut(key)?.receive(buffer, take)?;
        Ok(self.received(key, came, take))
    }

    #[inline]
    fn receive_when_there(
        &mut self,
        key: ConnectionKey,
        until: i64,
        buffer: &mut [u8],
        take: Take,
    ) -> Option<io::Result<Received>> {
        if until.saturating_sub(self.last) < FAR_NS {
            return None;
        }
        self.let_go();
        let came = self.socket_mut(key).and_then(|socket| socket.receive_when_there(buffer, take));
        Some(came.map(|came| self.received(key, came, take)))
    }

    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        let came = self.socket_mut(key)?.discard(count)?;
        Ok(self.received(key, came, Take::AtOnce))
    }

    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()> {
        let also = if wanted { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        let data = epoll::EventData::new_u64(u64::from(key.0));
        Ok(epoll::modify(&self.epoll, &self.socket(key)?.file, data, epoll::EventFlags::IN | also)?)
    }

    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.let_go();
        let limit = until.map(|until| {
            let left = until.saturating_sub(self.now()).max(0);
            Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 }
        });
        self.take_events(limit, ready)
    }

    fn poll(&mut self, until: i64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.let_go();
        while ready.is_empty() && self.now() < until {
            self.take_events(Some(AT_ONCE), ready)?;
        }
        Ok(())
    }

    fn round_trip(&self, key: ConnectionKey) -> Option<RoundTrip> {
        tcp_info::round_trip(&self.socket(key).ok()?.file)
    }

    fn run_delay_ns(&self) -> Option<u64> {
        processor::run_delay_ns()
    }

    fn stolen_ns(&self) -> Option<u64> {
        processor::stolen_ns()
    }

    fn throttled_ns(&self) -> Option<u64> {
        cpu_limit::throttled_ns()
    }

    fn close(&mut self, key: ConnectionKey) {
        // Closing with unread bytes would send a reset.
        self.let_go();
        // Closing also removes it from the epoll set, because the descriptor has no copies.
        if let Some(socket) = self.sockets.get_mut(key.0 as usize) {
            *socket = None;
        }
    }
}

#[cfg(test)]
mod tests;
