//! A page of a watch that stays open: the browser's memory stays flat, and the page costs the network little.
//!
//! It stays open for an hour, or for `PLIMSOLL_WATCH_SECONDS`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::command::Running;
use plimsoll_testkit::namespace::Namespace;
use rustix::process::Signal;
use serde_json::json;

use crate::available;

/// How long it is open.
const OPEN: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
/// The page has five minutes: its memory is full after these, and one more to settle.
const FULL: usize = 6;
/// Most bytes per second, mean of a minute.
const MOST_BYTES: u64 = 30_000;
/// Most that the median of the last ten minutes may be above that of the first ten with all five minutes.
const GROWTH: f64 = 0.05;
/// Garbage collections per minute, and the time between two.
const COLLECTIONS: usize = 5;
const BETWEEN_COLLECTIONS: Duration = Duration::from_millis(300);

/// What a minute came to.
struct Minute {
    heap: u64,
    resident: u64,
    elements: u64,
    bytes: u64,
}

/// Loads a server until it is stopped.
fn load(place: &Namespace, server: &Embedded) -> Running {
    let mut load = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    load.args(["run", "mixed", "--clients", "12", "--rate", "150", "--warmup", "0s", "--duration", "2h", "--quiet"]);
    load.args(["--target", &server.target()]);
    place.within(|| Running::start(&mut load)).unwrap()
}

/// A watch of these servers, and the address of its page.
fn watch(place: &Namespace, servers: &[Embedded]) -> (Running, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["watch", "lo", "--lines", "--browser"]);
    for server in servers {
        command.args(["--port", &server.address().port().to_string()]);
    }
    let mut watching = place.within(|| Running::start(&mut command)).unwrap();
    let is_ready = |said: &str| said.contains(" in a browser") && said.contains("capturing lo");
    assert_eq!(watching.wait_until(|running| is_ready(&running.said()[1])), None, "{:?}", watching.said());
    let page = watching.said()[1].split("open ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    (watching, page)
}

/// Counted bytes, and what they were when they were last read.
struct Meter {
    counted: Arc<AtomicU64>,
    before: u64,
    read: Instant,
}

impl Meter {
    fn new(counted: Arc<AtomicU64>) -> Self {
        Self { before: counted.load(Relaxed), counted, read: Instant::now() }
    }

    /// Bytes per second since the last call: if the browser answers late, that is more than a minute.
    fn per_second(&mut self) -> u64 {
        let (bytes, now) = (self.counted.load(Relaxed), Instant::now());
        let seconds = now.duration_since(std::mem::replace(&mut self.read, now)).as_secs_f64();
        ((bytes - std::mem::replace(&mut self.before, bytes)) as f64 / seconds) as u64
    }
}

/// Reads the events of a page as a browser does. Counts the bytes: all browsers get the same.
fn count_bytes(place: &Namespace, page: &str) -> Arc<AtomicU64> {
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = place.within(|| TcpStream::connect(host)).unwrap();
    stream.write_all(format!("GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let counted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&counted);
    std::thread::spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            counter.fetch_add(read as u64, Relaxed);
        }
    });
    counted
}

/// Measures the memory of the page. `bytes` is what it received per second in the last minute.
fn minute(browser: &mut Browser, bytes: u64) -> Minute {
    let number = |browser: &mut Browser, method, field: &str| browser.call(method, json!({}))[field].as_f64().unwrap();
    // What the page just works on stays in a garbage collection: the least of some is what it keeps.
    let heaps = (0..COLLECTIONS).map(|_| {
        std::thread::sleep(BETWEEN_COLLECTIONS);
        browser.call("HeapProfiler.collectGarbage", json!({}));
        number(browser, "Runtime.getHeapUsage", "usedSize") as u64
    });
    Minute {
        heap: heaps.min().unwrap_or(0),
        resident: browser.resident_bytes(),
        elements: number(browser, "Memory.getDOMCounters", "nodes") as u64,
        bytes,
    }
}

/// The median of a memory in the first ten minutes in which it is full, and in the last ten.
fn ends(minutes: &[Minute], memory: impl Fn(&Minute) -> u64) -> [u64; 2] {
    let full = minutes.get(FULL..).filter(|full| !full.is_empty()).unwrap_or(minutes);
    let some = full.len().min(10);
    [&full[..some], &full[full.len() - some..]].map(|part| {
        let mut values: Vec<u64> = part.iter().map(&memory).collect();
        values.sort_unstable();
        values[values.len() / 2]
    })
}

#[test]
#[ignore = "long proof: cargo xtask verify \"watch hour\""]
fn a_page_that_is_open_for_an_hour_has_flat_memory_and_few_bytes() {
    let Some(place) = available(Namespace::new()) else { return };
    let seconds = std::env::var("PLIMSOLL_WATCH_SECONDS").ok().and_then(|text| text.parse().ok());
    let open = seconds.map_or(OPEN, Duration::from_secs);
    let Some(mut browser) = place.within(|| Browser::start_alone("watch-hour")) else { return };
    let servers =
        [Kind::Smb, Kind::Nfs].map(|kind| place.within(|| Embedded::start(kind, Options::default()).unwrap()));
    let (mut watching, page) = watch(&place, &servers);
    let mut loads = servers.each_ref().map(|server| load(&place, server));
    browser.visit(&page);
    // Otherwise the browser keeps what the page receives for whoever debugs it.
    browser.call("Network.disable", json!({}));
    let bytes = count_bytes(&place, &page);
    // What a browser gets at its start is not counted: it has up to five minutes.
    std::thread::sleep(Duration::from_secs(5));
    let (begun, mut meter) = (Instant::now(), Meter::new(bytes));
    let mut minutes = Vec::new();
    while begun.elapsed() < open {
        std::thread::sleep(MINUTE.saturating_sub(meter.read.elapsed()));
        let bytes = meter.per_second();
        minutes.push(minute(&mut browser, bytes));
        let Some(Minute { heap, resident, elements, bytes }) = minutes.last() else { continue };
        let number = minutes.len();
        println!("minute {number}: heap {heap}, resident {resident}, {elements} elements, {bytes} bytes/s");
        assert_eq!(watching.wait_until(|_| true), None, "{:?}", watching.said());
        loads.iter_mut().for_each(|load| assert_eq!(load.wait_until(|_| true), None, "{:?}", load.said()));
    }
    browser.wait_until("document.getElementById('state').textContent === 'LIVE'");
    // A connection is listed here when it is over.
    let lost = browser.value("performance.getEntriesByType('resource').filter(e => e.name.endsWith('/events')).length");
    assert_eq!(lost, 0, "the browser lost the stream");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    watching.signal(Signal::INT);
    let report = String::from_utf8_lossy(&watching.end().stdout).into_owned();
    let most = minutes.iter().map(|minute| minute.bytes).max().unwrap_or(0);
    let mean = minutes.iter().map(|minute| minute.bytes).sum::<u64>() / minutes.len() as u64;
    println!(
        "page of {} minutes: {mean} bytes/s, at most {most}; {}",
        minutes.len(),
        report.lines().nth(1).unwrap_or_default()
    );
    for (name, [first, last]) in [
        ("heap", ends(&minutes, |minute| minute.heap)),
        ("resident", ends(&minutes, |minute| minute.resident)),
        ("elements", ends(&minutes, |minute| minute.elements)),
    ] {
        println!("page {name}: {first} at first, {last} at the end");
        assert!(last as f64 <= first as f64 * (1.0 + GROWTH), "{name} grows: {first} to {last}");
    }
    assert!(most <= MOST_BYTES, "{most} bytes per second");
}
