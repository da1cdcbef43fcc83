//! A proxy in front of any server of SMB or RPC over TCP that spoils its answers as a test says: resets at a byte,
//! messages never sent, sent twice, late, out of order or with a bit turned over; and the whole server dead, and back.

mod framing;
mod interfaces;
mod persistent;
mod pump;
mod rules;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use framing::Framing;
pub use rules::{Fault, Rule, Which};

use super::{ATTEMPTS, free_port};
use pump::Pump;

/// How often a thread looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(2);

/// The proxy, until it is dropped.
#[derive(Debug)]
pub struct Faulty {
    /// At least one, all with the same port.
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    /// One per address; none while it is down.
    up: Vec<Up>,
}

/// What all connections have in common.
#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    framing: Framing,
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Seen>>,
}

/// The threads of a proxy that listens on an address.
#[derive(Debug)]
struct Up {
    down: Arc<AtomicBool>,
    accepting: JoinHandle<()>,
}

/// The server's answers on one connection, before any fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whole messages.
    pub replies: u64,
    /// Bytes, framing included.
    pub bytes: u64,
}

impl Faulty {
    /// Listens on a free port of loopback, in front of this server. The server need not be there yet. While the proxy is down, no client
    /// gets the port as its own.
    ///
    /// # Errors
    /// The system gives no port or thread.
    pub fn start(upstream: SocketAddr, framing: Framing, rules: Vec<Rule>) -> io::Result<Self> {
        // Another program may take the port first.
        let bound = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port().ok()?)).ok();
        let listener = (0..ATTEMPTS).find_map(bound).ok_or(io::ErrorKind::AddrInUse)?;
        let address = listener.local_addr()?;
        let (rules, seen) = (Mutex::new(rules), Mutex::default());
        let shared = Arc::new(Shared { upstream, framing, rules, seen });
        let up = vec![Up::start(listener, &shared)?];
        Ok(Self { addresses: vec![address], shared, up })
    }

    /// Listens on the same port of another address, too.
    ///
    /// # Errors
    /// Another program has this port of the address, or the system gives no thread.
    pub fn listen_on(&mut self, ip: Ipv4Addr) -> io::Result<()> {
        let address: SocketAddr = (ip, self.address().port()).into();
        self.up.push(Up::start(TcpListener::bind(address)?, &self.shared)?);
        self.addresses.push(address);
        Ok(())
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Replaces the rules for later connections, which are numbered from 0 again.
    pub fn set_rules(&self, rules: Vec<Rule>) {
        *self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner) = rules;
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The server's answers, one entry per connection, in the order of the connections.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Dead: every connection is reset, and new ones are refused. Back with [`Faulty::up`].
    pub fn down(&mut self) {
        self.up.iter().for_each(|up| up.down.store(true, Ordering::Relaxed));
        for up in self.up.drain(..) {
            // It holds nothing that could be lost.
            let _ended = up.accepting.join();
        }
    }

    /// Restarts on the same port.
    ///
    /// # Errors
    /// Another program has taken the port.
    pub fn up(&mut self) -> io::Result<()> {
        if self.up.is_empty() {
            let start = |address: &SocketAddr| Up::start(TcpListener::bind(address)?, &self.shared);
            self.up = self.addresses.iter().map(start).collect::<io::Result<_>>()?;
        }
        Ok(())
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.down();
    }
}

impl Up {
    fn start(listener: TcpListener, shared: &Arc<Shared>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let down = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (Arc::clone(shared), Arc::clone(&down));
        let accepting = std::thread::Builder::new().name("faulty".to_owned());
        let accepting = accepting.spawn(move || accept(&listener, &shared, &stop))?;
        Ok(Self { down, accepting })
    }
}

/// Accepts until it is stopped, then waits for its connections. One thread per connection: tests have few.
fn accept(listener: &TcpListener, shared: &Arc<Shared>, down: &AtomicBool) {
    std::thread::scope(|scope| {
        while !down.load(Ordering::Relaxed) {
            let Ok((client, _)) = listener.accept() else {
                std::thread::sleep(GLANCE);
                continue;
            };
            let number = {
                let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(Seen::default());
                seen.len() - 1
            };
            scope.spawn(move || converse(client, number, shared, down));
        }
    });
}

/// One connection to its end. Where the server is not there, the client's connection is reset.
fn converse(client: TcpStream, number: usize, shared: &Shared, down: &AtomicBool) {
    let rules = shared.rules.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let note = |seen: Seen| {
        if let Some(kept) = shared.seen.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
            *kept = seen;
        }
    };
    let Ok(server) = TcpStream::connect(shared.upstream) else { return pump::reset(client) };
    // Otherwise the client has disconnected already.
    if let Ok(pump) = Pump::new(client, server, shared.framing, rules::Judge::new(rules, number)) {
        pump.run(down, note);
    }
}
