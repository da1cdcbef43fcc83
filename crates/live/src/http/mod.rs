//! A small HTTP server for programs and browsers that read a watch. It accepts only GET and HEAD.
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

/// Maximum number of connections at the same time; the server refuses further ones.
const MAX_CONNECTIONS: usize = 64;
/// Pause after a failed accept. Without free file descriptors every attempt would fail at once.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// The content of a server.
pub(super) trait Site: Send + Sync + 'static {
    /// The answer to a well-formed request for the right host.
    fn answer(&self, request: &Request) -> Answer;
}

pub(super) enum Answer {
    /// A complete response.
    Whole(Response),
    /// A response without an end: a function that writes to the client until the client disconnects.
    Stream(Streaming),
}

/// Writes a response without an end.
pub(super) type Streaming = Box<dyn FnOnce(&mut Client) -> io::Result<()>>;

/// Accepts connections, and answers each in a separate thread, until the process ends.
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
    // If no thread can be started, close the connection, as for too many connections.
    let _ = std::thread::Builder::new().name("http".to_owned()).spawn(move || {
        let _counted = counted;
        // If a client disconnects, this is no error.
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

/// Listens on the address of a flag, which must be a loopback address unless `allow_remote`.
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
    TcpListener::bind(&*addresses).map_err(|error| {
        anyhow::anyhow!(
            "{flag} {address}: cannot listen: {error}; name another address or port (port 0 picks a free one)"
        )
    })
}
