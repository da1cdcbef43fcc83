//! Passes bytes on, as the TLS server of the test kit does behind its TLS: what a detour over another thread costs without TLS.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// As much as the TLS server reads at once.
const BUFFER: usize = 64 << 10;

/// Starts it on a free port of loopback, for as long as this process lives.
pub fn start(to: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming() {
            // A connection that cannot be passed on is closed; its client tells of it.
            let _closed = client.and_then(|client| serve(client, to));
        }
    });
    Ok(address)
}

fn serve(client: TcpStream, to: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        to.set_nodelay(true)?;
        thread::spawn(move || {
            let mut buffer = vec![0; BUFFER];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
                    break;
                }
            }
            // It may be closed already.
            let _ended = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
