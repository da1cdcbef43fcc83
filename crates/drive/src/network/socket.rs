//! One TCP connection to the kernel: sends that do not wait, and receives that may.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

use super::{Take, stamps};

/// A receive that waits does so at most this long, give or take a few ticks of the kernel's (of up to 10 ms).
const PATIENCE: Duration = Duration::from_millis(10);

/// A connected (or connecting) socket.
pub(super) struct Socket {
    pub(super) file: OwnedFd,
    /// A receive may wait for bytes.
    patient: bool,
    /// Bytes that were received and that the kernel still holds.
    held: usize,
}

impl Socket {
    /// `file` must not block; it is a socket of the caller's alone.
    pub(super) fn new(file: OwnedFd) -> Self {
        Self { file, patient: false, held: 0 }
    }

    /// Sends; how many bytes went.
    #[inline]
    pub(super) fn send(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // A connection that was reset must not end the process.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        Ok(match slices {
            [one] => send(&self.file, one, flags)?,
            many => sendmsg(&self.file, many, &mut SendAncillaryBuffer::default(), flags)?,
        })
    }

    /// Receives available bytes: their number, and the kernel timestamp of the last one, if requested.
    #[inline]
    pub(super) fn receive(&mut self, buffer: &mut [u8], take: Take) -> io::Result<(usize, Option<i64>)> {
        self.take_in(buffer, take, libc::MSG_DONTWAIT)
    }

    /// The same, and waits for it; `WouldBlock` where nothing came for a while.
    #[inline]
    pub(super) fn receive_when_there(&mut self, buffer: &mut [u8], take: Take) -> io::Result<(usize, Option<i64>)> {
        if !self.patient {
            self.become_patient()?;
        }
        self.take_in(buffer, take, 0)
    }

    /// Lets receives wait from now on.
    #[cold]
    fn become_patient(&mut self) -> io::Result<()> {
        set_socket_timeout(&self.file, Timeout::Recv, Some(PATIENCE))?;
        fcntl_setfl(&self.file, fcntl_getfl(&self.file)? - OFlags::NONBLOCK)?;
        self.patient = true;
        Ok(())
    }

    #[inline]
    fn take_in(&mut self, buffer: &mut [u8], take: Take, flags: i32) -> io::Result<(usize, Option<i64>)> {
        self.let_go()?;
        let keep = take == Take::BeforeSending;
        let received = stamps::receive(&self.file, buffer, flags | if keep { libc::MSG_PEEK } else { 0 })?;
        if keep {
            self.held = received.0;
        }
        Ok(received)
    }

    /// Drops up to `count` unread bytes: returns their number, and the kernel timestamp of the last one, if requested.
    pub(super) fn discard(&mut self, count: usize) -> io::Result<(usize, Option<i64>)> {
        self.let_go()?;
        stamps::discard(&self.file, count)
    }

    /// Makes the kernel drop the bytes that it still holds.
    pub(super) fn let_go(&mut self) -> io::Result<()> {
        while self.held > 0 {
            // The bytes are available, so the call can neither wait nor find the end.
            match stamps::discard(&self.file, self.held)?.0 {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.held = self.held.saturating_sub(count),
            }
        }
        Ok(())
    }
}
