//! Sequential calls over a blocking connection, apart from the load.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_wire::rpc::{CallTemplate, Verdict};

use crate::reserved;
use crate::tls::{Stream, Tls};

/// The xid of a connection's first call.
const FIRST_XID: u32 = 0x506C_696D;
/// The longest answer, bytes.
const LONGEST: usize = 64 << 10;
/// Pieces that an answer comes in, at most.
const FRAGMENTS: usize = 1024;

/// A connection for sequential calls.
pub(crate) struct SequentialCalls {
    stream: Stream,
    limit: Limit,
    next_xid: u32,
    reply: Vec<u8>,
}

/// Why a call has no verdict.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The connection failed.
    Connection(io::Error),
    /// The answer makes no sense.
    Answer(String),
}

/// When calls are given up.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// The caller's timeout, for the message.
    timeout: Duration,
    until: Instant,
}

impl SequentialCalls {
    /// Connects, with TLS where it is wanted.
    pub(crate) fn connect(
        address: SocketAddr,
        reserved_port: bool,
        tls: Option<&Arc<Tls>>,
        limit: Limit,
    ) -> io::Result<Self> {
        let connect = || {
            let socket = match reserved_port {
                true => reserved::connected(&address, limit.left()?)?,
                false => TcpStream::connect_timeout(&address, limit.left()?)?,
            };
            match tls {
                Some(tls) => Stream::secured(socket, tls, limit.left()?),
                None => Ok(Stream::plain(socket)),
            }
        };
        let stream = connect().map_err(|error| limit.told(error))?;
        Ok(Self { stream, limit, next_xid: FIRST_XID, reply: Vec::new() })
    }

    /// Calls a procedure, and waits for the answer.
    pub(crate) fn call(
        &mut self,
        template: &CallTemplate,
        procedure: u32,
        arguments: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Verdict<'_>, CallError> {
        let (xid, mut call) = (self.next_xid, Vec::new());
        self.next_xid = xid.wrapping_add(1);
        template.begin(xid, procedure, &mut call);
        arguments(&mut call);
        // A call of a path and a credential fits into a fragment.
        let _ = CallTemplate::finish(&mut call, 0);
        self.exchange(&call).map_err(|error| CallError::Connection(self.limit.told(error)))?;
        match Verdict::parse(&self.reply) {
            Ok((of, verdict)) if of == xid => Ok(verdict),
            Ok(_) => Err(CallError::Answer("the response belongs to a different call".to_owned())),
            Err(error) => Err(CallError::Answer(error.to_string())),
        }
    }

    /// Sends a record, and reads one.
    fn exchange(&mut self, call: &[u8]) -> io::Result<()> {
        self.stream.socket().set_write_timeout(Some(self.limit.left()?))?;
        self.stream.write_all(call)?;
        self.reply.clear();
        for _ in 0..FRAGMENTS {
            let mut mark = [0; 4];
            read_until(&mut self.stream, self.limit, &mut mark)?;
            let mark = u32::from_be_bytes(mark);
            let (start, length) = (self.reply.len(), (mark & 0x7FFF_FFFF) as usize);
            if start + length > LONGEST {
                break;
            }
            self.reply.resize(start + length, 0);
            read_until(&mut self.stream, self.limit, self.reply.get_mut(start..).unwrap_or_default())?;
            if mark & 0x8000_0000 != 0 {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the response is too long"))
    }
}

impl Limit {
    pub(crate) fn new(timeout: Duration) -> Self {
        let now = Instant::now();
        // A limit beyond the clock's range is replaced by a day, which is long enough.
        let until = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400));
        Self { timeout, until }
    }

    /// The time that is left.
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.expired()) } else { Ok(left) }
    }

    fn expired(&self) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {:?}", self.timeout))
    }

    /// Adds the timeout to an error that it caused.
    fn told(&self, error: io::Error) -> io::Error {
        match error.kind() {
            // It says more.
            _ if error.get_ref().is_some() => error,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.expired(),
            _ => error,
        }
    }
}

/// Fills a buffer, however slowly its bytes come, but not for ever.
fn read_until(stream: &mut Stream, limit: Limit, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        stream.socket().set_read_timeout(Some(limit.left()?))?;
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
