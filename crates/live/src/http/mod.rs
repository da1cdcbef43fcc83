//! A small HTTP server for programs and browsers that look at a watch. It only gives out: GET and HEAD, nothing else.
//!
//! Every client is bounded: in number, in what it may send and in how long it may take. None of them can stop the capture, which never
//! waits for this server.

mod connection;
mod request;
mod response;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

pub(super) use connection::Client;
pub(super) use request::Request;
pub(super) use response::{Response, Status};

use plimsoll_results::Usage;

/// Connections at the same time; others are refused.
const MAX_CONNECTIONS: usize = 64;
/// Pause after a failed accept: without file descriptors each would fail at once.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// What a server gives out.
pub(super) trait Site: Send + Sync + 'static {
    /// The answer to a request that is well formed and came to the right host.
    fn answer(&self, request: &Request) -> Answer;
}

/// An answer.
pub(super) enum Answer {
    /// All of it.
    Whole(Response),
    /// A response without an end, written by this as long as the client takes it.
    Stream(Streaming),
}

/// Writes a response without an end.
pub(super) type Streaming = Box<dyn FnOnce(&mut Client) -> io::Result<()>>;

/// Listens, and answers in threads of its own as long as the process lives.
pub(super) fn start(listener: TcpListener, allow_remote: bool, site: Arc<dyn Site>) {
    std::thread::spawn(move || {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => accept(stream, &open, allow_remote, &site),
                Err(_) => std::thread::sleep(AFTER_ERROR),
            }
        }
    });
}

fn accept(stream: TcpStream, open: &Arc<AtomicUsize>, allow_remote: bool, site: &Arc<dyn Site>) {
    if open.fetch_add(1, SeqCst) >= MAX_CONNECTIONS {
        open.fetch_sub(1, SeqCst);
        return;
    }
    let counted = Counted(Arc::clone(open));
    let site = Arc::clone(site);
    // Without a thread the connection is closed, as one too many is.
    let _ = std::thread::Builder::new().name("http".to_owned()).spawn(move || {
        let _counted = counted;
        // A client that goes away is no error of ours.
        let _ = connection::serve(stream, allow_remote, &*site);
    });
}

/// An open connection.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Opens the address of a flag, which must be one of this machine unless `allow_remote`.
pub(super) fn listen(flag: &str, address: &str, allow_remote: bool) -> anyhow::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|error| Usage(format!("{flag} {address}: {error}; expected HOST:PORT, e.g. 127.0.0.1:9464")))?
        .collect();
    if !allow_remote && let Some(remote) = addresses.iter().find(|address| !address.ip().is_loopback()) {
        let why = format!(
            "{flag} {address}: other machines can reach {}; add --allow-remote, or use an SSH tunnel to 127.0.0.1",
            remote.ip()
        );
        return Err(Usage(why).into());
    }
    TcpListener::bind(&*addresses).map_err(|error| anyhow::anyhow!("{flag} {address}: cannot listen: {error}"))
}
