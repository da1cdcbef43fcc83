//! A watch that pauses while a server is under load: the packets that the kernel then drops are shown to the last one and in their seconds,
//! and the report estimates the share of the operations that are missing: of all, and of the operations of the seconds with losses.
//!
//! With `PLIMSOLL_EXACT=1` 30 pauses and a limit for the seconds with losses, otherwise two pauses.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::Random;
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::available;

/// The largest error of the estimated share: two points.
const ERROR: f64 = 0.02;
const SECOND_NS: i64 = 1_000_000_000;
/// Maximum number of pauses beyond the usual number.
const MORE: u64 = 6;

/// A program on the load's packets.
fn start(place: &Namespace, command: &mut Command, ready: &str) -> Running {
    let mut running = place.within(|| Running::start(command)).unwrap();
    let ended = running.wait_until(|running| running.said()[1].contains(ready));
    assert_eq!(ended, None, "{:?}", running.said());
    running
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).args(arguments);
    command
}

/// Watches a load, and pauses the watch in its middle. Returns the output of the watch and of tcpdump.
fn watch_with_a_pause(
    place: &Namespace,
    folder: &Path,
    (kind, seed): (Kind, u64),
    pause: Duration,
) -> (String, String) {
    // On a separate loopback, because other tests may have servers on the usual ports.
    let server = place.within(|| Embedded::start(kind, Options::default())).unwrap();
    let port = server.address().port().to_string();
    let load = |duration: &str| {
        let mut load = plimsoll(folder, &["run", "mixed", "--clients", "3", "--warmup", "0s", "--quiet"]);
        load.args(["--seed", &seed.to_string(), "--duration", duration, "--target", &server.target()]);
        load
    };
    // The files are made before the watch begins: no log has the operations of their preparation that a watch might lose.
    let mut prepare = load("100ms");
    let ended = place.within(|| output(&mut prepare));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let watch =
        ["watch", "lo", "--lines", "--utc", "--buffer", "2MiB", "--json", "watch.json", "--transactions", "watch.csv"];
    let mut watching = start(place, plimsoll(folder, &watch).args(["--port", &port]), "capturing lo");
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-i", "lo", "-n", "-s", "64", "-B", "131072", "-w", "/dev/null", "port", &port]);
    let tcpdump = start(place, &mut tcpdump, "listening on");
    let mut load = load(&format!("{}ms", 2_000 + pause.as_millis()));
    load.args(["--transactions", "run.csv"]);
    // The preparation of the files is over when this file exists, however slow the machine is.
    load.args(["--on-phase", "touch $PLIMSOLL_PHASE"]);
    let mut load = place.within(|| Running::start(&mut load)).unwrap();
    let ended = load.wait_until(|_| folder.join("begin").exists());
    assert_eq!(ended, None, "{:?}", load.said());
    std::thread::sleep(Duration::from_millis(600));
    watching.signal(Signal::STOP);
    std::thread::sleep(pause);
    watching.signal(Signal::CONT);
    let ended = load.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let lines = |watching: &Running| watching.said()[1].matches(" op/s").count();
    let before = lines(&watching);
    let ended = watching.wait_until(|watching| lines(watching) > before + 2);
    assert_eq!(ended, None, "{:?}", watching.said());
    watching.signal(Signal::INT);
    tcpdump.signal(Signal::INT);
    let (ended, tcpdump) = (watching.end(), tcpdump.end());
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (said(&ended.stderr), said(&tcpdump.stderr))
}

/// A request and its response, a row of a table: the client, when the request began, and when the response ended.
struct Pair {
    client: String,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl Pair {
    /// Whether a part of the operation is in one of these seconds of the day. It lasts from the first byte of the request to the last byte
    /// of the response.
    fn is_in(&self, seconds: &HashSet<i64>) -> bool {
        let known = || [self.first_ns, self.last_ns].into_iter().flatten().map(|ns| ns.div_euclid(SECOND_NS));
        let (Some(first), Some(last)) = (known().min(), known().max()) else { return false };
        (first..=last).any(|second| seconds.contains(&(second % 86_400)))
    }
}

/// The second of the day.
fn second_of(ns: i64) -> i64 {
    ns.div_euclid(SECOND_NS) % 86_400
}

fn pairs(path: &Path) -> Vec<Pair> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let place = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let [client, outcome, first, last] = ["client", "outcome", "request_first_ns", "response_last_ns"].map(place);
    // A request whose response was lost has a row, but is a missing operation.
    let rows = lines.filter(|row| !matches!(row[outcome], "unanswered" | "never_sent"));
    // Earlier columns contain no commas: shares and paths are quoted only if they contain some.
    rows.map(|row| Pair {
        client: row[client].to_owned(),
        first_ns: row[first].parse().ok(),
        last_ns: row[last].parse().ok(),
    })
    .collect()
}

/// A line of the watch: its second of the day, operations, and packets lost. The rate of a second that was cut short is not the number of
/// its operations.
type Line = (i64, Option<f64>, u64);

fn line(text: &str) -> Option<Line> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "op/s")?;
    let time: Vec<i64> = words.get(1)?.split(':').map(|part| part.parse().unwrap()).collect();
    let lost = words.iter().position(|word| *word == "lost").map_or(0, |place| words[place + 1].parse().unwrap());
    let operations = (!text.contains("  (only ")).then(|| words[place - 1].parse().unwrap());
    Some((time[0] * 3_600 + time[1] * 60 + time[2], operations, lost))
}

/// Seconds without a mark have all operations.
fn assert_marks(lines: &[Line], truth: &HashMap<i64, u64>, what: &str) {
    for &(second, shown, lost) in lines {
        let Some(shown) = shown else { continue };
        let done = truth.get(&second).copied().unwrap_or(0) as f64;
        // Client and wire see the end of a response at different times: some are in the next second.
        let is_whole = (shown - done).abs() <= 50.0 + 0.05 * done;
        assert!(
            lost > 0 || is_whole,
            "{what}: second {second} shows {shown} of {done} operations without a mark: {lines:?}"
        );
    }
}

/// The fraction of missing operations of the whole run. Checks the marks of the lines.
fn missing(lines: &[Line], run: &[Pair], seen: &[Pair], what: &str) -> f64 {
    let clients: HashSet<&String> = run.iter().map(|pair| &pair.client).collect();
    // The preparation of the files, which the run's table does not have: it was over before the pause.
    let prepared: Vec<&Pair> = seen.iter().filter(|pair| !clients.contains(&pair.client)).collect();
    let mut truth = HashMap::new();
    for ended in run.iter().chain(prepared.iter().copied()).filter_map(|pair| pair.last_ns) {
        *truth.entry(second_of(ended)).or_insert(0) += 1;
    }
    assert_marks(lines, &truth, what);
    1.0 - seen.len() as f64 / (run.len() + prepared.len()) as f64
}

fn percents([missing, estimate]: [f64; 2]) -> String {
    format!("{:.2} %, estimated: {:.2} %", missing * 100.0, estimate * 100.0)
}

/// The fraction of missing operations in the seconds with losses: by the generator's log, and estimated. An operation is in these seconds
/// if any part of it is: then every missing operation is in them. Client and wire see an operation at different times, so the few that are
/// outstanding at the edge of a second may count on one side only.
///
/// `None` if the report has no estimate, or if packets were also lost before the load, of which there is no log.
fn in_lossy_seconds(lines: &[Line], run: &[Pair], seen: &[Pair], unseen: &Value) -> Option<[f64; 2]> {
    unseen["share_missing"].as_f64()?;
    let lossy: HashSet<i64> = lines.iter().filter(|(.., lost)| *lost > 0).map(|(second, ..)| *second).collect();
    let first_ns = run.iter().filter_map(|pair| pair.first_ns).min()?;
    let last_ns = run.iter().filter_map(|pair| pair.last_ns).max()?;
    // The log has no preparation of the files, and no begin and end of the connections.
    let is_in_log = |pair: &Pair| pair.first_ns.is_some_and(|ns| (first_ns..=last_ns).contains(&ns));
    let count = |pairs: &[Pair]| pairs.iter().filter(|pair| is_in_log(pair) && pair.is_in(&lossy)).count() as f64;
    let (done, paired, missing) = (count(run), count(seen), unseen["missing"].as_f64()?);
    let has_log = done > 0.0 && lossy.iter().all(|second| *second >= second_of(first_ns));
    has_log.then(|| [1.0 - paired / done, missing / (paired + missing)])
}

/// Packets by tcpdump, unless it lost some itself.
fn packets(tcpdump: &str) -> Option<u64> {
    let number = |what: &str| {
        let line = tcpdump.lines().find(|line| line.ends_with(what)).unwrap_or_else(|| panic!("{tcpdump}"));
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    (number("packets dropped by kernel") == 0).then(|| number("packets captured"))
}

#[test]
fn drops_of_a_pause_are_shown_exactly_and_the_missing_share_is_estimated() {
    let Some(place) = available(Namespace::new()) else { return };
    if Command::new("tcpdump").arg("--version").output().is_err() {
        return crate::skip("needs tcpdump");
    }
    let _alone = crate::alone();
    let exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    let pauses = if exact { 30 } else { 2 };
    let (mut all, mut compared) = (0, 0);
    let (mut worst, mut lossy, mut errors_in_seconds) = (0.0_f64, 0, Vec::new());
    for seed in 1..=pauses + MORE {
        // On a slow machine, tcpdump may lose packets, and the load may not fill the buffer of the watch: then it takes more pauses.
        if seed > pauses && compared > 0 && lossy > 0 {
            break;
        }
        let kind = if seed % 2 == 0 { Kind::Smb } else { Kind::Nfs };
        let pause = Duration::from_secs_f64(0.1 + 1.9 * Random::new(seed).uniform());
        let what = format!("{kind:?}, seed {seed}, {:.2} s", pause.as_secs_f64());
        let scratch = Scratch::new("watch-loss");
        let (said, tcpdump) = watch_with_a_pause(&place, scratch.path(), (kind, seed), pause);
        let report = crate::only_side(&std::fs::read(scratch.path().join("watch.json")).unwrap());
        let drops = crate::watch::lost(&report);
        let lines: Vec<Line> = said.lines().filter_map(line).collect();
        assert_eq!(lines.iter().map(|(.., lost)| lost).sum::<u64>(), drops, "{what}: {said}");
        if let Some(packets) = packets(&tcpdump) {
            assert_eq!(report["packets"]["total"].as_u64().unwrap() + drops, packets, "{what}");
            compared += 1;
        }

        let [run, seen] = ["run.csv", "watch.csv"].map(|name| pairs(&scratch.path().join(name)));
        let (missing, estimate) = (missing(&lines, &run, &seen, &what), report["unseen"]["share_missing"].as_f64());
        let in_seconds = in_lossy_seconds(&lines, &run, &seen, &report["unseen"]);
        errors_in_seconds.extend(in_seconds.map(|[missing, estimate]| (estimate - missing).abs()));
        println!(
            "pause {what}: kernel dropped {drops}, {}; operations missing: {}; in the seconds with losses: {}",
            if packets(&tcpdump).is_some() { "as tcpdump says" } else { "not compared: tcpdump lost packets" },
            percents([missing, estimate.unwrap_or(f64::NAN)]),
            in_seconds.map_or_else(|| "unknown".to_owned(), percents),
        );
        // Where the load ends while the watch is paused, its connections leave no gap: then the share is unknown, and that is said.
        let reasons = report["validity"]["reasons"].to_string();
        let is_unknown = estimate.is_none() && reasons.contains("connections that began or ended during the loss");
        let error = estimate.map_or(f64::INFINITY, |estimate| (estimate - missing).abs());
        assert!(is_unknown || error <= ERROR, "{what}: {missing} {} {}", report["unseen"], report["validity"]);
        let error = if is_unknown { 0.0 } else { error };
        (all, worst, lossy) = (all + 1, worst.max(error), lossy + u32::from(drops > 0));
        assert_eq!(report["validity"]["verdict"] == "valid", drops == 0, "{what}: {}", report["validity"]);
    }
    let worst_in_seconds = errors_in_seconds.iter().copied().fold(0.0, f64::max);
    println!(
        "pause of all {all}: {lossy} lost packets, {compared} compared with tcpdump; largest error {:.2} points, \
         in the seconds with losses of {} pauses {:.2} points",
        worst * 100.0,
        errors_in_seconds.len(),
        worst_in_seconds * 100.0
    );
    assert!(compared > 0 && lossy > 0, "{compared} compared, {lossy} with drops");
    assert!(!exact || (!errors_in_seconds.is_empty() && worst_in_seconds <= ERROR), "{errors_in_seconds:?}");
}
