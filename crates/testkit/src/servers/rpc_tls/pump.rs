//! One connection with TLS: records from the client, bytes to the server, and back.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustls::{ServerConfig, ServerConnection};

/// How often a connection looks whether it is to end though nothing happens on it.
const IDLE: Timespec = Timespec { tv_sec: 0, tv_nsec: 25_000_000 };
/// Bytes that wait for the server, at most.
const FULL: usize = 4 << 20;

/// Until one side ends it. `notifies`: the first data of the server is the last that the client gets, and TLS says so.
pub(super) fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    config: Arc<ServerConfig>,
    notifies: bool,
    down: &AtomicBool,
) -> io::Result<()> {
    client.set_nonblocking(true)?;
    server.set_nonblocking(true)?;
    server.set_nodelay(true)?;
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    tls.set_buffer_limit(None);
    let mut to_server = Vec::new();
    let mut ended = false;
    while !down.load(Ordering::Relaxed) {
        if to_server.len() < FULL && take(&mut client, &mut tls, &mut to_server)? {
            // What was asked before is asked all the same.
            ended = true;
        }
        send(&mut server, &mut to_server)?;
        if ended && to_server.is_empty() {
            return Ok(());
        }
        if !tls.is_handshaking() && !tls.wants_write() {
            let mut buffer = [0; 64 << 10];
            match server.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    tls.writer().write_all(buffer.get(..count).unwrap_or_default())?;
                    if notifies {
                        tls.send_close_notify();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        while tls.wants_write() {
            match tls.write_tls(&mut client) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let wanted = |read: bool, write: bool| {
            let read = if read { PollFlags::IN } else { PollFlags::empty() };
            read | if write { PollFlags::OUT } else { PollFlags::empty() }
        };
        let from_client = wanted(to_server.len() < FULL && !ended, tls.wants_write());
        let from_server = wanted(!tls.is_handshaking() && !tls.wants_write(), !to_server.is_empty());
        let mut sockets = [PollFd::new(&client, from_client), PollFd::new(&server, from_server)];
        // The next round finds any error.
        let _ready = rustix::event::poll(&mut sockets, Some(&IDLE));
    }
    Ok(())
}

/// Takes what the client has sent; whether it has ended.
fn take(client: &mut TcpStream, tls: &mut ServerConnection, data: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        match tls.read_tls(client) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let state = match tls.process_new_packets() {
            Ok(state) => state,
            Err(error) => {
                // The client learns why.
                let _ = tls.write_tls(client);
                return Err(io::Error::other(error));
            }
        };
        let (start, count) = (data.len(), state.plaintext_bytes_to_read());
        data.resize(start + count, 0);
        tls.reader().read_exact(data.get_mut(start..).unwrap_or_default())?;
        if state.peer_has_closed() {
            return Ok(true);
        }
        if data.len() >= FULL {
            return Ok(false);
        }
    }
}

fn send(server: &mut TcpStream, data: &mut Vec<u8>) -> io::Result<()> {
    let mut sent = 0;
    while let Some(rest) = data.get(sent..).filter(|rest| !rest.is_empty()) {
        match server.write(rest) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    data.drain(..sent);
    Ok(())
}
