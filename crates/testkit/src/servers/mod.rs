//! Servers for one test, on loopback and ended with it: real ones, and made-up ones that do what they are told.

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
pub struct Unavailable(&'static str);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// A TCP port of loopback that nobody uses at the moment.
fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Whether a program is in the path.
fn program_exists(name: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}
