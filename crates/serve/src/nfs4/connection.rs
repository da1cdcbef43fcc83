//! A connection: requests one after the other, and the answers to all that have arrived in one system call.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::rpc::{self, Answer, Next};
use super::server::Server;

/// Bytes of answers that are collected before they are sent.
const BATCH: usize = 1 << 20;
/// Bytes that are read at once, at least.
const READ: usize = 16 << 10;

/// Serves a connection whose first bytes were read already, until it ends (`true`) or sends a call that is not of NFS 4, which is then in
/// `input`.
pub(crate) async fn converse(stream: &mut TcpStream, server: &Server, input: &mut Vec<u8>) -> io::Result<bool> {
    let mut out = Vec::new();
    loop {
        let mut at = 0;
        let mut needed = 0;
        let mut ours = true;
        while ours && let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            match rpc::next(rest) {
                Next::Record(record, length) => match rpc::answer(server, &record, &mut out) {
                    Answer::Given => at += length,
                    Answer::NotOurs => ours = false,
                    Answer::Puzzling => return Err(io::ErrorKind::InvalidData.into()),
                },
                Next::Missing(bytes) => {
                    needed = bytes;
                    break;
                }
                Next::TooLong => return Err(io::ErrorKind::InvalidData.into()),
            }
            if out.len() >= BATCH {
                stream.write_all(&out).await?;
                out.clear();
            }
        }
        stream.write_all(&out).await?;
        out.clear();
        input.drain(..at);
        if !ours {
            return Ok(false);
        }
        input.reserve(needed.max(READ));
        if stream.read_buf(input).await? == 0 {
            return Ok(true);
        }
    }
}
