//! Moves bytes and tells the time: TCP, with or without TLS, or memory under a virtual clock.

mod cpu_limit;
mod epoll_wait;
pub mod memory;
mod processor;
mod socket;
mod stamps;
pub mod tcp;
mod tcp_info;
pub mod transport;

use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// A connection, as its owner numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionKey(pub u32);

/// An event on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The connection.
    pub key: ConnectionKey,
    /// Bytes, an end or an error can be read.
    pub readable: bool,
    /// It is connected, and there is room to write.
    pub writable: bool,
}

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes; 0 where the server closed the connection.
    pub bytes: usize,
    /// Kernel timestamp of the last bytes, ns since the Unix epoch, if available.
    pub kernel_ns: Option<i64>,
}

/// Round trips of a connection, measured by the kernel: from sending bytes until the other kernel acknowledged them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The minimum of the last five minutes, ns. It contains no time of programs if the other kernel acknowledged at once.
    pub least_ns: u64,
    /// Smoothed (RFC 6298), ns. If acknowledgements travel with answers, it contains the time until the answer.
    pub smoothed_ns: u64,
}

/// How bytes are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// And that is that.
    AtOnce,
    /// A send on the connection follows: the kernel counts these bytes as received at the next wait, when the sent packet has
    /// acknowledged them. Otherwise it sends a separate acknowledgement as soon as the last of several packets is read, and another one
    /// for the next bytes.
    BeforeSending,
}

/// A network of connections that this thread alone owns. Nothing blocks but [`Network::wait`], [`Network::poll`] and
/// [`Network::receive_when_there`].
pub trait Network {
    /// Nanoseconds since the Unix epoch, never going back.
    fn now(&mut self) -> i64;
    /// Begins to connect; the connection becomes writable when it is made or has failed: then [`Network::local`] returns the reason.
    fn connect(&mut self, key: ConnectionKey, to: SocketAddr) -> io::Result<()>;
    /// Our address, once connected; `WouldBlock` before.
    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr>;
    /// Does what can be done before sending, so that a time that is read between this and [`Network::send`] is that of the system call.
    fn prepare(&mut self, _key: ConnectionKey, _slices: &[IoSlice<'_>]) -> io::Result<()> {
        Ok(())
    }
    /// Sends; how many bytes went. `WouldBlock` where there is no room. Bytes that did not go are offered again as they are.
    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Receives. `WouldBlock` without data.
    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], take: Take) -> io::Result<Received>;
    /// For a worker without other events to wait for: waits for bytes on a connection and receives them, which is cheaper than a separate
    /// wait. It may end at any time before `until` with `WouldBlock`. Returns `None` without any effect if only [`Network::wait`] will
    /// do.
    fn receive_when_there(
        &mut self,
        _key: ConnectionKey,
        _until: i64,
        _buffer: &mut [u8],
        _take: Take,
    ) -> Option<io::Result<Received>> {
        None
    }
    /// Drops up to `count` received bytes unread.
    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received>;
    /// Wants (or no longer wants) to know when there is room to write.
    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()>;
    /// Waits until something happens or the time has come; `None` waits for something to happen.
    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()>;
    /// Round trips of a connection; `None` if they are not measured.
    fn round_trip(&self, _key: ConnectionKey) -> Option<RoundTrip> {
        None
    }
    /// As [`Network::wait`], and awake all the time where sleeping would end late. May end before with nothing in `ready`.
    fn poll(&mut self, until: i64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait(Some(until), ready)
    }
    /// Time for which the calling thread was ready to run and had no processor, since it began, ns; `None` where the kernel does not say.
    fn run_delay_ns(&self) -> Option<u64> {
        None
    }
    /// Steal time of this machine, summed over all processors, ns; `None` if the kernel does not report it.
    fn stolen_ns(&self) -> Option<u64> {
        None
    }
    /// How long the CPU limit of this process's control group stopped its threads, summed over all processors, ns; `None` without one.
    fn throttled_ns(&self) -> Option<u64> {
        None
    }
    /// Closes a connection.
    fn close(&mut self, key: ConnectionKey);
}
