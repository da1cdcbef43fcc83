//! The loop by hand: Plimsoll's client logs on and writes each request once. Then patched copies of it go out, with the next number, offset
//! and handle. The loop checks the status of each response, and counts it. A wake-up takes two system calls. Without times, transactions
//! and error handling, this is the cost of sending and receiving for a client that sends without delay.
//!
//! | file | what it is |
//! | --- | --- |
//! | `hand.rs` | the loop over one connection |
//! | `slots.rs` | the slots of an NFS 4.1 session |
//! | `channels.rs` | the loop over several connections of a session |
//! | `tls.rs` | the stream of the loop with TLS |
//! | `krb5p.rs`, `gss.rs` | calls in a Kerberos context, and the library that signs and encrypts them |

mod channels;
mod gss;
mod hand;
mod krb5p;
mod slots;
mod tls;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_client::Client as _;
use plimsoll_client::blocking::{Blocking, Collected};
use plimsoll_client::operation::{Access, Caching, Disposition, FileKey, Operation, Reply, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::tls::Stream;
use plimsoll_drive::connect::Connector;
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::{Endpoint, Names, Symbol};

use crate::measured::{Measured, Watch};
use crate::operation::{Case, Protection};
use crate::servers::connector;
use hand::{Hand, MARK, Progress, message, one_message, put, word};
use slots::Slots;
use tls::TlsStream;

/// Performs `count` operations with `depth` outstanding ones, after a tenth as many that are not measured.
pub fn run(operation: Case, target: &str, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    if operation.channels() > 1 {
        return channels::run(operation, target, depth, count);
    }
    match operation.protection() {
        Protection::None => measure(plain(operation, target)?, depth, count),
        Protection::Tls => measure(with_tls(operation, target)?, depth, count),
        Protection::Krb5p => measure(krb5p::log_on(operation, target)?, depth, count),
    }
}

fn measure<S: Read + Write>(mut hand: Hand<S>, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    hand.exchange(depth, count / 10)?;
    let watch = Watch::start();
    hand.exchange(depth, count)?;
    Ok(watch.stop(count))
}

type Client = Blocking<Box<dyn plimsoll_client::Client>>;

/// Longer than anything that is waited for takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The connection over which Plimsoll's client has logged on.
fn plain(operation: Case, target: &str) -> Result<Hand, Box<dyn Error>> {
    let server = connector(operation, target, &mut Names::default())?;
    let mut client = connected(operation, &*server)?;
    let (first, second) = requests(operation, &mut client)?;
    let stream = client.into_stream();
    stream.set_nonblocking(false)?;
    let slots = operation.has_session().then(|| Slots::of(&first)).transpose()?;
    Hand::of(operation, stream, first, second, slots)
}

/// A separate connection with TLS. Plimsoll's client writes the request on another connection. NFS 3 has no session, so both requests are the
/// same.
fn with_tls(operation: Case, target: &str) -> Result<Hand<TlsStream>, Box<dyn Error>> {
    let server = connector(operation, target, &mut Names::default())?;
    let (first, second) = requests(operation, &mut connected(operation, &*server)?)?;
    let stream = TlsStream::connect(address(&*server)?)?;
    Hand::of(operation, stream, first, second, None)
}

fn address(server: &dyn Connector) -> Result<SocketAddr, Box<dyn Error>> {
    Ok(server.address().ok_or("no address")?)
}

/// Plimsoll's client, logged on.
fn connected(operation: Case, server: &dyn Connector) -> Result<Client, Box<dyn Error>> {
    let to = address(server)?;
    let socket = TcpStream::connect_timeout(&to, PATIENCE)?;
    let stream = match server.tls().into_iter().find(|(with, _)| *with == to) {
        Some((_, tls)) => Stream::secured(socket, &tls, PATIENCE)?,
        None => Stream::plain(socket),
    };
    let info = info(operation);
    let mut client = Client::on(stream, PATIENCE, |_| server.client(&info))?;
    client.connect().map_err(said)?;
    Ok(client)
}

/// The request of an operation, and the close of its file.
fn requests(operation: Case, client: &mut Client) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let open = open(operation);
    let Reply::Opened { file, .. } = client.act(&open).map_err(said)? else { return Err("not opened".into()) };
    let request = match operation {
        Case::SmbCreateClose => open,
        _ if operation.length() == 0 => Operation::GetattrOpen { file },
        _ => read(operation, file),
    };
    let first = written(client, &request);
    Ok((first, written(client, &Operation::Close { file })))
}

/// Where client and server are matters to transactions only.
fn info(operation: Case) -> ConnectionInfo {
    ConnectionInfo {
        client_index: 0,
        connection_index: 0,
        connections: 1,
        channels: operation.channels(),
        connection: 0,
        generation: 0,
        client: Endpoint::NOWHERE,
        server: Endpoint::NOWHERE,
    }
}

fn open(operation: Case) -> Operation<'static> {
    let (path, _) = operation.file();
    let (access, disposition) = (Access::Read, Disposition::Open);
    Operation::Open { path, access, disposition, caching: Caching::None }
}

fn read(operation: Case, file: FileKey) -> Operation<'static> {
    Operation::Read { file, offset: 0, length: operation.length(), keep: false }
}

/// The bytes with which a client begins an operation, or none.
fn written(client: &mut Client, operation: &Operation<'_>) -> Vec<u8> {
    let (mut out, now) = (Outbox::new(), client.now());
    client.client.begin(operation, ticket(u64::MAX / 2), now, &mut out, &mut Collected::default());
    waiting(&out)
}

fn ticket(tag: u64) -> Ticket {
    Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE }
}

/// The bytes that wait in an outbox.
fn waiting(out: &Outbox) -> Vec<u8> {
    let mut slices = Vec::new();
    out.slices(usize::MAX, &mut slices);
    slices.iter().flat_map(|slice| slice.iter().copied()).collect()
}

fn said(failure: plimsoll_client::operation::Failure) -> String {
    format!("{failure:?}")
}
