//! One connection: one request, one response.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::request::{Head, MAX_HEAD, parse};
use super::response::stream_head;
use super::{Answer, Request, Response, Site, Status};

/// Time limit for a client to send its request, and to read each part of a response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Number of bytes written between two checks of the time limit.
const PIECE: usize = 16 * 1024;

/// A client that reads a response without an end.
pub(in super::super) struct Client {
    stream: TcpStream,
}

impl Client {
    /// Begins the response.
    pub(in super::super) fn begin(&mut self, content_type: &str) -> io::Result<()> {
        self.send(stream_head(content_type).as_bytes())
    }

    /// Sends a part of the response.
    ///
    /// # Errors
    /// The client does not take it in time, or is gone.
    pub(in super::super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_until(&mut self.stream, bytes, Instant::now() + PATIENCE)
    }
}

/// Reads a request, and answers it.
pub(super) fn serve(mut stream: TcpStream, allow_remote: bool, site: &dyn Site) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let head = read_head(&mut stream, deadline)?;
    let (answer, with_body) = match head {
        Ok(request) => {
            let answer = refusal(&request, allow_remote).map_or_else(|| site.answer(&request), Answer::Whole);
            (answer, request.method != "HEAD")
        }
        Err(refused) => (Answer::Whole(refused), true),
    };
    match answer {
        Answer::Whole(response) => {
            let deadline = Instant::now() + PATIENCE;
            write_until(&mut stream, response.head().as_bytes(), deadline)?;
            if with_body {
                write_until(&mut stream, &response.body, deadline)?;
            }
            close(stream)
        }
        Answer::Stream(stream_to) if with_body => stream_to(&mut Client { stream }),
        Answer::Stream(_) => Ok(()),
    }
}

/// Reason to refuse a request; `None` if it is allowed.
fn refusal(request: &Request, allow_remote: bool) -> Option<Response> {
    let says = |status, why| Some(Response::says(status, why));
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return says(Status::MethodNotAllowed, "Only GET and HEAD");
    }
    if request.host.is_none() {
        return says(Status::BadRequest, "The request has no Host header");
    }
    if !allow_remote && !request.came_to_an_address() {
        return says(Status::Forbidden, "Use the address 127.0.0.1 or localhost, not another name");
    }
    if !request.is_of_this_origin() {
        return says(Status::Forbidden, "Pages of another origin have no access");
    }
    None
}

fn read_head(stream: &mut TcpStream, deadline: Instant) -> io::Result<Result<Request, Response>> {
    let refused = |status, why| Ok(Err(Response::says(status, why)));
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let read = match read_until(stream, &mut piece, deadline)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        };
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        match parse(&bytes) {
            Head::Request(request) => return Ok(Ok(request)),
            Head::Invalid => return refused(Status::BadRequest, "This is not an HTTP/1.1 request"),
            Head::Partial if bytes.len() >= MAX_HEAD => {
                return refused(Status::HeadTooLarge, "The request is too long");
            }
            Head::Partial => {}
        }
    }
}

fn read_until(stream: &mut TcpStream, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(left(deadline)?))?;
    stream.read(into)
}

fn write_until(stream: &mut TcpStream, bytes: &[u8], deadline: Instant) -> io::Result<()> {
    bytes.chunks(PIECE).try_for_each(|piece| {
        stream.set_write_timeout(Some(left(deadline)?))?;
        stream.write_all(piece)
    })
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Closes the connection so that the response arrives: unread bytes would make the kernel reset the connection first.
fn close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + Duration::from_secs(1);
    let (mut piece, mut read) = ([0; 1024], 0);
    while read < 8 * MAX_HEAD {
        match read_until(&mut stream, &mut piece, deadline)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(())
}
