//! A connection: requests one after the other, and the answers to all that have arrived in one system call.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

use super::back_channel::Link;
use super::rpc::{self, Answer};
use super::server::Server;

/// Bytes of answers that are collected before they are sent.
const BATCH: usize = 1 << 20;
/// Bytes that are read at once, at least.
const READ: usize = 16 << 10;

/// Serves a connection whose first bytes were read already, until it ends (`true`) or sends a call that is not of NFS 4, which is then in
/// `input`.
pub(crate) async fn converse(stream: &mut TcpStream, server: &Server, input: &mut Vec<u8>) -> io::Result<bool> {
    let mut out = Vec::new();
    let (link, mut calls) = Link::new();
    loop {
        let mut at = 0;
        let mut needed = 0;
        let mut ours = true;
        while ours && let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            match rpc::next(rest) {
                rpc::Next::Record(record, length) => match rpc::answer(server, Some(&link), &record, &mut out) {
                    Answer::Given => at += length,
                    Answer::NotOurs => ours = false,
                    Answer::Puzzling => return Err(io::ErrorKind::InvalidData.into()),
                },
                rpc::Next::Missing(bytes) => {
                    needed = bytes;
                    break;
                }
                rpc::Next::TooLong => return Err(io::ErrorKind::InvalidData.into()),
            }
            if out.len() >= BATCH {
                stream.write_all(&out).await?;
                out.clear();
            }
        }
        stream.write_all(&out).await?;
        out.clear();
        input.drain(..at);
        let read = input.len();
        if !ours {
            return Ok(false);
        }
        input.reserve(needed.max(READ));
        // Answers that were given before are sent: a recall does not overtake the grant.
        while let Next::Call(call) = next(stream, input, &mut calls).await? {
            stream.write_all(&call).await?;
        }
        if input.len() == read {
            return Ok(true);
        }
    }
}

/// What a connection waits for.
enum Next {
    /// Bytes were read, or the connection has ended.
    Read,
    /// A call of the server, to send.
    Call(Vec<u8>),
}

async fn next(stream: &mut TcpStream, input: &mut Vec<u8>, calls: &mut UnboundedReceiver<Vec<u8>>) -> io::Result<Next> {
    // A read that is dropped has taken nothing.
    let mut read = pin!(stream.read_buf(input));
    poll_fn(|context| match calls.poll_recv(context) {
        Poll::Ready(Some(call)) => Poll::Ready(Ok(Next::Call(call))),
        _ => read.as_mut().poll(context).map(|read| read.map(|_| Next::Read)),
    })
    .await
}
