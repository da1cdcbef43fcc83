//! A TCP proxy before an NFS server that delays each response: a server whose response times hardly depend on how busy this machine is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::random::Random;

/// A record that goes back to the client, and when.
type Delayed = (Instant, Vec<u8>);

/// Starts one on a free port of loopback, for as long as this process lives. Each response takes an exponential time of this mean longer.
///
/// # Errors
/// The system gives no port.
pub fn start(to: SocketAddr, mean: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            // A connection that cannot be forwarded is closed, as its client then sees.
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else { continue };
            let _closed = connect(client, server, mean, number as u64);
        }
    });
    Ok(address)
}

/// Forwards a connection, until either end closes it.
fn connect(client: TcpStream, server: TcpStream, mean: Duration, seed: u64) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut requests, mut responses) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _reset = io::copy(&mut requests, &mut &server);
        let _closed = server.shutdown(Shutdown::Write);
    });
    let (sender, receiver) = channel();
    // The end of a connection is an error of the next read, and no fault.
    thread::spawn(move || {
        let _ended = records(&mut responses, &sender, mean, seed);
    });
    thread::spawn(move || {
        let _ended = write(&client, &receiver);
        let _closed = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Reads RPC records (RFC 5531 11) and draws a delay for each.
fn records(from: &mut TcpStream, to: &Sender<Delayed>, mean: Duration, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    loop {
        let mut mark = [0; 4];
        from.read_exact(&mut mark)?;
        let length = (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize;
        let mut record = mark.to_vec();
        record.resize(4 + length, 0);
        from.read_exact(&mut record[4..])?;
        let due = Instant::now() + mean.mul_f64(-(1.0 - random.uniform()).ln());
        if to.send((due, record)).is_err() {
            return Ok(());
        }
    }
}

/// Writes records when they are due.
fn write(mut client: &TcpStream, records: &Receiver<Delayed>) -> io::Result<()> {
    let mut waiting = BinaryHeap::new();
    loop {
        let left =
            waiting.peek().map(|Reverse((due, _)): &Reverse<Delayed>| due.saturating_duration_since(Instant::now()));
        match left {
            Some(Duration::ZERO) => {
                if let Some(Reverse((_, record))) = waiting.pop() {
                    client.write_all(&record)?;
                }
            }
            left => match records.recv_timeout(left.unwrap_or(Duration::MAX)) {
                Ok(record) => waiting.push(Reverse(record)),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) if waiting.is_empty() => return Ok(()),
                // Nothing else comes: what waits is still written.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(left.unwrap_or_default()),
            },
        }
    }
}
