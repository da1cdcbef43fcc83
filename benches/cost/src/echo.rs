//! A bare exchange: a fixed number of bytes in each direction.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::measured::{Measured, Watch};

/// Answers each `request` bytes with `answer` bytes, on one connection, until it closes; answers requests that were read together with
/// one write. The first line of output is the address.
pub fn serve(request: usize, answer: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let (mut buffer, mut have) = (vec![0; 64 << 10], 0);
    let answers = vec![7; answer * 64];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        have += count;
        let whole = (have / request).min(64);
        have -= whole * request;
        stream.write_all(answers.get(..whole * answer).unwrap_or_default())?;
        // More than 64 at once do not happen at the depths that are measured.
        assert!(have < request, "the echo server fell behind");
    }
}

/// Performs exchanges, with `depth` outstanding ones; writes due requests together.
pub fn exchange(to: SocketAddr, request: usize, answer: usize, depth: usize, count: u64) -> io::Result<Measured> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let mut run = |count: u64| -> io::Result<()> {
        let requests = vec![1; request * depth];
        let mut buffer = vec![0; (answer * depth).max(64 << 10)];
        let (mut sent, mut done, mut have) = (depth as u64, 0, 0);
        stream.write_all(&requests)?;
        while done < sent {
            let got = stream.read(&mut buffer)?;
            if got == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            have += got;
            let whole = have / answer;
            have -= whole * answer;
            done += whole as u64;
            let next = (whole as u64).min(count.saturating_sub(sent));
            sent += next;
            if next > 0 {
                stream.write_all(requests.get(..next as usize * request).unwrap_or_default())?;
            }
        }
        Ok(())
    };
    run(count / 10)?;
    let watch = Watch::start();
    run(count)?;
    Ok(Measured { request: request as u64, answer: answer as u64, ..watch.stop(count) })
}
