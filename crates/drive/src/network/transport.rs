//! A network whose connections to some servers use TLS. The others pass through.
//!
//! A connection is made when its TLS handshake is over: until then its owner sees nothing of it. Bytes of data count as sent when the
//! kernel has the last byte of their record, so that no time of sending is too early, and as received when they are decrypted.

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_client::tls::{Tls, TlsSession};

use super::{ConnectionKey, Network, Ready, Received, RoundTrip, Take};

/// Bytes of records received at once; also the most that is decrypted ahead of its reader, beside one record.
const CHUNK: usize = 64 << 10;

/// A network with TLS where it is wanted.
pub struct Transport<N> {
    net: N,
    /// Servers that are reached by TLS.
    servers: Vec<(SocketAddr, Arc<Tls>)>,
    sessions: Vec<Option<Box<Secured>>>,
    /// Connections with decrypted data that was not read, or whose end was not read: the kernel knows nothing of it.
    waiting: Vec<ConnectionKey>,
    chunk: Vec<u8>,
    events: Vec<Ready>,
}

/// A connection with TLS.
struct Secured {
    session: TlsSession,
    /// Our address, once the TCP connection is made.
    local: Option<SocketAddr>,
    /// Why the handshake failed; `None` after the owner got the error.
    failed: Option<io::Error>,
    /// Whether the owner knows that the connection was made, or that it failed.
    announced: bool,
    /// It is among those that are waiting.
    waits: bool,
}

impl<N> std::fmt::Debug for Transport<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("servers", &self.servers.len()).finish_non_exhaustive()
    }
}

impl<N: Network> Transport<N> {
    /// A network that uses TLS for connections to `servers`.
    pub fn new(net: N, servers: &[(SocketAddr, Arc<Tls>)]) -> Self {
        let chunk = vec![0; if servers.is_empty() { 0 } else { CHUNK }];
        let (sessions, waiting, events) = (Vec::new(), Vec::new(), Vec::new());
        Self { net, servers: servers.to_vec(), sessions, waiting, chunk, events }
    }

    fn of(&mut self, key: ConnectionKey) -> Option<&mut Secured> {
        self.sessions.get_mut(key.0 as usize).and_then(Option::as_deref_mut)
    }

    /// What happened on a connection, as its owner is to see it.
    fn event(&mut self, event: Ready) -> Option<Ready> {
        let Some(secured) = self.sessions.get_mut(event.key.0 as usize).and_then(Option::as_deref_mut) else {
            return Some(event);
        };
        if secured.announced {
            return Some(event);
        }
        match secured.shake(event, &mut self.net, &mut self.chunk) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => secured.failed = Some(error),
        }
        secured.announced = true;
        Some(Ready { key: event.key, readable: false, writable: true })
    }

    /// Adds the events of a wait, and of what was decrypted before it.
    fn report(&mut self, ready: &mut Vec<Ready>) {
        let mut events = std::mem::take(&mut self.events);
        ready.extend(events.drain(..).filter_map(|event| self.event(event)));
        self.events = events;
        for key in std::mem::take(&mut self.waiting) {
            let Some(secured) = self.of(key) else { continue };
            secured.waits = false;
            // Where there was an event, reading takes all.
            if secured.is_ready() && !ready.iter().any(|event| event.key == key && event.readable) {
                ready.push(Ready { key, readable: true, writable: false });
            }
        }
    }

    /// Receives data of a connection with TLS.
    fn received(&mut self, key: ConnectionKey, room: &mut [u8], take: Take) -> io::Result<Received> {
        let received = self.decrypted(key, room, |net, chunk| Some(net.receive(key, chunk, take)));
        received.unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))
    }

    /// Drops data of a connection with TLS. A separate function, because the buffer would be in the stack frame of each receive.
    #[inline(never)]
    fn read_unwanted(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        let mut unwanted = [0; 16 << 10];
        let room = count.min(unwanted.len());
        self.received(key, unwanted.get_mut(..room).unwrap_or_default(), Take::AtOnce)
    }

    /// Receives data of a connection with TLS; `receive` gets its bytes from the network, or `None` if it must not wait for them.
    fn decrypted(
        &mut self,
        key: ConnectionKey,
        room: &mut [u8],
        receive: impl FnOnce(&mut N, &mut [u8]) -> Option<io::Result<Received>>,
    ) -> Option<io::Result<Received>> {
        let Self { net, sessions, waiting, chunk, .. } = self;
        let Some(secured) = sessions.get_mut(key.0 as usize).and_then(Option::as_deref_mut) else {
            return Some(Err(ErrorKind::NotConnected.into()));
        };
        let received = if secured.is_ready() {
            Ok(Received { bytes: secured.session.read(room), kernel_ns: None })
        } else {
            receive(net, chunk)?.and_then(|received| {
                let bytes = secured.decrypt(chunk.get(..received.bytes).unwrap_or_default(), room, net, key)?;
                Ok(Received { bytes, ..received })
            })
        };
        let ends = secured.session.is_closed() && received.as_ref().is_ok_and(|received| received.bytes > 0);
        if (secured.session.has_data() || ends) && !std::mem::replace(&mut secured.waits, true) {
            waiting.push(key);
        }
        Some(received)
    }
}

/// Sends what a session has; returns the bytes of data that went. `WouldBlock` only if none did.
fn push<N: Network>(session: &mut TlsSession, net: &mut N, key: ConnectionKey) -> io::Result<usize> {
    let mut data = 0;
    while !session.to_send().is_empty() {
        match net.send(key, &[IoSlice::new(session.to_send())]) {
            Ok(count) => data += session.sent(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock && data > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(data)
}

impl Secured {
    /// Whether there is something to read that the kernel does not know of: data, or the end. Behind the last data there are 0 bytes.
    fn is_ready(&self) -> bool {
        self.session.has_data() || self.session.is_closed()
    }

    /// Decrypts received bytes into `room`. Returns the length of the data; 0 if the connection has ended.
    fn decrypt<N: Network>(
        &mut self,
        bytes: &[u8],
        room: &mut [u8],
        net: &mut N,
        key: ConnectionKey,
    ) -> io::Result<usize> {
        let session = &mut self.session;
        if bytes.is_empty() || session.is_closed() {
            return Ok(0);
        }
        let taken = session.received(bytes, room);
        // An alert, or the answer to a change of keys. What the kernel does not take goes with the next request.
        let data = match push(session, net, key) {
            Err(error) if taken.is_ok() && error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => taken?,
        };
        if data == 0 && !session.is_closed() {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(data)
    }

    /// Goes on with the handshake. Whether it is over.
    fn shake<N: Network>(&mut self, event: Ready, net: &mut N, chunk: &mut [u8]) -> io::Result<bool> {
        if self.local.is_none() {
            match net.local(event.key) {
                Ok(local) => self.local = Some(local),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        } else if event.readable {
            match net.receive(event.key, chunk, Take::AtOnce) {
                Ok(received) if received.bytes == 0 => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(received) => {
                    let taken = self.session.received(chunk.get(..received.bytes).unwrap_or_default(), &mut []);
                    if taken.is_err() {
                        // The server learns why. The connection ends in any case.
                        let _ = push(&mut self.session, net, event.key);
                    }
                    taken?;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        match push(&mut self.session, net, event.key) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            other => {
                other?;
            }
        }
        let is_sent = self.session.to_send().is_empty();
        net.want_writable(event.key, !is_sent)?;
        Ok(is_sent && self.session.is_up())
    }
}

impl<N: Network> Network for Transport<N> {
    #[inline]
    fn now(&mut self) -> i64 {
        self.net.now()
    }

    fn connect(&mut self, key: ConnectionKey, to: SocketAddr) -> io::Result<()> {
        if let Some((_, tls)) = self.servers.iter().find(|(server, _)| *server == to) {
            let session = TlsSession::new(tls)?;
            let secured = Secured { session, local: None, failed: None, announced: false, waits: false };
            let at = key.0 as usize;
            if self.sessions.len() <= at {
                self.sessions.resize_with(at + 1, || None);
            }
            self.sessions[at] = Some(Box::new(secured));
        }
        self.net.connect(key, to)
    }

    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr> {
        match self.sessions.get(key.0 as usize).and_then(Option::as_deref) {
            Some(Secured { failed: Some(error), .. }) => Err(again(error)),
            Some(secured) if !secured.announced => Err(ErrorKind::WouldBlock.into()),
            Some(secured) => secured.local.ok_or_else(|| ErrorKind::NotConnected.into()),
            None => self.net.local(key),
        }
    }

    #[inline]
    fn prepare(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<()> {
        match self.of(key) {
            Some(secured) => secured.session.encrypt(slices),
            None => Ok(()),
        }
    }

    #[inline]
    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.sessions.get_mut(key.0 as usize).and_then(Option::as_deref_mut) {
            Some(secured) => {
                secured.session.encrypt(slices)?;
                match push(&mut secured.session, &mut self.net, key)? {
                    0 => Err(ErrorKind::WouldBlock.into()),
                    count => Ok(count),
                }
            }
            None => self.net.send(key, slices),
        }
    }

    #[inline]
    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], take: Take) -> io::Result<Received> {
        match self.of(key) {
            Some(_) => self.received(key, buffer, take),
            None => self.net.receive(key, buffer, take),
        }
    }

    #[inline]
    fn receive_when_there(
        &mut self,
        key: ConnectionKey,
        until: i64,
        buffer: &mut [u8],
        take: Take,
    ) -> Option<io::Result<Received>> {
        match self.of(key) {
            // Its data is at hand: there is nothing to wait for.
            Some(secured) if secured.waits => None,
            Some(_) => self.decrypted(key, buffer, |net, chunk| net.receive_when_there(key, until, chunk, take)),
            None => self.net.receive_when_there(key, until, buffer, take),
        }
    }

    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        match self.of(key) {
            Some(_) => self.read_unwanted(key, count),
            None => self.net.discard(key, count),
        }
    }

    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()> {
        self.net.want_writable(key, wanted)
    }

    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.servers.is_empty() {
            return self.net.wait(until, ready);
        }
        // With data at hand there is nothing to wait for.
        let until = if self.waiting.is_empty() { until } else { Some(i64::MIN) };
        self.net.wait(until, &mut self.events)?;
        self.report(ready);
        Ok(())
    }

    fn poll(&mut self, until: i64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.servers.is_empty() {
            return self.net.poll(until, ready);
        }
        if !self.waiting.is_empty() {
            return self.wait(Some(i64::MIN), ready);
        }
        self.net.poll(until, &mut self.events)?;
        self.report(ready);
        Ok(())
    }

    fn round_trip(&self, key: ConnectionKey) -> Option<RoundTrip> {
        self.net.round_trip(key)
    }

    fn run_delay_ns(&self) -> Option<u64> {
        self.net.run_delay_ns()
    }

    fn stolen_ns(&self) -> Option<u64> {
        self.net.stolen_ns()
    }

    fn throttled_ns(&self) -> Option<u64> {
        self.net.throttled_ns()
    }

    fn close(&mut self, key: ConnectionKey) {
        if let Some(mut secured) = self.sessions.get_mut(key.0 as usize).and_then(Option::take) {
            // A courtesy: the connection ends with or without it.
            let _ = secured.session.close().and_then(|()| push(&mut secured.session, &mut self.net, key));
        }
        self.net.close(key);
    }
}

/// An error once more.
fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

#[cfg(test)]
mod tests;
