//! The view of a watch in a browser: it shows the report's numbers, can only read, and shows names as text.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::command::{LIMIT, Running, output};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::plimsoll;

const HOSTILE: &str = "\"><img src=x onerror=\"window.pwned=1\"></button></script><script>window.pwned=1</script>";

/// Five seconds, from 2001-09-09T01:46:40Z on, of CREATEs: one of a file with a hostile name, which takes 10 ms, then one that takes 20 ms.
fn write_capture(folder: &Path) -> PathBuf {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(50_000, 445);
    traffic.step_ns = 10_000_000;
    traffic.all(&tcp.handshake());
    for id in 1..=50 {
        let (name, ms) = if id % 2 == 1 { (HOSTILE, 10) } else { ("plain.txt", 20) };
        traffic.step_ns = ms * 1_000_000;
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::create(id, name).bytes()));
        traffic.step_ns = (100 - ms) * 1_000_000;
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::created(id, smb2::file(1)).bytes()));
    }
    let path = folder.join("capture.pcap");
    std::fs::write(&path, traffic.pcap()).unwrap();
    path
}

/// A watch that was read to its end, and the address of its page.
fn watch(capture: &Path) -> (Running, String) {
    let mut command = plimsoll();
    let mut watching = Running::start(command.args(["watch", "--browser", "--quiet"]).arg(capture)).unwrap();
    let ended = watching.wait_until(|running| running.said()[1].contains(" in a browser"));
    assert_eq!(ended, None, "{:?}", watching.said());
    let said = watching.said()[1].clone();
    let address = said.split("open ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    (watching, address)
}

/// The answer to a request, as far as it has come when `until` is in it or it ends.
fn ask(address: SocketAddr, request: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&answer).contains(until) {
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => answer.extend_from_slice(&piece[..read]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn only_the_address_with_the_token_gives_anything_and_only_to_its_own_page() {
    let scratch = Scratch::new("watch-token");
    let (watching, page) = watch(&write_capture(scratch.path()));
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (token, address): (&str, SocketAddr) = (path.trim_end_matches('/'), host.parse().unwrap());
    assert!(token.len() == 32 && address.ip().is_loopback(), "{page}");
    let wrong = format!("{}{}", if token.starts_with('0') { '1' } else { '0' }, &token[1..]);
    let host = format!("Host: {host}");
    let end = "\r\n\r\n";
    for (line, headers, status) in [
        (format!("GET /{token}/"), host.clone(), "200"),
        (format!("GET /{token}/events"), format!("{host}\r\nOrigin: http://{address}"), "200"),
        ("GET /".to_owned(), host.clone(), "403"),
        ("GET /events".to_owned(), host.clone(), "403"),
        ("GET //".to_owned(), host.clone(), "403"),
        (format!("GET /{wrong}/"), host.clone(), "403"),
        (format!("GET /{wrong}/events"), host.clone(), "403"),
        (format!("GET /{}/events", &token[..31]), host.clone(), "403"),
        (format!("GET /{token}/other"), host.clone(), "404"),
        (format!("GET /{token}/events"), format!("{host}\r\nOrigin: http://evil.example"), "403"),
        (format!("GET /{token}/events"), "Host: evil.example".to_owned(), "403"),
        (format!("POST /{token}/"), host.clone(), "405"),
        (format!("PUT /{token}/live.js"), host.clone(), "405"),
    ] {
        let answer = ask(address, &format!("{line} HTTP/1.1\r\n{headers}{end}"), end);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {headers}: {answer:.200}");
        assert!(answer.contains("Content-Security-Policy: default-src 'none'"), "{answer:.600}");
    }
    watching.signal(Signal::INT);
    assert_eq!(watching.end().status.code(), Some(0));
}

/// Otherwise a script would wait forever.
#[test]
fn a_duration_also_ends_a_watch_whose_file_has_ended() {
    let scratch = Scratch::new("watch-over");
    let capture = write_capture(scratch.path());
    // Long enough to read the file even if the watch has to wait for a processor: what is unread at its end is not in the report.
    let ended = output(plimsoll().args(["watch", "--browser", "--duration", "5s"]).arg(capture));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("50 requests"), "{ended:?}");
}

#[test]
fn browsers_that_do_not_read_leave_the_others_everything() {
    let scratch = Scratch::new("watch-slow");
    let (watching, page) = watch(&write_capture(scratch.path()));
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let request = format!("GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let address: SocketAddr = host.parse().unwrap();
    let asleep: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let answer = ask(address, &request, "\"start_s\":1000000004");
    for second in 0..5 {
        assert!(answer.contains(&format!("\"start_s\":{}", 1_000_000_000 + second)), "{answer}");
    }
    drop(asleep);
    watching.signal(Signal::INT);
    assert_eq!(watching.end().status.code(), Some(0));
}

/// Otherwise each lost connection would cost five minutes of data.
#[test]
fn a_browser_that_connects_again_gets_only_later_seconds() {
    let scratch = Scratch::new("watch-again");
    let (watching, page) = watch(&write_capture(scratch.path()));
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let seconds = |header: &str| {
        let request = format!("GET /{path}events HTTP/1.1\r\nHost: {host}\r\n{header}\r\n");
        let answer = ask(host.parse().unwrap(), &request, "\"start_s\":1000000004");
        assert!(answer.contains("event: about\n"), "{answer}");
        (0..5).filter(|second| answer.contains(&format!("\"start_s\":{}", 1_000_000_000 + second))).collect::<Vec<_>>()
    };
    assert_eq!(seconds(""), [0, 1, 2, 3, 4]);
    assert_eq!(seconds("Last-Event-ID: 2\r\n"), [3, 4]);
    assert_eq!(seconds("Last-Event-ID: 1000\r\n"), [0, 1, 2, 3, 4], "this stream never gave that number");
    watching.signal(Signal::INT);
    assert_eq!(watching.end().status.code(), Some(0));
}

fn text(browser: &mut Browser, id: &str) -> String {
    browser.value(&format!("document.getElementById('{id}').textContent")).as_str().unwrap().to_owned()
}

/// The rows of a table: the text of each cell.
fn table(browser: &mut Browser, id: &str) -> Vec<Vec<String>> {
    let rows = format!(
        "[...document.querySelectorAll('#table-{id} tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    );
    serde_json::from_value(browser.value(&rows)).unwrap()
}

fn report(capture: &Path, arguments: &[&str]) -> Value {
    let analyzed = output(plimsoll().args(["analyze", "--utc", "--json", "-"]).args(arguments).arg(capture));
    crate::only_side(&analyzed.stdout)
}

#[test]
fn the_page_shows_what_a_report_of_that_second_says_and_rows_drill_down() {
    let Some(mut browser) = Browser::start("watch") else { return };
    let scratch = Scratch::new("watch-browser");
    let capture = write_capture(scratch.path());
    let (watching, page) = watch(&capture);
    browser.visit(&page);
    browser.wait_until("document.getElementById('state').textContent === 'END'");
    let second = report(&capture, &["--from", "2001-09-09T01:46:44Z", "--to", "2001-09-09T01:46:45Z"]);
    let row = &second["operations"][0];
    assert_eq!((&row["count"], &row["response_time"]["max_s"]), (&json!(10), &json!(0.02)), "{row:#}");
    for (id, shown) in [("moment", "2001-09-09 01:46:44 UTC"), ("rate", "10.0"), ("p99", "20.0 ms"), ("max", "20.0 ms")]
    {
        assert_eq!(text(&mut browser, id), shown, "{id}");
    }
    assert!(["10.0 ms", "10.00 ms"].contains(&text(&mut browser, "p50").as_str()));

    let by = report(&capture, &["--by", "path"]);
    let waited = |name: &str| {
        let rows = by["breakdown"]["rows"].as_array().unwrap();
        let is_it = |row: &&Value| row.to_string().contains(name);
        rows.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {by:#}"))["count"].as_u64().unwrap()
    };
    assert_eq!((waited("plain.txt"), waited("onerror")), (25, 25));
    let files = table(&mut browser, "file");
    let names: Vec<&str> = files.iter().map(|row| row[0].as_str()).collect();
    assert!(names.len() == 2 && names[0].contains("plain.txt") && names[1].contains("><img src=x"), "{files:?}");
    assert_eq!((files[0][1].as_str(), files[1][1].as_str()), ("66.7 %", "33.3 %"));
    assert_eq!((files[0][3].as_str(), files[1][3].as_str()), ("20.0 ms", "10.0 ms"), "means are exact");

    browser.click("document.querySelectorAll('#table-file button')[1]");
    browser.wait_until("document.querySelectorAll('#within button').length === 1");
    assert_eq!(table(&mut browser, "file").len(), 1);
    assert!(text(&mut browser, "rate") == "5.00" && text(&mut browser, "p99").ends_with(" ~"));
    browser.click("document.querySelector('#table-operation button')");
    browser.wait_until("document.querySelectorAll('#within button').length === 2");
    browser.value(
        "document.getElementById('back').value = -2; document.getElementById('back').dispatchEvent(new Event('input'))",
    );
    assert_eq!(
        (text(&mut browser, "state"), text(&mut browser, "moment").as_str()),
        ("PAUSED".to_owned(), "2001-09-09 01:46:42 UTC")
    );
    assert_eq!(browser.value("Object.keys(charts).sort().join()"), "course,heat,service");
    assert_eq!(browser.value("charts.heat.getOption().series[0].data.length"), 5, "a second, a cell of this file");

    save(&mut browser, scratch.path());
    assert_eq!(
        browser.value("[window.pwned === undefined, document.querySelectorAll('img').length]"),
        json!([true, 0])
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    watching.signal(Signal::INT);
    let ended = watching.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    browser.wait_until("document.getElementById('state').className === 'stamp ' || document.getElementById('state').className === 'stamp away'");
}

/// Seconds of CREATEs from 2001-09-09T01:46:40Z on, each second with as many files; eight clients.
fn write_busy_capture(folder: &Path, seconds: u64, files: u64) -> PathBuf {
    let mut traffic = Traffic::new(Link::Ethernet);
    let address = |ip: u64, port: u16| SocketAddr::new(format!("10.0.0.{ip}").parse().unwrap(), port);
    let mut connections: Vec<Tcp> = (2..10).map(|ip| Tcp::new(address(ip, 50_000), address(1, 445))).collect();
    traffic.step_ns = 1_000;
    connections.iter_mut().for_each(|tcp| traffic.all(&tcp.handshake()));
    traffic.step_ns = i64::try_from(500_000_000 / files).unwrap();
    for id in 1..=seconds * files {
        let tcp = &mut connections[(id % 8) as usize];
        traffic.send(tcp, Side::Client, &nbss(&smb2::create(id, &format!("file {}.txt", id % files)).bytes()));
        traffic.send(tcp, Side::Server, &nbss(&smb2::created(id, smb2::file((id % 251) as u8)).bytes()));
    }
    let path = folder.join("busy.pcap");
    std::fs::write(&path, traffic.pcap()).unwrap();
    path
}

/// Selections on a page are drawn. With `PLIMSOLL_EXACT=1` the page has the five minutes of a busy server, and a limit applies to the time
/// from the mouse button until the second frame after the click: the page draws its charts in the first.
#[test]
fn selections_are_drawn_at_once() {
    let Some(mut browser) = Browser::start("watch-clicks") else { return };
    let scratch = Scratch::new("watch-clicks");
    let exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    let (watching, page) =
        watch(&write_busy_capture(scratch.path(), if exact { 300 } else { 5 }, if exact { 200 } else { 20 }));
    browser.visit(&page);
    browser.wait_until("document.getElementById('state').textContent === 'END'");
    browser.value(
        "window.took = []; addEventListener('mousedown', () => { window.began = performance.now(); }, true); \
         addEventListener('click', () => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => took.push(performance.now() - began)))), true); 0",
    );
    let clicks = [
        ("#table-client", 1),
        ("#table-operation", 2),
        ("#table-file", 3),
        ("#within", 2),
        ("#within", 1),
        ("#within", 0),
    ];
    let mut count = 0;
    for (place, within) in clicks.into_iter().cycle().take(if exact { 30 } else { clicks.len() }) {
        browser.click(&format!("document.querySelector('{place} button')"));
        count += 1;
        browser.wait_until(&format!("took.length === {count}"));
        assert_eq!(browser.value("document.querySelectorAll('#within button').length"), within, "{place}");
    }
    let mut took: Vec<f64> = serde_json::from_value(browser.value("took")).unwrap();
    took.sort_by(f64::total_cmp);
    let (p50, max) = (took[took.len() / 2], took[took.len() - 1]);
    println!("selection: {count} clicks, p50 {p50:.0} ms, max {max:.0} ms until all is drawn");
    assert!(!exact || max < 200.0, "{took:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    watching.signal(Signal::INT);
    assert_eq!(watching.end().status.code(), Some(0));
}

/// The saved page has the shown content, without scripts.
fn save(browser: &mut Browser, folder: &Path) {
    browser.call("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": folder }));
    browser.click("document.getElementById('save')");
    let end = Instant::now() + LIMIT;
    let saved = loop {
        let mut files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let page = files.find(|file| file.extension().is_some_and(|end| end == "html"));
        // Chromium makes the file before it writes the page.
        if let Some(whole) =
            page.map(|page| std::fs::read_to_string(page).unwrap()).filter(|text| text.contains("</html>"))
        {
            break whole;
        }
        assert!(Instant::now() < end, "nothing was saved");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(saved.contains("2001-09-09 01:46:42 UTC") && saved.contains("data:image/png"), "{saved:.2000}");
    assert!(!saved.contains("<script") && !saved.contains("<img src=\"x\"") && saved.contains("&lt;img src=x"));
}
