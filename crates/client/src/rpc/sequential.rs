//! Sequential calls over a blocking connection, apart from the load.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_model::Asked;
use plimsoll_wire::rpc::{CallTemplate, Verdict};

use super::gss::{GssContext, Opened, Written};
use crate::clock;
use crate::operation::Cause;
use crate::outbox::Outbox;
use crate::reserved;
use crate::rpc::Gss;
use crate::tls::{Stream, Tls};

/// The xid of a connection's first call.
const FIRST_XID: u64 = 0x506C_696D;
/// The longest answer, bytes.
const LONGEST: usize = 64 << 10;
/// Advice included: it is mostly the text of another protocol, read as a length.
const TOO_LONG: &str = "the response is too long; check that this port belongs to this service";
/// Pieces that an answer comes in, at most.
const FRAGMENTS: usize = 1024;

/// A connection for sequential calls.
pub(crate) struct SequentialCalls {
    stream: Stream,
    limit: Limit,
    /// Number of the next call; its low half is the xid.
    next_id: u64,
    reply: Vec<u8>,
    /// The Kerberos context of the calls.
    context: Option<Box<GssContext>>,
    /// Results that were encrypted.
    decrypted: Vec<u8>,
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
        let stream = connect().map_err(|error| limit.explain(error))?;
        let (reply, decrypted) = (Vec::new(), Vec::new());
        Ok(Self { stream, limit, next_id: FIRST_XID, reply, context: None, decrypted })
    }

    /// From now on, calls are made in a new Kerberos context for a program's version, if there is `security`.
    pub(crate) fn secure(&mut self, security: Option<&Gss>, program: (u32, u32)) {
        self.leave();
        self.context = security.map(|gss| Box::new(GssContext::new(gss, program)));
    }

    /// Calls a procedure, and waits for the answer. The credential of the template is not used in a Kerberos context.
    pub(crate) fn call(
        &mut self,
        template: &CallTemplate,
        procedure: u32,
        arguments: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Verdict<'_>, CallError> {
        if self.begins_context()? {
            return self.verdict();
        }
        let id = self.number();
        let mut call = Vec::new();
        match &mut self.context {
            None => {
                template.begin(id as u32, procedure, &mut call);
                arguments(&mut call);
            }
            Some(context) => {
                let (mut out, mut slices) = (Outbox::new(), Vec::new());
                let emit = |bytes: &mut Vec<u8>| {
                    arguments(bytes);
                    Asked::default()
                };
                context.write(Written { id, procedure, data: None, emit }, &mut out);
                out.slices(usize::MAX, &mut slices);
                slices.iter().for_each(|slice| call.extend_from_slice(slice));
            }
        }
        self.send(call)?;
        self.open(id)
    }

    /// Asks the server for the context, if there is none yet. True if the answer, which is in `reply`, says that the server does not have
    /// this version of the program: then there can be no context for it.
    fn begins_context(&mut self) -> Result<bool, CallError> {
        if !self.context.as_ref().is_some_and(|context| context.is_new()) {
            return Ok(false);
        }
        let (id, mut call) = (self.number(), Vec::new());
        let now = clock::time_of_day();
        let begun = self.context.as_mut().map_or(Ok(()), |context| context.init(id, now, &mut call));
        begun.map_err(|cause| CallError::Answer(cause.label().to_owned()))?;
        self.send(call)?;
        if matches!(self.verdict()?, Verdict::ProgramMismatch { .. } | Verdict::ProgramUnavailable) {
            return Ok(true);
        }
        self.open(id)?;
        Ok(false)
    }

    /// Gives the context back. The answer does not matter: a server forgets contexts in time.
    pub(crate) fn leave(&mut self) {
        let id = self.number();
        if let Some(context) = self.context.as_mut().filter(|context| context.is_ready()) {
            let mut call = Vec::new();
            context.destroy(id, &mut call);
            let _ = self.send(call);
        }
    }

    fn number(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Sends a call without the length in its record mark, and receives the answer.
    fn send(&mut self, mut call: Vec<u8>) -> Result<(), CallError> {
        // A call of a path and a credential fits into a fragment.
        let _ = CallTemplate::finish(&mut call, 0);
        self.exchange(&call).map_err(|error| CallError::Connection(self.limit.explain(error)))?;
        match Verdict::parse(&self.reply) {
            Ok((xid, _)) if u64::from(xid) == self.next_id - 1 => Ok(()),
            Ok(_) => Err(CallError::Answer("the response belongs to a different call".to_owned())),
            Err(error) => Err(CallError::Answer(error.to_string())),
        }
    }

    /// The verdict of the answer, checked against the context.
    fn open(&mut self, id: u64) -> Result<Verdict<'_>, CallError> {
        let (_, verdict) = Verdict::parse(&self.reply).map_err(|error| CallError::Answer(error.to_string()))?;
        let Some(context) = &mut self.context else { return Ok(verdict) };
        let problem = |cause: Cause| CallError::Answer(format!("{} (Kerberos)", cause.label()));
        match context.open(id, &self.reply, verdict).map_err(problem)? {
            Opened::Plain(verdict) | Opened::Expired(verdict) => Ok(verdict),
            Opened::Decrypted(results) => {
                self.decrypted = results;
                Ok(Verdict::Success(&self.decrypted))
            }
        }
    }

    /// The verdict of the answer, unchecked.
    fn verdict(&self) -> Result<Verdict<'_>, CallError> {
        let parsed = Verdict::parse(&self.reply);
        parsed.map(|(_, verdict)| verdict).map_err(|error| CallError::Answer(error.to_string()))
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
        Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG))
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
    fn explain(&self, error: io::Error) -> io::Error {
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
