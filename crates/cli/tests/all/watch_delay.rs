//! The delay of a watch: from a packet on the wire until its request is on the screen of a terminal, and until a browser has drawn it.
//! The delay until it is in the events of the page is measured, too: the rest is the browser's.
//!
//! Each request names another file. It is sent at any time within a second. With `PLIMSOLL_EXACT=1` there are 100 requests, and the 99th
//! percentile has a limit; otherwise there are a few, which all appear.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::command::LIMIT;
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::tmux::Tmux;
use plimsoll_testkit::{Random, nbss, smb2};

use crate::available;

/// Longest delay of 99 % of the requests, in seconds.
const P99_S: f64 = 1.5;
/// Wide and high enough for the names of files.
const SIZE: (u16, u16) = (160, 50);
const NAME: &str = "mark-";
const DIGITS: usize = 4;
/// A capture of the screen takes about this long anyway.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// Notes when the page has drawn the name of each file, ms since the Unix epoch. The page changes its tables while it draws a frame, which
/// is drawn when the next one begins.
const NOTE_DRAWN: &str = "window.drawn = {};
    const files = document.getElementById('table-file');
    new MutationObserver(() => {
        for (const [name] of files.textContent.matchAll(/mark-[0-9]{4}/g)) {
            if (name in window.drawn) continue;
            window.drawn[name] = null;
            requestAnimationFrame(() => { window.drawn[name] = Date.now(); });
        }
    }).observe(files, { childList: true, subtree: true, characterData: true });
    0";

/// When the name of each file first came in the events of the page.
fn events(place: &Namespace, page: &str) -> Receiver<(usize, Instant)> {
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = place.within(|| TcpStream::connect(host)).unwrap();
    stream.write_all(format!("GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let (found, finds) = channel();
    std::thread::spawn(move || {
        let (mut piece, mut text, mut known) = (vec![0; 1 << 16], String::new(), BTreeSet::new());
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            let at = Instant::now();
            text.push_str(&String::from_utf8_lossy(&piece[..read]));
            for (place, _) in text.match_indices(NAME) {
                let digits = text.get(place + NAME.len()..place + NAME.len() + DIGITS);
                let Some(number) = digits.and_then(|digits| digits.parse().ok()) else { continue };
                if known.insert(number) && found.send((number, at)).is_err() {
                    return;
                }
            }
            // A name may be cut between two reads.
            let rest = text.len().saturating_sub(NAME.len() + DIGITS);
            text = text.get(rest..).unwrap_or_default().to_owned();
        }
    });
    finds
}

/// A watch of the loopback interface in tmux, its page, and a connection to a server's port there.
fn watch(place: &Namespace) -> Option<(Tmux, String, [TcpStream; 2])> {
    let tmux = available(place.within(|| Tmux::start(SIZE)))?;
    let listener = place.within(|| TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (program, port) = (crate::measured_program(), address.port());
    tmux.type_line(&format!("{} watch lo --port {port} --browser 2> said", program.display()));
    let said = || std::fs::read_to_string(tmux.folder().join("said")).unwrap_or_default();
    tmux.wait_until("screen", |_| said().contains(" in a browser") && tmux.state("#{alternate_on}") == "1");
    tmux.press("f");
    let page = said().split("open ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let client = place.within(|| TcpStream::connect(address)).unwrap();
    client.set_nodelay(true).unwrap();
    let server = listener.accept().unwrap().0;
    server.set_nodelay(true).unwrap();
    Some((tmux, page, [client, server]))
}

/// A browser that has the page open, and notes what it has drawn.
fn open(place: &Namespace, page: &str) -> Option<Browser> {
    let mut browser = place.within(|| Browser::start_alone("watch-delay"))?;
    browser.visit(page);
    browser.wait_until("document.getElementById('state').textContent !== 'CONNECTING'");
    browser.value(NOTE_DRAWN);
    Some(browser)
}

/// When the browser had drawn a name, seconds since the Unix epoch: by the clock of this machine, in whole milliseconds.
fn drawn_s(browser: &mut Browser, name: &str) -> f64 {
    let drawn = format!("window.drawn['{name}']");
    browser.wait_until(&drawn);
    browser.value(&drawn).as_f64().unwrap() / 1e3
}

/// The 50th and 99th percentile, and the maximum.
fn percentiles(mut seconds: Vec<f64>) -> [f64; 3] {
    seconds.sort_by(f64::total_cmp);
    [0.5, 0.99, 1.0].map(|part| seconds[(part * seconds.len() as f64).ceil() as usize - 1])
}

#[test]
fn requests_appear_in_the_terminal_and_on_the_page() {
    let Some(place) = available(Namespace::new()) else { return };
    let _alone = crate::alone();
    let Some((tmux, page, [mut client, mut server])) = watch(&place) else { return };
    let Some(mut browser) = open(&place, &page) else { return };
    let (exact, mut random) = (std::env::var_os("PLIMSOLL_EXACT").is_some(), Random::new(19));
    let finds = events(&place, &page);
    let mut delays: [Vec<f64>; 3] = Default::default();
    for number in 1..=if exact { 100 } else { 3 } {
        std::thread::sleep(Duration::from_secs_f64(random.uniform()));
        let name = format!("{NAME}{number:0DIGITS$}");
        client.write_all(&nbss(&smb2::create(number, &name).bytes())).unwrap();
        // Clients waited longest for the latest file, so it is in the first row.
        std::thread::sleep(Duration::from_millis(5 + number));
        server.write_all(&nbss(&smb2::created(number, smb2::file(number as u8)).bytes())).unwrap();
        let (sent, sent_at) = (Instant::now(), SystemTime::now());
        while !tmux.screen().contains(&name) {
            assert!(sent.elapsed() < LIMIT, "{name} is not on the screen:\n{}", tmux.screen());
            std::thread::sleep(CHECK_INTERVAL);
        }
        delays[0].push(sent.elapsed().as_secs_f64());
        let (found, at) = finds.recv_timeout(LIMIT).unwrap();
        assert_eq!(found as u64, number, "requests come in their order");
        delays[1].push(at.saturating_duration_since(sent).as_secs_f64());
        let sent_s = sent_at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        delays[2].push(drawn_s(&mut browser, &name) - sent_s);
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    tmux.press("q");
    for (view, delays) in ["terminal", "events of the page", "page in Chromium"].into_iter().zip(delays) {
        let (count, [p50, p99, max]) = (delays.len(), percentiles(delays));
        println!("delay {view}: {count} requests, p50 {p50:.3} s, p99 {p99:.3} s, max {max:.3} s");
        assert!(!exact || p99 <= P99_S, "{view}: {p99} s");
    }
}
