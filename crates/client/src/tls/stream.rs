//! A socket with or without TLS, for sequential calls. As a socket, it blocks or it does not.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Tls, TlsSession};

/// Bytes taken from the socket at once.
const CHUNK: usize = 16 << 10;

/// A connection.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    session: Option<Box<TlsSession>>,
}

impl Stream {
    /// A connection without TLS.
    #[must_use]
    pub fn plain(socket: TcpStream) -> Self {
        Self { socket, session: None }
    }

    /// Starts TLS on a socket that was just made, which blocks and keeps its time limits. `timeout` is for the whole handshake.
    ///
    /// # Errors
    /// The server has no TLS, is not believed, or takes too long.
    pub fn secured(socket: TcpStream, tls: &Arc<Tls>, timeout: Duration) -> io::Result<Self> {
        let until = Instant::now().checked_add(timeout);
        let (read, write) = (socket.read_timeout()?, socket.write_timeout()?);
        let mut stream = Self { socket, session: Some(Box::new(TlsSession::new(tls)?)) };
        while stream.session.as_ref().is_some_and(|session| !session.is_up()) {
            let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(late());
            }
            stream.socket.set_read_timeout(Some(left))?;
            stream.socket.set_write_timeout(Some(left))?;
            match stream.flush_session().and_then(|()| stream.receive()) {
                Ok(0) => return Err(ended(ErrorKind::UnexpectedEof)),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(late()),
                    kind @ (ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => return Err(ended(kind)),
                    _ => return Err(error),
                },
            }
        }
        stream.flush_session()?;
        stream.socket.set_read_timeout(read)?;
        stream.socket.set_write_timeout(write)?;
        Ok(stream)
    }

    /// The socket, for its settings and for waiting.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The socket. Without TLS it can be used further.
    #[must_use]
    pub fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// Sends what the session has; returns the bytes of data that went.
    fn send_session(&mut self) -> io::Result<usize> {
        let Some(session) = &mut self.session else { return Ok(0) };
        let mut data = 0;
        while !session.to_send().is_empty() {
            match self.socket.write(session.to_send()) {
                Ok(count) => data += session.sent(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock && data > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(data)
    }

    fn flush_session(&mut self) -> io::Result<()> {
        self.send_session().map(|_| ())
    }

    /// Receives once into the session.
    fn receive(&mut self) -> io::Result<usize> {
        let mut chunk = [0; CHUNK];
        let count = self.socket.read(&mut chunk)?;
        if let Some(session) = &mut self.session {
            let taken = session.received(chunk.get(..count).unwrap_or_default(), &mut []);
            if taken.is_err() {
                // The server learns why. Its connection ends in any case.
                let _ = self.socket.write(session.to_send());
            }
            taken?;
        }
        Ok(count)
    }
}

fn late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "timed out during the TLS handshake")
}

/// The server has ended the connection before TLS was up.
fn ended(kind: ErrorKind) -> io::Error {
    io::Error::new(kind, "the server closed the connection during the TLS handshake")
}

/// Returns `Interrupted` if bytes came but no data, so that the caller can check its own time limit.
impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => return self.socket.read(buffer),
            Some(session) if session.has_data() => return Ok(session.read(buffer)),
            Some(session) if session.is_closed() => return Ok(0),
            Some(_) => {}
        }
        if self.receive()? == 0 {
            return Ok(0);
        }
        // The answer to a change of keys. What the socket does not take goes with the next request.
        match self.send_session() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            other => {
                other?;
            }
        }
        match &mut self.session {
            Some(session) if session.has_data() => Ok(session.read(buffer)),
            Some(session) if session.is_closed() => Ok(0),
            _ => Err(ErrorKind::Interrupted.into()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(session) = &mut self.session else { return self.socket.write_vectored(slices) };
        session.encrypt(slices)?;
        match self.send_session()? {
            0 if slices.iter().any(|slice| !slice.is_empty()) => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_session()
    }
}
