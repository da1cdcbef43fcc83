//! The page of a live view, in a browser: it gets its events from the test.

use plimsoll_model::{Names, Procedure, Protocol, Sink as _};
use plimsoll_report::live::{LiveFigures, LivePage, LiveTimes, about, moment};
use plimsoll_stats::live::Recent;
use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::transaction;
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000_000;
/// In place of the connection to the server.
const EVENTS: &str =
    "const on = {}; window.EventSource = class { addEventListener(event, action) { on[event] = action; } };";

struct Page(Browser);

impl Page {
    fn open(test: &str) -> Option<Self> {
        let mut browser = Browser::start(test)?;
        let LivePage { html, style, script, library } = LivePage::new();
        let mut page = html;
        for (from, to) in [
            ("<link rel=\"stylesheet\" href=\"live.css\">", format!("<style>{style}</style>")),
            ("<script src=\"echarts.min.js\" defer></script>", format!("<script>{EVENTS}</script>")),
            ("<script src=\"live.js\" defer></script>", format!("<script>{library}</script>")),
            ("</body>", format!("<script>{script}</script></body>")),
        ] {
            assert!(page.contains(from), "{from}: {page}");
            page = page.replace(from, &to);
        }
        browser.open(&page);
        let mut page = Self(browser);
        page.0.value("on.open(); 0");
        page.send("about", &about("interface eth0").unwrap());
        Some(page)
    }

    fn send(&mut self, event: &str, data: &str) {
        self.0.value(&format!("on.{event}({{ data: {} }}); 0", json!(data)));
        self.0.next_frame();
    }

    fn text(&mut self, id: &str) -> String {
        self.0.value(&format!("document.getElementById('{id}').textContent")).as_str().unwrap().to_owned()
    }

    /// The rows of a table: the text of each cell.
    fn table(&mut self, id: &str) -> Vec<Vec<String>> {
        let rows = format!(
            "[...document.querySelectorAll('#table-{id} tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
        );
        serde_json::from_value(self.0.value(&rows)).unwrap()
    }

    fn click(&mut self, element: &str) {
        self.0.click(&format!("document.querySelector('{element}')"));
        self.0.next_frame();
    }
}

/// The events of seconds that begin at these numbers since the Unix epoch: clients that each do six operations on a share, twice.
fn seconds(numbers: std::ops::Range<i64>, clients: u8) -> Vec<String> {
    let (mut names, mut recent, mut events) = (Names::default(), Recent::new(), Vec::new());
    for number in numbers.clone() {
        for request in 0..i64::from(clients) * 12 {
            let command = [5, 6, 8, 9, 14, 16][(request % 6) as usize];
            let ended = number * SECOND + 500_000_000 + request;
            let mut t = transaction(Procedure::of(Protocol::Smb2, command), ended, 1_000_000 + request * 1_000);
            t.client.ip = [10, 0, 0, (request / 12) as u8].into();
            t.share = names.intern("share");
            recent.transaction(&t, &names);
        }
        recent.advance((number + 1) * SECOND);
        let second = recent.second(number * SECOND).unwrap();
        let operations = second.total().count;
        let figures = LiveFigures { operations, p99_ns: Some(1_000_000), seconds: Some(1.0), ..LiveFigures::default() };
        events.push(moment(&figures, second, &names, 0).unwrap());
    }
    events
}

#[test]
fn many_combinations_leave_tables_exact_and_selections_marked() {
    let Some(mut page) = Page::open("live-many") else { return };
    for event in seconds(1_000..1_002, 60) {
        page.send("second", &event);
    }
    let operations = page.table("operation");
    assert_eq!(operations.len(), 6, "{operations:?}");
    // 1,440 requests in two seconds.
    assert!(operations.iter().all(|row| row[2] == "120" && !row[3].contains('*')), "{operations:?}");
    assert_eq!(page.table("share").iter().map(|row| row[2].as_str()).collect::<Vec<_>>(), ["720"]);
    // The clients with the longest waits have all their combinations, and the operations lack most.
    page.click("#table-client button");
    assert_eq!((page.text("rate").as_str(), page.text("unknown").as_str()), ("12.0", ""));
    assert!(page.table("operation").iter().all(|row| row[2] == "2.00"));
    page.click("#within button");
    page.click("#table-operation button");
    assert_eq!(page.text("rate"), "120", "the sum of an operation is exact");
    assert!(page.text("unknown").starts_with("Up to "), "{}", page.text("unknown"));
    let clients = page.table("client");
    assert!(clients.iter().all(|row| row[2].starts_with("≥ ") && row[3].ends_with(" *")), "{clients:?}");
    page.click("#table-client button");
    assert!(page.text("rate").starts_with("≥ ") && page.text("p99").ends_with(" ~ *"));
    let shares: Vec<String> = page.table("operation").iter().map(|row| row[1].clone()).collect();
    assert!(shares.iter().all(|share| share.ends_with(" % *")), "more requests may belong to the whole: {shares:?}");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn an_unknown_amount_of_data_is_not_zero() {
    let Some(mut page) = Page::open("live-data") else { return };
    let data = [(Value::Null, true, "–"), (json!(5_000_000), true, "≥ 5.00 MB"), (json!(5_000_000), false, "5.00 MB")];
    for (number, (bytes, at_least, shown)) in (1_000..).zip(data) {
        let mut second: Value = serde_json::from_str(&seconds(number..number + 1, 1).remove(0)).unwrap();
        (second["bytes"], second["bytes_at_least"]) = (bytes, at_least.into());
        page.send("second", &second.to_string());
        assert_eq!(page.text("data"), shown);
    }
}

/// The time that the page shows, and the number of operations: the seconds have as many as their number says.
fn shown(page: &mut Page) -> (String, String) {
    (page.text("moment"), page.text("rate"))
}

#[test]
fn the_page_shows_numbers_and_time_of_one_second() {
    let Some(mut page) = Page::open("live-moments") else { return };
    let instant = |s: i64| format!("1970-01-01 00:{:02}:{:02} UTC", s / 60, s % 60);
    let event = |s: i64| {
        let text = seconds(s..s + 1, 1).remove(0);
        let mut second: Value = serde_json::from_str(&text).unwrap();
        second["operations"] = s.into();
        second.to_string()
    };
    (60..70).for_each(|s| page.send("second", &event(s)));
    page.click("#mark");
    let back = "document.getElementById('back').value = -200; document.getElementById('back').dispatchEvent(new Event('input')); 0";
    page.0.value(back);
    assert_eq!(shown(&mut page), (instant(60), "60.0".to_owned()), "the oldest second, not an older one");
    // The empty left part of a heat map.
    let left = "(() => { const r = document.querySelector('#heat canvas').getBoundingClientRect(); return [r.x + 80, r.y + 60]; })()";
    page.0.middle("document.querySelector('#heat')");
    let left: (f64, f64) = serde_json::from_value(page.0.value(left)).unwrap();
    page.0.value("document.getElementById('back').value = -3; document.getElementById('back').dispatchEvent(new Event('input')); 0");
    assert_eq!(shown(&mut page), (instant(66), "66.0".to_owned()));
    page.0.drag(left, left);
    page.0.next_frame();
    assert_eq!(shown(&mut page), (instant(60), "60.0".to_owned()));
    // A second that did not arrive has no numbers.
    page.send("second", &event(72));
    page.0.value("document.getElementById('back').value = -1; document.getElementById('back').dispatchEvent(new Event('input')); 0");
    assert_eq!(shown(&mut page), (instant(71), "–".to_owned()));
    // A paused second stays after five minutes, with its table; a mark of a second that is gone leads nowhere.
    page.0.value("document.getElementById('back').value = -6; document.getElementById('back').dispatchEvent(new Event('input')); 0");
    let table = page.table("client");
    (1_000..1_003).for_each(|s| page.send("second", &event(s)));
    assert_eq!((shown(&mut page), page.text("state")), ((instant(66), "66.0".to_owned()), "PAUSED".to_owned()));
    assert_eq!(page.table("client"), table);
    assert_eq!(page.0.value("document.querySelector('#marks button').disabled"), true);
    page.click("#pause");
    assert_eq!(page.text("moment"), instant(1_002));
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn an_interface_that_is_down_is_in_the_head_and_nobody_knows_who_waits() {
    let Some(mut page) = Page::open("live-down") else { return };
    let second = |number: i64, waiting: Value, down: bool| {
        let mut second: Value = serde_json::from_str(&seconds(number..number + 1, 1).remove(0)).unwrap();
        (second["waiting"], second["interface_down"]) = (waiting, down.into());
        second.to_string()
    };
    page.send("second", &second(60, json!(0), false));
    page.send("state", "{\"losses\": {}, \"down_since_s\": null}");
    let waiting = |page: &mut Page| (page.text("waiting"), page.text("oldest"), page.text("state"));
    let texts = |waiting: &str, oldest: &str, state: &str| (waiting.to_owned(), oldest.to_owned(), state.to_owned());
    assert_eq!(waiting(&mut page), texts("0", "requests", "LIVE"));
    page.send("second", &second(61, Value::Null, true));
    page.send("state", "{\"losses\": {}, \"down_since_s\": 61}");
    let down = "INTERFACE DOWN since 1970-01-01 00:01:01 UTC";
    assert_eq!(waiting(&mut page), texts("–", "unknown: interface down", down));
    page.click("#pause");
    assert_eq!(page.text("state"), format!("PAUSED, {down}"));
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn a_page_without_packets_says_so_and_goes_on_with_the_first_second() {
    let Some(mut page) = Page::open("live-silent") else { return };
    let text = "No packets of a file server on eth1 for 12 s (ports 445, 139, 2049, 111): check --port";
    page.send("state", &json!({ "losses": {}, "silent": true, "notices": [text] }).to_string());
    assert_eq!((page.text("state").as_str(), page.text("notices").as_str()), ("NO PACKETS YET", text));
    page.click("#pause");
    assert_eq!((page.text("rate").as_str(), page.text("moment").as_str()), ("–", ""));
    page.send("second", &seconds(60..61, 1)[0]);
    page.send("state", &json!({ "losses": {}, "silent": false, "notices": [] }).to_string());
    assert_eq!((page.text("state").as_str(), page.text("notices").as_str()), ("LIVE", ""));
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// The event of a second with one client, and with these values.
fn second_with(number: i64, values: &[(&str, Value)]) -> String {
    let mut second: Value = serde_json::from_str(&seconds(number..number + 1, 1).remove(0)).unwrap();
    values.iter().for_each(|(name, value)| second[*name] = value.clone());
    second.to_string()
}

#[test]
fn a_page_whose_packets_have_stopped_says_so_and_nobody_knows_who_waits() {
    let Some(mut page) = Page::open("live-stopped") else { return };
    page.send("second", &second_with(60, &[("waiting", json!(1)), ("oldest_ns", json!(2_000_000_000_u64))]));
    let shown = |page: &mut Page| ["waiting", "oldest", "state"].map(|id| page.text(id));
    page.send("state", &json!({ "losses": {}, "stopped": false }).to_string());
    assert_eq!(shown(&mut page), ["1", "the oldest for 2.00 s", "LIVE"]);
    page.send("state", &json!({ "losses": {}, "stopped": true }).to_string());
    assert_eq!(shown(&mut page), ["–", "unknown: no packets", "NO PACKETS"]);
    page.click("#pause");
    assert_eq!(shown(&mut page), ["1", "the oldest for 2.00 s", "PAUSED"], "of that second");
    assert_eq!(page.0.value("document.querySelector('[role=status]').id"), "state", "a screen reader says it");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn times_in_tables_of_a_minute_with_losses_are_marked() {
    let Some(mut page) = Page::open("live-lossy-tables") else { return };
    let marked = |page: &mut Page| {
        let rows: Vec<_> = ["client", "share", "operation"].into_iter().flat_map(|id| page.table(id)).collect();
        assert_eq!(rows.len(), 8, "{rows:?}");
        rows.iter().flat_map(|row| [row[3].ends_with(" *"), row[4].ends_with(" *")]).collect::<Vec<_>>()
    };
    page.send("second", &second_with(60, &[]));
    assert_eq!(marked(&mut page), [false; 16]);
    page.send("second", &second_with(61, &[("lost_packets", json!(7))]));
    assert_eq!(page.text("lost"), "7");
    page.send("second", &second_with(62, &[]));
    assert_eq!(marked(&mut page), [true; 16]);
    page.send("second", &second_with(122, &[]));
    assert_eq!(marked(&mut page), [false; 16], "more than a minute later");
    page.send("second", &second_with(123, &[("interface_down", json!(true))]));
    assert_eq!(marked(&mut page), [true; 16]);
}

#[test]
fn seconds_with_losses_are_hatched_and_their_percentiles_are_marked() {
    let Some(mut page) = Page::open("live-lossy-seconds") else { return };
    let hatched = |page: &mut Page, chart: &str| {
        page.0.value(&format!("(charts.{chart}.getOption().series[1].data || []).map(cell => cell[0])"))
    };
    let seconds = [
        (60, None, json!([])),
        (61, Some(("lost_packets", json!(7))), json!([61])),
        (62, None, json!([61])),
        (63, Some(("interface_down", json!(true))), json!([61, 63])),
    ];
    for (number, loss, lossy) in seconds {
        page.send("second", &second_with(number, loss.as_slice()));
        assert_eq!((hatched(&mut page, "heat"), hatched(&mut page, "service")), (lossy.clone(), lossy), "{number}");
        assert_eq!(["p50", "p99", "max"].map(|id| page.text(id).ends_with(" *")), [loss.is_some(); 3], "{number}");
    }
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// A laptop that slept for more than five minutes gets no event of the step itself.
#[test]
fn a_page_that_missed_a_step_back_of_the_clock_goes_on() {
    let Some(mut page) = Page::open("live-step") else { return };
    (1_000..1_003).for_each(|number| page.send("second", &second_with(number, &[])));
    (100..103).for_each(|number| page.send("second", &second_with(number, &[("step", json!(1))])));
    assert_eq!((page.text("moment").as_str(), page.text("state").as_str()), ("1970-01-01 00:01:42 UTC", "LIVE"));
    assert_eq!(page.0.value("document.getElementById('rate').textContent"), "12.0");
    // A second that comes twice, as after a lost connection, still changes nothing.
    page.send("second", &second_with(101, &[("step", json!(1))]));
    assert_eq!(page.text("moment"), "1970-01-01 00:01:42 UTC");
    assert_eq!(page.table("share")[0][2], "12.0", "three seconds");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn rows_that_are_not_shown_are_summed_and_can_be_shown() {
    let Some(mut page) = Page::open("live-rows") else { return };
    page.send("second", &seconds(60..61, 40)[0]);
    let clients = page.table("client");
    assert_eq!((clients.len(), clients[12][0].as_str()), (13, "28 further clients"), "{clients:?}");
    // 28 of 40 clients, each with 12 requests; those with the longest waits come first.
    assert_eq!((clients[12][2].as_str(), clients[0][0].as_str()), ("336", "10.0.0.39"));
    assert_eq!(page.text("more-client"), "Show all 40");
    page.click("#more-client");
    assert_eq!((page.table("client").len(), page.text("more-client").as_str()), (40, "Show the first 12"));
    page.click("#more-client");
    assert_eq!(page.table("client").len(), 13);
    assert_eq!(page.0.value("document.getElementById('more-operation').hidden"), true);
    // More clients than a second has sums of.
    page.send("second", &seconds(61..62, 200)[0]);
    let clients = page.table("client");
    let names: Vec<&str> = clients.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names[12..], ["156 further clients", "not told apart"]);
    let sum: f64 = clients.iter().map(|row| row[2].trim_start_matches("≥ ").parse::<f64>().unwrap()).sum();
    assert!((sum / ((40.0 + 200.0) * 12.0 / 2.0) - 1.0).abs() < 0.01, "nothing is missing: {clients:?}");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// Otherwise each second would cost memory outside of the JavaScript heap, and a saved page would lack cells.
#[test]
fn seconds_make_no_canvases_and_no_text_nodes() {
    let Some(mut page) = Page::open("live-canvases") else { return };
    let rows: Vec<[u32; 2]> = (20..65).map(|row| [row, row]).collect();
    let event = |number: i64| second_with(number, &[("heat", json!(rows)), ("lost_packets", json!(1))]);
    page.send("second", &event(1_000));
    let count = "window.made = 0; const create = document.createElement.bind(document); \
                 document.createElement = name => { window.made += name === 'canvas'; return create(name); }; \
                 window.kept = [document.getElementById('moment'), document.querySelector('#table-client td')].map(place => place.firstChild); 0";
    page.0.value(count);
    // More cells than ECharts draws at once by default.
    let send = |number: i64| format!("on.second({{ data: {} }});", json!(event(number)));
    page.0.value(&(1_001..1_080).map(send).chain(["0".to_owned()]).collect::<String>());
    page.0.next_frame();
    page.send("second", &event(1_080));
    let canvases = "[window.made, document.querySelectorAll('#heat canvas').length]";
    assert_eq!(page.0.value(canvases), json!([0, 1]));
    assert_eq!(page.text("moment"), "1970-01-01 00:18:00 UTC");
    assert_eq!(page.0.value("kept.every(node => node.isConnected)"), true, "a text changes in its node");
    assert_eq!(page.0.value("charts.heat.getOption().series[0].data.length"), 81 * 45);
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

#[test]
fn a_row_whose_name_is_gone_is_used_again_for_another() {
    let Some(mut page) = Page::open("live-reuse") else { return };
    // More than a minute apart, so each table has one client.
    let of_client = |number: i64, client: &str| {
        let mut second: Value = serde_json::from_str(&second_with(number, &[])).unwrap();
        assert_eq!(second["names"][0], "10.0.0.0");
        second["names"][0] = client.into();
        second.to_string()
    };
    page.send("second", &of_client(1_000, "10.0.0.1"));
    page.0.value("document.querySelector('#table-client tbody tr').isFirst = true; 0");
    let is_first = "document.querySelector('#table-client tbody tr').isFirst === true";
    for (number, client, reused) in [(1_070, "10.0.0.2", false), (1_140, "10.0.0.3", true)] {
        page.send("second", &of_client(number, client));
        let clients = page.table("client");
        let [row] = &clients[..] else { panic!("{clients:?}") };
        assert_eq!((row[0].as_str(), page.0.value(is_first)), (client, json!(reused)));
    }
    page.click("#table-client button");
    assert_eq!(page.text("within"), "client 10.0.0.3 ×");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// 999.7 µs was 1.00e+3 µs, and a line was drawn through seconds that did not arrive.
#[test]
fn numbers_next_to_a_unit_and_seconds_that_did_not_arrive_are_shown_as_such() {
    let Some(mut page) = Page::open("live-digits") else { return };
    let times = [("p50_ns", json!(999_700)), ("p99_ns", json!(999_400)), ("max_ns", json!(999_999_999))];
    page.send("second", &second_with(60, &times));
    assert_eq!(["p50", "p99", "max"].map(|id| page.text(id)), ["1.00 ms", "999 µs", "1.00 s"]);
    page.send("second", &second_with(63, &[("bytes", json!(999_600_000_u64))]));
    assert_eq!(page.text("data"), "1000 MB");
    let rates = page.0.value("charts.course.getOption().series[0].data");
    assert_eq!(rates, json!([[60.5, 12], [62.5, null], [63.5, 12]]));
    let dashes = page.0.value("charts.course.getOption().series.map(line => line.lineStyle.type)");
    assert_eq!(dashes, json!(["solid", "dotted", "dashed"]), "three lines without colours");
    page.0.value("charts.course.dispatchAction({ type: 'legendToggleSelect', name: 'p50' }); 0");
    page.send("second", &second_with(64, &[]));
    assert_eq!(page.0.value("charts.course.getOption().legend[0].selected.p50"), false, "it stays hidden");
    let lost = |kernel: u64| json!({ "losses": { "kernel": kernel, "freezes": kernel } }).to_string();
    page.send("state", &lost(1));
    assert!(page.text("losses").contains("1 packet lost by the kernel, 1 time the buffer was full."));
    page.send("state", &lost(2));
    assert!(page.text("losses").contains("2 packets lost by the kernel, 2 times the buffer was full."));
}

/// Under a schedule, the numbers count from the intended start of the requests.
#[test]
fn the_numbers_have_the_name_of_their_response_times() {
    let Some(mut page) = Page::open("live-leading") else { return };
    let named = |page: &mut Page| {
        page.0.value("['p50', 'p99', 'max'].map(id => document.getElementById(id).nextElementSibling.textContent)")
    };
    let all = |name: &str| json!([name, name, name]);
    page.send("second", &second_with(60, &[]));
    assert_eq!(named(&mut page), all("response time"));
    let times = LiveTimes::FromIntended.label();
    page.send("state", &json!({ "losses": null, "times": times }).to_string());
    assert_eq!(named(&mut page), all("response time from the intended start"));
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// A copy of a dark page may be opened where pages are light.
#[test]
fn a_saved_page_has_pictures_with_a_background_and_names_and_the_marks() {
    let Some(mut page) = Page::open("live-saved") else { return };
    page.send("second", &seconds(60..61, 40)[0]);
    page.click("#mark");
    page.0.value(
        "URL.createObjectURL = copy => { window.saved = copy.text(); return ''; }; \
         HTMLAnchorElement.prototype.click = () => {}; 0",
    );
    page.click("#save");
    let marks = "saved.then(text => { window.copy = new DOMParser().parseFromString(text, 'text/html'); \
                 return copy.getElementById('marks').textContent; })";
    assert_eq!(page.0.value(marks), " marked 00:01:00");
    assert_eq!(page.0.value("copy.querySelectorAll('.more').length"), 0, "a button that does nothing");
    let opacity = "Promise.all([...copy.images].map(({ src, alt }) => new Promise(done => { const image = new Image(); \
                   image.onload = () => { const pen = document.createElement('canvas').getContext('2d'); \
                   pen.drawImage(image, 0, 0); done([alt, pen.getImageData(0, 0, 1, 1).data[3]]); }; image.src = src; })))";
    let pictures = [
        ("Response times, last 5 minutes", 255),
        ("Service times, last 5 minutes", 255),
        ("Operations per second and percentiles", 255),
    ];
    assert_eq!(page.0.value(opacity), json!(pictures));
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// The style of a report hides elements of the class `live`.
#[test]
fn the_state_can_be_seen_and_a_narrow_window_has_its_charts() {
    let Some(mut page) = Page::open("live-seen") else { return };
    page.send("second", &second_with(60, &[]));
    page.0.size(375, 800);
    page.0.next_frame();
    let inside = "(element => { const { left, right, height } = document.querySelector(element).getBoundingClientRect(); \
                  return height > 0 && left >= 0 && right <= innerWidth; })";
    for element in ["#state.live", "#heat", "#service", "#course", ".live-tables .scroll"] {
        assert_eq!(page.0.value(&format!("{inside}('{element}')")), true, "{element}");
    }
    assert_eq!(page.0.value("document.querySelectorAll('.chart[role=img][aria-label]').length"), 3, "each has a name");
    // As a scroll bar does, without a change of the window.
    page.0.value("document.querySelector('main').style.width = '300px'; 0");
    page.0.next_frame();
    let fits = "document.querySelector('#course canvas').clientWidth <= document.getElementById('course').clientWidth";
    assert_eq!(page.0.value(fits), true);
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// If a server has an operation only now and then, a line without marks shows nothing.
#[test]
fn percentiles_of_seconds_without_neighbours_are_points() {
    let Some(mut page) = Page::open("live-points") else { return };
    let marked = "charts.course.getOption().series.find(line => line.name === 'p50').showSymbol";
    let seconds = [(60, Some(1_000), true), (61, Some(1_000), false), (62, None, false), (63, Some(1_000), true)];
    for (number, p50_ns, shown) in seconds {
        page.send("second", &second_with(number, &[("p50_ns", json!(p50_ns))]));
        assert_eq!(page.0.value(marked), shown, "{number}");
    }
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// A broken tunnel does not end the connection.
#[test]
fn a_page_that_hears_nothing_says_so_and_goes_on() {
    let Some(mut page) = Page::open("live-tunnel") else { return };
    page.send("second", &second_with(60, &[]));
    page.send("state", &json!({ "losses": {}, "ended": false }).to_string());
    assert_eq!(page.text("state"), "LIVE");
    page.0.value("window.now = Date.now; Date.now = () => now.call(Date) + 30000; 0");
    page.0.wait_until("document.getElementById('state').textContent === 'DISCONNECTED'");
    page.send("alive", "0");
    assert_eq!(page.text("state"), "LIVE");
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}

/// Otherwise a user without a mouse starts at the top of the page again.
#[test]
fn the_focus_stays_near_a_filter_that_was_removed() {
    let Some(mut page) = Page::open("live-focus") else { return };
    page.send("second", &seconds(60..61, 2)[0]);
    page.click("#table-client button");
    page.click("#table-operation button");
    for (left, focused) in [(1, "within"), (0, "table-client")] {
        page.0.value("document.querySelector('#within button').focus(); 0");
        page.0.key("Enter", 13);
        page.0.next_frame();
        assert_eq!(page.0.value("document.querySelectorAll('#within button').length"), left);
        assert_eq!(page.0.value("document.activeElement.closest('[id]').id"), focused);
    }
    assert_eq!(page.0.complaints(), Vec::<String>::new());
}
