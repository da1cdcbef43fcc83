//! A watch that pauses while a server is under load: the packets that the kernel then drops are shown to the last one and in their seconds,
//! and the report estimates the share of the operations that are missing.
//!
//! With `PLIMSOLL_EXACT=1` 30 pauses, otherwise two.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::Random;
use plimsoll_testkit::command::Running;
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

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
    let watch =
        ["watch", "lo", "--lines", "--utc", "--buffer", "2MiB", "--json", "watch.json", "--transactions", "watch.csv"];
    let mut watching = start(place, plimsoll(folder, &watch).args(["--port", &port]), "capturing lo");
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-i", "lo", "-n", "-s", "64", "-B", "131072", "-w", "/dev/null", "port", &port]);
    let tcpdump = start(place, &mut tcpdump, "listening on");
    let duration = format!("{}ms", 2_000 + pause.as_millis());
    let load = ["run", "mixed", "--clients", "3", "--warmup", "0s", "--quiet", "--transactions", "run.csv", "--seed"];
    let mut load = plimsoll(folder, &load);
    load.args([&seed.to_string(), "--duration", &duration, "--target", &server.target()]);
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

/// A row of a table: the client, and when the response ended.
fn rows(path: &Path) -> Vec<(String, Option<i64>)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let place = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let (client, end) = (place("client"), place("response_last_ns"));
    // Earlier columns contain no commas: shares and paths are quoted only if they contain some.
    lines.map(|row| (row[client].to_owned(), row[end].parse().ok())).collect()
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
    let pauses = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 30 } else { 2 };
    let (mut all, mut compared) = (0, 0);
    let (mut worst, mut lossy) = (0.0_f64, 0);
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

        let [run, seen] = ["run.csv", "watch.csv"].map(|name| rows(&scratch.path().join(name)));
        let clients: HashSet<&String> = run.iter().map(|(client, _)| client).collect();
        // The preparation of the files, which the run's table does not have: it was over before the pause.
        let prepared: Vec<_> = seen.iter().filter(|(client, _)| !clients.contains(client)).collect();
        let mut truth = HashMap::new();
        for ended in run.iter().chain(prepared.iter().copied()).filter_map(|(_, ended)| *ended) {
            *truth.entry(ended.div_euclid(SECOND_NS) % 86_400).or_insert(0) += 1;
        }
        assert_marks(&lines, &truth, &what);
        let missing = 1.0 - seen.len() as f64 / (run.len() + prepared.len()) as f64;
        let estimate = &report["unseen"]["share_missing"];
        println!(
            "pause {what}: kernel dropped {drops}, {}; operations missing: {:.2} %, estimated: {:.2} %",
            if packets(&tcpdump).is_some() { "as tcpdump says" } else { "not compared: tcpdump lost packets" },
            missing * 100.0,
            estimate.as_f64().map_or(f64::NAN, |estimate| estimate * 100.0),
        );
        // Where the load ends while the watch is paused, its connections leave no gap: then the share is unknown, and that is said.
        let reasons = report["validity"]["reasons"].to_string();
        let is_unknown = estimate.is_null() && reasons.contains("connections that began or ended during the loss");
        let error = estimate.as_f64().map_or(f64::INFINITY, |estimate| (estimate - missing).abs());
        assert!(is_unknown || error <= ERROR, "{what}: {missing} {} {}", report["unseen"], report["validity"]);
        let error = if is_unknown { 0.0 } else { error };
        (all, worst, lossy) = (all + 1, worst.max(error), lossy + u32::from(drops > 0));
        assert_eq!(report["validity"]["verdict"] == "valid", drops == 0, "{what}: {}", report["validity"]);
    }
    println!(
        "pause of all {all}: {lossy} lost packets, {compared} compared with tcpdump; largest error {:.2} points",
        worst * 100.0
    );
    assert!(compared > 0 && lossy > 0, "{compared} compared, {lossy} with drops");
}
