//! The NFSv3 client with scripted answers: no server is needed.
#![allow(clippy::indexing_slicing, reason = "a test")]

mod due;
mod hostile;
mod mounting;
pub(crate) mod script;
mod steady;
mod version;

use std::io::Read as _;
use std::net::TcpStream;

/// The next call of a client, without its record mark; `None` at the end of the connection.
fn call(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).ok()?;
    let mut message = vec![0; (u32::from_be_bytes(mark) & 0x7FFF_FFFF) as usize];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}
