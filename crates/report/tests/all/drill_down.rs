//! The drill-down of a page in a browser: after clicks and keys it shows the same numbers as statistics with the same filters. Needs
//! Chromium.
//!
//! `cargo test -p plimsoll-report --release --test all million -- --nocapture` measures a page of a million operations.

use crate::html_synthetic::busy;
use plimsoll_model::{Names, Operation, Outcome, Procedure, Protocol, Transaction};
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{DrillDown, Source};
use plimsoll_report::html;
use plimsoll_stats::cube::Cube;
use plimsoll_stats::{Accumulator, Headline, Options, Statistics};
use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::{Random, transaction};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};

const START_NS: i64 = 1_790_000_000_000_000_000;
const SHARES: [&str; 3] = [r"\\filer\Projects", r"\\filer\home", "<b>\u{202e}evil</b>"];
const SHARING_VIOLATION: u32 = 0xC000_0043;

/// `count` requests of 8 clients for 3 shares over ten minutes; one client is slow, and removing is.
fn traffic(count: usize) -> (Vec<Transaction>, Names) {
    let mut names = Names::default();
    let shares = SHARES.map(|share| names.intern(share));
    let mut random = Random::new(7);
    // CLOSE, CREATE, QUERY_INFO, READ, WRITE, FLUSH, SET_INFO, QUERY_DIRECTORY
    let procedures = [6, 5, 16, 8, 9, 7, 17, 14].map(|code| Procedure::of(Protocol::Smb2, code));
    let mut one = |number: usize| {
        let client = random.bits() % 8;
        let procedure = procedures[(random.bits() % 8) as usize];
        let slow =
            f64::from(u8::from(client == 3)) + 2.0 * f64::from(u8::from(procedure.row().operation == Operation::Flush));
        let service_ns = (150_000.0 * (slow + random.normal() * 0.6).exp()) as i64;
        let sent_ns = START_NS + (number as i64) * 600_000_000_000 / count as i64;
        let mut t = transaction(procedure, sent_ns + service_ns, service_ns);
        t.client.ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, client as u8 + 1));
        t.share = shares[(random.bits() % 3) as usize];
        t.payload_bytes = procedure.row().carries_data.then_some(4096 + random.bits() % 60_000);
        if t.payload_bytes.is_some() {
            t.timeline.response_last = Some(sent_ns + service_ns + 40_000);
        }
        if random.bits().is_multiple_of(40) {
            (t.status, t.outcome) = (Some(SHARING_VIOLATION), Outcome::Refused);
        } else if random.bits().is_multiple_of(400) {
            (t.status, t.outcome) = (None, Outcome::Unanswered);
            (t.timeline.response_first, t.timeline.response_last) = (None, None);
        }
        t
    };
    ((0..count).map(&mut one).collect(), names)
}

fn status_name(_: Protocol, status: u32) -> Option<&'static str> {
    match status {
        0 => Some("STATUS_SUCCESS"),
        SHARING_VIOLATION => Some("STATUS_SHARING_VIOLATION"),
        _ => None,
    }
}

fn drill_down(all: &[Transaction], names: &Names) -> DrillDown {
    let mut cube = Cube::new(Headline::Response);
    all.iter().for_each(|t| cube.record(t));
    let source = Source { inputs: vec!["it's.pcap".into()], filters: vec!["--path '*.c'".into()], ..Source::default() };
    DrillDown::collect(&cube, names, &source, status_name)
}

fn page(drill: &DrillDown) -> String {
    html::page_with_drill_down(&busy().into(), drill).unwrap()
}

/// The sums of the transactions that a filter lets through, as every report has them.
fn exact(all: &[Transaction], wanted: impl Fn(&Transaction) -> bool) -> Accumulator {
    let mut statistics = Statistics::new(Options::default());
    all.iter().filter(|t| wanted(t)).for_each(|t| statistics.record(t));
    let mut sum = Accumulator::default();
    statistics.operations().for_each(|(_, row)| sum.merge(row));
    sum
}

/// The page's numbers for one row or for all, by name.
fn numbers(browser: &mut Browser, of: &str) -> Value {
    browser.value(&format!(
        "Object.fromEntries(Array.from({of}.querySelectorAll('[data-number]')).map(e => [e.dataset.number, Number(e.querySelector('data').value)]))"
    ))
}

/// Counts, errors, bytes, waiting and max are the same; percentiles are within the stated error.
fn same(browser: &mut Browser, of: &str, sum: &Accumulator, service: bool, error: f64) {
    let shown = numbers(browser, of);
    assert_eq!(shown["count"], sum.count() as f64, "{of}");
    assert_eq!(shown["errors"], sum.errors() as f64, "{of}");
    if of == TOTAL {
        assert_eq!(shown["bytes"], sum.payload().at_least().unwrap() as f64, "{of}");
    }
    assert_eq!(shown["waited"], sum.waiting().ns() as f64, "{of}");
    let times = if service { sum.service() } else { sum.response() };
    let times = times_of(&times).unwrap();
    assert_eq!(shown["max"].as_f64().unwrap() / 1e9, times.max_s, "{of}");
    for (name, value) in [("p50", times.p50_s), ("p95", times.p95_s), ("p99", times.p99_s)] {
        let found = shown[name].as_f64().unwrap() / 1e9;
        // The histograms of the statistics are exact to 0.1 % themselves.
        assert!((found / value - 1.0).abs() <= error + 2e-3, "{of}: {name} {found} for {value}");
    }
}

const TOTAL: &str = "document.querySelector('[data-part=total]')";

fn row(table: &str, key: &str) -> String {
    format!(
        "Array.from(document.querySelectorAll('[data-part=table-{table}] tbody tr')).find(r => r.querySelector('button')?.dataset.key === {})",
        json!(key)
    )
}

fn key_button(table: &str, key: &str) -> String {
    format!("{}.querySelector('button')", row(table, key))
}

fn open(browser: &mut Browser, drill: &DrillDown) {
    browser.open(&page(drill));
    assert_eq!(browser.value("document.documentElement.dataset.drill"), "ready");
}

fn of_client(t: &Transaction, last: u8) -> bool {
    t.client.ip == IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

fn is_write(t: &Transaction) -> bool {
    t.procedure.row().operation == Operation::Write
}

#[test]
fn clicks_filter_everything_and_the_numbers_are_those_of_the_statistics() {
    let Some(mut browser) = Browser::start("drill-mouse") else { return };
    let (all, names) = traffic(20_000);
    let drill = drill_down(&all, &names);
    open(&mut browser, &drill);
    same(&mut browser, TOTAL, &exact(&all, |_| true), false, drill.error);
    browser.click(&key_button("client", "10.0.0.4"));
    browser.next_frame();
    same(&mut browser, TOTAL, &exact(&all, |t| of_client(t, 4)), false, drill.error);
    browser.click(&row("operation", "write"));
    browser.next_frame();
    same(&mut browser, TOTAL, &exact(&all, |t| of_client(t, 4) && is_write(t)), false, drill.error);
    let other = exact(&all, |t| of_client(t, 2) && is_write(t));
    same(&mut browser, &row("client", "10.0.0.2"), &other, false, drill.error);
    browser.click(&key_button("status", "STATUS_SHARING_VIOLATION"));
    browser.next_frame();
    let refused = |t: &Transaction| is_write(t) && t.status == Some(SHARING_VIOLATION);
    same(&mut browser, TOTAL, &exact(&all, |t| of_client(t, 4) && refused(t)), false, drill.error);
    // A second client joins the first.
    browser.click(&key_button("client", "10.0.0.2"));
    browser.next_frame();
    let both = |t: &Transaction| (of_client(t, 4) || of_client(t, 2)) && refused(t);
    same(&mut browser, TOTAL, &exact(&all, both), false, drill.error);
    browser.click("document.querySelector('[name=drill-times][value=service]')");
    browser.next_frame();
    same(&mut browser, TOTAL, &exact(&all, both), true, drill.error);
    assert_eq!(browser.value("document.querySelectorAll('.chip').length"), 4);
    // A chip removes its filter, the browser's back button takes that back.
    browser.click("document.querySelectorAll('.chip')[3]");
    browser.next_frame();
    let writes = |t: &Transaction| (of_client(t, 4) || of_client(t, 2)) && is_write(t);
    same(&mut browser, TOTAL, &exact(&all, writes), true, drill.error);
    browser.value(
        "new Promise(done => { addEventListener('hashchange', () => done(1), { once: true }); history.back(); })",
    );
    same(&mut browser, TOTAL, &exact(&all, both), true, drill.error);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_time_is_chosen_by_mouse_and_the_command_names_all_filters() {
    let Some(mut browser) = Browser::start("drill-time") else { return };
    let (all, names) = traffic(20_000);
    let drill = drill_down(&all, &names);
    open(&mut browser, &drill);
    browser.click(&key_button("client", "10.0.0.4"));
    // A busy machine takes several frames to choose the client, after which the chart may be elsewhere, and the time.
    let mut choose = || {
        let (x, y) = browser.middle("document.querySelector('[data-part=heat] canvas')");
        browser.drag((x - 60.0, y), (x + 60.0, y));
        browser.value(
            "new Promise(done => { const began = Date.now(), look = setInterval(() => { \
             const said = Array.from(new URLSearchParams(location.hash.slice(7))); \
             if (said.length > 2 || Date.now() - began > 20000) { clearInterval(look); done(said); } }, 10); })",
        )
    };
    let said = choose();
    assert_eq!(said.as_array().map(Vec::len), Some(3), "{said}");
    let time = |place: usize| humantime_ns(said[place][1].as_str().unwrap());
    let (from, to) = (time(1), time(2));
    assert!(to - from > 2 * drill.bin_ms * 1_000_000, "{said}");
    let within = |t: &Transaction| (from..to).contains(&t.timeline.request_first.unwrap()) && of_client(t, 4);
    same(&mut browser, TOTAL, &exact(&all, within), false, drill.error);
    let command = browser.value("document.querySelector('[data-part=command] code').textContent");
    let [from, to] = [1, 2].map(|place: usize| said[place][1].as_str().unwrap().to_owned());
    assert_eq!(
        command,
        format!(r"plimsoll analyze 'it'\''s.pcap' --path '*.c' --client 10.0.0.4 --from {from} --to {to}")
    );
    // A name that a terminal would act on is in no command.
    browser.click(&key_button("share", r"<b>\u{202e}evil</b>"));
    browser.next_frame();
    assert_eq!(browser.value("document.querySelector('[data-part=command] code')"), Value::Null);
    let share = names.text(all[0].share).map(str::to_owned);
    assert!(share.is_some());
    assert_eq!(browser.value("document.querySelectorAll('#drill b').length"), 0, "no name became an element");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Nanoseconds since the Unix epoch of what `Date.toISOString` writes.
fn humantime_ns(text: &str) -> i64 {
    let digits: Vec<i64> = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    let [year, month, day, hour, minute, second, ms] = digits[..] else { panic!("{text}") };
    // Days from civil (Hinnant).
    let y = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719_468;
    (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000_000 + ms * 1_000_000
}

#[test]
fn everything_works_by_keyboard() {
    let Some(mut browser) = Browser::start("drill-keys") else { return };
    let (all, names) = traffic(20_000);
    let drill = drill_down(&all, &names);
    open(&mut browser, &drill);
    let press = |browser: &mut Browser, place: &str, key: &str, code: u32| {
        browser.value(&format!("{place}.focus()"));
        browser.key(key, code);
        browser.next_frame();
    };
    press(&mut browser, &key_button("client", "10.0.0.4"), "Enter", 13);
    assert_eq!(browser.value("document.activeElement.dataset.key"), "10.0.0.4", "the focus stays");
    press(&mut browser, &key_button("operation", "write"), " ", 32);
    same(&mut browser, TOTAL, &exact(&all, |t| of_client(t, 4) && is_write(t)), false, drill.error);
    let heat = "document.querySelector('[data-part=heat]')";
    press(&mut browser, heat, "ArrowRight", 39);
    press(&mut browser, heat, "Enter", 13);
    let bin_ns = drill.bin_ms * 1_000_000;
    let first = drill.start_ms * 1_000_000 + bin_ns;
    let within = |t: &Transaction| {
        (first..first + bin_ns).contains(&t.timeline.request_first.unwrap()) && of_client(t, 4) && is_write(t)
    };
    same(&mut browser, TOTAL, &exact(&all, within), false, drill.error);
    assert!(browser.value(&format!("{heat}.getAttribute('aria-valuetext')")).as_str().unwrap().contains("requests"));
    browser.key("Escape", 27);
    browser.next_frame();
    same(&mut browser, TOTAL, &exact(&all, |_| true), false, drill.error);
    assert_eq!(browser.value("document.querySelectorAll('.chip').length"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_narrow_dark_page_can_be_read() {
    let Some(mut browser) = Browser::start("drill-narrow") else { return };
    let (all, names) = traffic(5_000);
    let drill = drill_down(&all, &names);
    for (width, scheme) in [(360, "dark"), (1360, "light")] {
        browser.size(width, 900);
        browser.media("", scheme);
        open(&mut browser, &drill);
        browser.click(&key_button("client", "10.0.0.4"));
        browser.next_frame();
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{width}: no sideways scrolling"
        );
        assert_eq!(browser.value(include_str!("browser/contrast.js")), json!([]), "{width} {scheme}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Processor time that the page's main thread took for tasks so far, ms.
fn main_thread_ms(browser: &mut Browser) -> f64 {
    let metrics = browser.call("Performance.getMetrics", json!({}))["metrics"].clone();
    let of = |one: &&Value| one["name"] == "TaskDuration";
    metrics.as_array().unwrap().iter().find(of).unwrap()["value"].as_f64().unwrap() * 1e3
}

/// A page of a million operations: its size, and how long three clicks take until all is drawn.
///
/// A measurement, so only release builds have this test.
#[cfg_attr(not(debug_assertions), test)]
#[cfg_attr(debug_assertions, allow(dead_code, reason = "only release builds measure"))]
#[allow(clippy::print_stdout, reason = "a measurement prints")]
fn a_million_operations_follow_at_once() {
    let Some(mut browser) = Browser::start("drill-million") else { return };
    let (all, names) = traffic(1_000_000);
    let drill = drill_down(&all, &names);
    let whole = page(&drill);
    println!(
        "page {} bytes, cells {} bytes, {} bins of time, error {:.4}",
        whole.len(),
        drill.cells.len(),
        drill.bins,
        drill.error
    );
    assert!(whole.len() < 3_000_000, "{}", whole.len());
    open(&mut browser, &drill);
    // From the button or key going down to the frame after everything was drawn.
    browser.value(
        "window.took = []; for (const kind of ['mousedown', 'keydown']) addEventListener(kind, () => { window.began = performance.now(); }, true); \
         addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => took.push(performance.now() - began)))); 0",
    );
    browser.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    let before = main_thread_ms(&mut browser);
    let keys = [("client", "10.0.0.4"), ("operation", "write"), ("status", "STATUS_SHARING_VIOLATION")];
    for (table, key) in keys {
        browser.click(&key_button(table, key));
        browser.next_frame();
        browser.next_frame();
    }
    let is_wanted = |t: &Transaction| of_client(t, 4) && is_write(t) && t.status == Some(SHARING_VIOLATION);
    same(&mut browser, TOTAL, &exact(&all, is_wanted), false, drill.error);
    browser.key("Escape", 27);
    browser.next_frame();
    browser.next_frame();
    for (table, key) in keys {
        browser.value(&format!("{}.focus()", key_button(table, key)));
        browser.key("Enter", 13);
        browser.next_frame();
        browser.next_frame();
    }
    let took = browser.value("took.map(ms => Math.round(ms * 10) / 10)");
    let processor = (main_thread_ms(&mut browser) - before) / 7.0;
    println!(
        "milliseconds: three clicks, Escape, three keys: {took}; processor time of the main thread: {processor:.0} each"
    );
    let took: Vec<f64> = took.as_array().unwrap().iter().map(|ms| ms.as_f64().unwrap()).collect();
    assert_eq!(took.len(), 7);
    assert!(took.iter().all(|ms| *ms < 200.0), "{took:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
