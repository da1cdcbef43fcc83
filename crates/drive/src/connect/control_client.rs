//! A client for sequential operations apart from the load.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::Client;
use plimsoll_client::blocking::{Blocking, Collected};
use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Disposition, Failure, FileKey, Operation, Reply, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::reserved;
use plimsoll_client::tls::Stream;
use plimsoll_model::{Endpoint, Symbol};

use super::Connector;
use crate::engine::ConnectionInfo;

/// The client that its connection is said to belong to: none of the load has this number.
pub(super) const NO_CLIENT: u32 = u32::MAX;

/// A client that runs one operation at a time.
pub(super) enum ControlClient {
    /// With a separate connection.
    Connected(Box<Blocking<Box<dyn Client>>>),
    /// Through the operating system: calls have ended when they return.
    Local(Box<dyn Client>, Box<Collected>),
}

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no connection.
    Connection(io::Error),
    /// The server said no, or nothing.
    Failed(Failure),
}

impl Trouble {
    /// Whether it is one that a server which restarts would cause.
    pub(super) fn is_lost(&self) -> bool {
        use io::ErrorKind as Kind;
        match self {
            Trouble::Connection(error) => matches!(
                error.kind(),
                Kind::ConnectionRefused
                    | Kind::ConnectionReset
                    | Kind::ConnectionAborted
                    | Kind::BrokenPipe
                    | Kind::NotConnected
                    | Kind::TimedOut
                    | Kind::HostUnreachable
                    | Kind::NetworkUnreachable
            ),
            Trouble::Failed(failure) => failure.is_lost(),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Connection(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failed(failure)
    }
}

impl ControlClient {
    /// Connects and logs on.
    pub(super) fn new(server: &dyn Connector, timeout: Duration) -> Result<Self, Trouble> {
        let info = |client, server| ConnectionInfo {
            client_index: NO_CLIENT,
            connection_index: 0,
            connections: 1,
            channels: 1,
            connection: 0,
            generation: 0,
            client,
            server,
        };
        let Some(address) = server.address() else {
            let client = server.client(&info(Endpoint::NOWHERE, Endpoint::NOWHERE));
            return Ok(ControlClient::Local(client, Box::default()));
        };
        let end = |address: SocketAddr| Endpoint { ip: address.ip(), port: address.port() };
        let stream = match server.reserved_ports() {
            true => reserved::connected(&address, timeout)?,
            false => TcpStream::connect_timeout(&address, timeout)?,
        };
        let stream = match server.tls().into_iter().find(|(with, _)| *with == address) {
            Some((_, tls)) => Stream::secured(stream, &tls, timeout)?,
            None => Stream::plain(stream),
        };
        let mut connected = Blocking::on(stream, timeout, |local| server.client(&info(end(local), end(address))))?;
        connected.connect()?;
        Ok(ControlClient::Connected(Box::new(connected)))
    }

    fn act(&mut self, operation: &Operation<'_>) -> Result<Reply, Failure> {
        match self {
            ControlClient::Connected(connected) => connected.act(operation),
            ControlClient::Local(client, seen) => {
                let ticket = Ticket { tag: Tag(0), intended: None, path: Symbol::NONE };
                client.begin(operation, ticket, 0, &mut Outbox::new(), &mut **seen);
                let nothing = || Failure::without_answer(plimsoll_client::operation::Cause::Ended);
                seen.take_done(Tag(0)).unwrap_or_else(|| Err(nothing()))
            }
        }
    }

    fn open(&mut self, path: &str, access: Access, disposition: Disposition) -> Result<FileKey, Failure> {
        match self.act(&Operation::Open { path, access, disposition, caching: Caching::None })? {
            Reply::Opened { file, .. } => Ok(file),
            _ => Err(Failure::without_answer(plimsoll_client::operation::Cause::Malformed)),
        }
    }

    /// Writes a text over the beginning of a file that must be there, or must not be.
    pub(super) fn write(&mut self, path: &str, text: &str, disposition: Disposition) -> Result<(), Failure> {
        let file = self.open(path, Access::Write, disposition)?;
        let written = self.write_all(file, text);
        let closed = self.act(&Operation::Close { file });
        written.and(closed.map(|_| ()))
    }

    fn write_all(&mut self, file: FileKey, text: &str) -> Result<(), Failure> {
        let content = Arc::new(Content::holding(text.as_bytes()));
        let (key, all) = (Content::HELD, u32::try_from(text.len()).unwrap_or(u32::MAX));
        let mut offset = 0;
        while offset < all {
            let rest = all - offset;
            match self.act(&Operation::Write { file, offset: offset.into(), length: rest, content: &content, key })? {
                Reply::Written { bytes } if bytes > 0 && bytes <= rest => offset += bytes,
                _ => return Err(Failure::without_answer(plimsoll_client::operation::Cause::Malformed)),
            }
        }
        Ok(())
    }

    /// The first `length` bytes of a file.
    pub(super) fn read(&mut self, path: &str, length: u32) -> Result<String, Failure> {
        let file = self.open(path, Access::Read, Disposition::Open)?;
        self.seen().data.clear();
        let read = self.act(&Operation::Read { file, offset: 0, length, keep: true });
        let closed = self.act(&Operation::Close { file });
        let bytes: Vec<u8> = self.seen().data.drain(..).flat_map(|(_, _, piece)| piece).collect();
        read.and(closed)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Removes a file.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), Failure> {
        self.act(&Operation::Remove { path }).map(|_| ())
    }

    fn seen(&mut self) -> &mut Collected {
        // Collected transactions are not used here; without this they would fill memory in runs of hours.
        let seen = match self {
            ControlClient::Connected(connected) => &mut connected.seen,
            ControlClient::Local(_, seen) => seen,
        };
        seen.transactions.clear();
        seen
    }

    /// Logs off.
    pub(super) fn leave(self) {
        if let ControlClient::Connected(mut connected) = self {
            // The connection ends with it, one way or another.
            let _ = connected.leave();
        }
    }
}
