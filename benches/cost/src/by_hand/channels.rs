//! The loop by hand over the connections of one session (SMB multichannel).
//!
//! Plimsoll's client logs on, binds the further connections to the session, opens the file, and writes a READ for each connection. Then
//! patched copies of these READs go out, each with the next message ID of its connection. One `epoll_wait` waits for all connections. Each
//! connection with responses is read once, and its next requests go out in one `write` before the next connection is read. A request takes
//! the connection whose response made room for it, so each connection has the same number of requests outstanding.
//!
//! The connections are not read in turn with blocking reads: a request on one connection would then wait for a response on another one.

use std::error::Error;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use plimsoll_client::blocking::Collected;
use plimsoll_client::clock::Clock;
use plimsoll_client::operation::{Reply, Tag};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::{Arrived, Client, NewChannel};
use plimsoll_model::{Endpoint, Names};
use rustix::event::epoll;

use super::{Hand, Progress, info, message, one_message, open, read, said, ticket, waiting};
use crate::measured::{Measured, Watch};
use crate::operation::Case;
use crate::servers::connector;

/// Performs `count` operations with `depth` outstanding ones, after a tenth as many that are not measured.
pub fn run(operation: Case, target: &str, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    let mut hands = log_on(operation, target)?;
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, hand) in (0..).zip(&hands) {
        // Edge-triggered, which is cheaper: a read has more room than all responses of a connection need, so it empties the socket.
        let wanted = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&set, &hand.stream, epoll::EventData::new_u64(number), wanted)?;
    }
    exchange(&mut hands, &set, depth, count / 10)?;
    let watch = Watch::start();
    exchange(&mut hands, &set, depth, count)?;
    Ok(watch.stop(count))
}

/// Does `count` operations.
fn exchange(hands: &mut [Hand], set: &OwnedFd, depth: usize, count: u64) -> Result<(), Box<dyn Error>> {
    let mut progress = Progress { count, begun: 0, done: 0, free: 0 };
    let channels = hands.len();
    for place in (0..channels).cycle().take(depth.min(usize::try_from(count)?)) {
        hands.get_mut(place).ok_or("no such connection")?.begin(&mut progress)?;
    }
    for hand in hands.iter_mut() {
        hand.send()?;
    }
    let mut events = Vec::with_capacity(channels);
    while progress.done < count {
        events.clear();
        epoll::wait(set, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let place = usize::try_from(event.data.u64())?;
            let hand = hands.get_mut(place).ok_or("no such connection")?;
            hand.receive(&mut progress)?;
            if !hand.out.is_empty() {
                hand.send()?;
            }
        }
    }
    Ok(())
}

/// Logs on and binds all connections; returns each with its READ.
fn log_on(operation: Case, target: &str) -> Result<Vec<Hand>, Box<dyn Error>> {
    let server = connector(operation, target, &mut Names::default())?;
    let to = server.address().ok_or("no address")?;
    let (out, seen, clock) = (Outbox::new(), Collected::default(), Clock::new());
    let mut session = Session { client: server.client(&info(operation)), out, seen, clock, streams: Vec::new() };
    for channel in 0..operation.channels() {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        session.streams.push(stream);
        session.bind(channel)?;
    }
    session.client.begin(&open(operation), ticket(0), session.clock.now(), &mut session.out, &mut session.seen);
    let Reply::Opened { file, .. } = session.wait(Tag(0))? else { return Err("not opened".into()) };
    // The client gives each request to the connection with the fewest outstanding ones.
    for tag in (1..).take(session.streams.len()) {
        let now = session.clock.now();
        session.client.begin(&read(operation, file), ticket(tag), now, &mut session.out, &mut session.seen);
    }
    let Session { streams, mut out, .. } = session;
    let hand = |(channel, stream)| {
        let request = waiting(out.channel(channel));
        match message(&request) {
            Some((_, [])) => Hand::of(operation, stream, request, Vec::new(), None),
            _ => Err(format!("connection {channel} has not one request, but {} bytes", request.len()).into()),
        }
    };
    (0..).zip(streams).map(hand).collect()
}

/// A client and the connections of its session.
struct Session {
    client: Box<dyn Client>,
    out: Outbox,
    seen: Collected,
    clock: Clock,
    streams: Vec<TcpStream>,
}

impl Session {
    /// Logs on over the first connection, or binds a further one.
    fn bind(&mut self, channel: u32) -> Result<(), Box<dyn Error>> {
        let now = self.clock.now();
        if channel == 0 {
            self.client.connect(now, &mut self.out, &mut self.seen);
            return self.wait(Tag::CONNECT).map(drop);
        }
        let (client, server) = (Endpoint::NOWHERE, Endpoint::NOWHERE);
        let new = NewChannel { channel, connection: channel, client, server };
        self.client.channel_opened(&new, now, &mut self.out, &mut self.seen);
        self.wait(Tag::channel(channel)).map(drop)
    }

    /// Sends and receives until something is over that was begun. One request is outstanding at a time.
    fn wait(&mut self, tag: Tag) -> Result<Reply, Box<dyn Error>> {
        let mut used = 0;
        loop {
            if let Some(result) = self.seen.take_done(tag) {
                return result.map_err(|failure| said(failure).into());
            }
            for (channel, stream) in (0..).zip(&mut self.streams) {
                let out = self.out.channel(channel);
                if !out.is_empty() {
                    let (now, bytes) = (self.clock.now(), waiting(out));
                    stream.write_all(&bytes)?;
                    out.consume(bytes.len());
                    self.client.sent(channel, out.sent(), now);
                    used = channel;
                }
            }
            let stream = self.streams.get_mut(used as usize).ok_or("no such connection")?;
            let head = one_message(stream)?;
            let (length, at) = (head.len() as u64, self.clock.now());
            let arrived = Arrived { head: &head, length, first: at, last: at, channel: used };
            self.client.message(arrived, &mut self.out, &mut self.seen);
        }
    }
}
