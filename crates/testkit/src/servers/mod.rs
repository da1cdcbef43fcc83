//! Servers for one test, on loopback and ended with it: real ones, and made-up ones that do what they are told.

pub mod delaying_proxy;
pub mod faulty;
mod ganesha;
mod kdc;
mod samba;
mod scratch;
pub mod scripted;

pub use ganesha::{Export, Ganesha};
pub use kdc::Kdc;
pub use samba::{Samba, Share};
pub use scratch::Scratch;

/// Why a server cannot be started on this machine: what a test prints behind `SKIPPED: `.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable(pub(crate) &'static str);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// How often a server is started before that is called a failure.
const ATTEMPTS: usize = 5;

/// A TCP port of loopback that nobody uses at the moment, below those that connections are given (ip(7),
/// `ip_local_port_range`: 32768 and up). Who tries again and again to reach a server that is not there would some day be given
/// its port to call from, be connected with itself, and keep the server from coming back.
fn free_port() -> std::io::Result<u16> {
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
