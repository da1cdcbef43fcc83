//! Servers for one test, on loopback and ended with it: real ones, and scripted ones.

pub mod delaying_proxy;
pub mod faulty;
mod ganesha;
mod kdc;
mod memory_limit;
pub mod rpc_tls;
mod samba;
mod scratch;
pub mod scripted;

use std::net::{Ipv4Addr, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

pub use ganesha::{Export, Ganesha};
pub use kdc::Kdc;
pub use memory_limit::MemoryLimit;
pub use samba::{Samba, Share};
pub use scratch::Scratch;

/// Why a server cannot be started on this machine: the text that a test prints after `SKIPPED: `.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable(pub(crate) &'static str);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// What a test needs; if it is missing, prints why the test skips.
pub fn available<T, E: std::fmt::Display>(started: Result<T, E>) -> Option<T> {
    started.map_err(crate::skip).ok()
}

/// How often a server is started before that is called a failure.
const ATTEMPTS: usize = 5;
/// Maximum time until the first answer of a server, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a server that was just started answers; false if it ends instead.
fn answers(process: &mut Child, has_answered: impl Fn() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && matches!(process.try_wait(), Ok(None)) {
        if has_answered() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether something accepts connections at a port of loopback.
fn connects(port: u16) -> bool {
    TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(1)).is_ok()
}

/// A free TCP port of loopback, below the ephemeral ports (ip(7), `ip_local_port_range`: 32768 and up). A client that retries to reach a
/// missing server on an ephemeral port could get this port as its own, connect to itself, and block the server's restart.
///
/// # Errors
/// Every port that was tried is in use, or there is no loopback.
pub fn free_port() -> std::io::Result<u16> {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    let ports = (0..100).map(|attempt: u32| 10_000 + (random.hash_one(attempt) % 20_000) as u16);
    let mut taken = std::io::ErrorKind::AddrInUse.into();
    for port in ports {
        match std::net::TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(error) => taken = error,
        }
    }
    Err(taken)
}

/// Whether a program is in the path.
fn program_exists(name: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}
