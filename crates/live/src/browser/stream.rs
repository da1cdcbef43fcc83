//! A stream of events for all browsers: the last minutes, then new events. Each event has a number. A browser that connects again sends
//! the number of its last event, and gets only later ones.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_stats::live::KEPT_SECONDS;

use super::Client;

/// Maximum size of all stored events, bytes: 300 seconds have 2 to 8 MB.
const MAX_BYTES: usize = 16 << 20;
/// After this time without an event, Plimsoll sends an empty event to find out whether a browser is still connected. Without
/// it, the page shows DISCONNECTED.
const SILENCE: Duration = Duration::from_secs(10);
/// The empty event. It has no number.
const ALIVE: &[u8] = b"event: alive\ndata: 0\n\n";
/// Maximum time for which the end of the watch waits for browsers.
const AT_THE_END: Duration = Duration::from_secs(1);

/// The events.
pub(super) struct SharedStream {
    about: String,
    stored: Mutex<StoredEvents>,
    more: Condvar,
    /// Number of browsers with a response in progress.
    open: AtomicUsize,
}

#[derive(Default)]
struct StoredEvents {
    events: VecDeque<Arc<str>>,
    bytes: usize,
    /// Number of the first stored event.
    first: u64,
    /// No more events follow.
    ended: bool,
}

impl StoredEvents {
    /// Adds an event, or several at once: the last one has the number.
    fn push(&mut self, events: &str) {
        let number = self.first + self.events.len() as u64;
        let event: Arc<str> = format!("{}id: {number}\n\n", events.strip_suffix('\n').unwrap_or(events)).into();
        self.bytes += event.len();
        self.events.push_back(event);
        while self.events.len() > KEPT_SECONDS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.len();
            self.first += 1;
        }
    }

    /// The number of the first event for a browser whose last one has this number. A number that was never given is none of this stream.
    fn after(&self, last_event: Option<u64>) -> u64 {
        let end = self.first + self.events.len() as u64;
        last_event.filter(|&number| number < end).map_or(0, |number| number + 1)
    }

    /// The event with this number, or the first one after it.
    fn get(&self, number: u64) -> Option<(u64, Arc<str>)> {
        let number = number.max(self.first);
        let place = usize::try_from(number - self.first).ok()?;
        self.events.get(place).map(|event| (number, Arc::clone(event)))
    }
}

impl SharedStream {
    /// `about` is the first event of each browser.
    pub(super) fn new(about: String) -> Self {
        Self { about, stored: Mutex::default(), more: Condvar::new(), open: AtomicUsize::new(0) }
    }

    fn stored(&self) -> MutexGuard<'_, StoredEvents> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event for all browsers, or several at once.
    pub(super) fn push(&self, events: &str) {
        self.stored().push(events);
        self.more.notify_all();
    }

    /// The end: waits until all browsers have received everything, except browsers that do not read.
    pub(super) fn end(&self) {
        self.stored().ended = true;
        self.more.notify_all();
        let begun = Instant::now();
        while self.open.load(SeqCst) > 0 && begun.elapsed() < AT_THE_END {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the event with this number or a later one; `None` after `SILENCE`, and at the end.
    pub(super) fn wait(&self, number: u64) -> Option<(u64, Arc<str>)> {
        let is_missing = |stored: &mut StoredEvents| stored.get(number).is_none() && !stored.ended;
        let waited = self.more.wait_timeout_while(self.stored(), SILENCE, is_missing);
        waited.unwrap_or_else(PoisonError::into_inner).0.get(number)
    }

    /// Sends the stored events after the client's last one, and then the new ones, until the client disconnects. Only one event is in
    /// memory per client: a slow client skips events that are no longer stored, and a client that does not read is disconnected.
    pub(super) fn send_to(&self, client: &mut Client, last_event: Option<u64>) -> io::Result<()> {
        self.open.fetch_add(1, SeqCst);
        let sent = self.send_all(client, last_event);
        self.open.fetch_sub(1, SeqCst);
        sent
    }

    fn send_all(&self, client: &mut Client, last_event: Option<u64>) -> io::Result<()> {
        client.begin("text/event-stream")?;
        client.send(self.about.as_bytes())?;
        let mut next = self.stored().after(last_event);
        loop {
            match self.wait(next) {
                Some((number, event)) => {
                    client.send(event.as_bytes())?;
                    next = number + 1;
                }
                None if self.stored().ended => return Ok(()),
                None => client.send(ALIVE)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::{self, Answer, Request, Site};

    struct Events(Arc<SharedStream>);

    impl Site for Events {
        fn answer(&self, _: &Request) -> Answer {
            let stream = Arc::clone(&self.0);
            Answer::Stream(Box::new(move |client: &mut Client| stream.send_to(client, None)))
        }
    }

    /// As the page on a laptop that sleeps.
    #[test]
    fn a_client_that_does_not_read_is_disconnected() {
        let stream = Arc::new(SharedStream::new(String::new()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        http::start(listener, false, Arc::new(Events(Arc::clone(&stream))));
        let (patience, mut client) = (Duration::from_secs(120), TcpStream::connect(address).unwrap());
        client.set_read_timeout(Some(patience)).unwrap();
        write!(client, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        let begun = Instant::now();
        // Until the buffers of the connection are full, and for 5 s after that.
        while stream.open.load(SeqCst) > 0 {
            assert!(begun.elapsed() < patience, "the connection stays open");
            stream.push(&"x".repeat(1 << 20));
            std::thread::sleep(Duration::from_millis(50));
        }
        // The rest of the buffers, and the end.
        client.read_to_end(&mut Vec::new()).unwrap();
    }

    #[test]
    fn the_stream_is_bounded_and_whoever_is_late_goes_on_with_the_oldest() {
        let stream = SharedStream::new(String::new());
        for number in 0..1_000 {
            stream.push(&format!("data: {number}\n\n"));
        }
        let of = |number| stream.wait(number).map(|(number, event)| (number, event.to_string()));
        let event = |number: u64| Some((number, format!("data: {number}\nid: {number}\n\n")));
        assert_eq!((of(0), of(999)), (event(700), event(999)));
        let after = |number| stream.stored().after(number);
        assert_eq!([None, Some(998), Some(1_000), Some(u64::MAX)].map(after), [0, 999, 0, 0]);
        for _ in 0..40 {
            stream.push(&"x".repeat(1 << 20));
        }
        let stored = stream.stored();
        assert!(stored.bytes <= MAX_BYTES && stored.events.len() == 15, "{} events", stored.events.len());
    }
}
