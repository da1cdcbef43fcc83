//! Parts of a run in separate processes, on one server: together they send the same requests as one process, and a failed part is named.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;
use serde_json::Value;

/// Four clients, 40 operations per second: with one thread per client, the requests do not depend on speed.
const LOAD: [&str; 5] = ["random-read", "--set=size=64KiB", "--clients=4", "--rate=40", "--arrivals=poisson"];
/// Duration of this load.
const LASTS: [&str; 2] = ["--warmup=500ms", "--duration=4s"];
/// The same where something happens in its middle: the test may come to that late.
const LASTS_LONGER: [&str; 2] = ["--warmup=500ms", "--duration=12s"];
/// Minimum time from now to the common start of parts.
const LEAST_AHEAD: Duration = Duration::from_secs(8);
/// Time from now to the common start, as a multiple of the time in which one process starts and makes its files: four do so at the same
/// time, on a machine where others may begin to work.
const AHEAD_TIMES: u32 = 12;

fn plimsoll(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder);
    command
}

fn server(folder: &Path) -> (Running, String) {
    let mut server = Running::start(plimsoll(folder).args(["serve", "nfs", "--listen", "127.0.0.1:0"])).unwrap();
    let url = server.first_line();
    (server, url.trim().to_owned())
}

/// The time that parts need before their common start on this machine. `start` runs one process that starts as a part does and then ends.
pub(crate) fn ahead(start: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    start();
    (begun.elapsed() * AHEAD_TIMES).max(LEAST_AHEAD)
}

/// The common start of parts of the load.
fn common_start(folder: &Path, url: &str) -> SystemTime {
    let mut brief = plimsoll(folder);
    brief.arg("run").args(LOAD).args(["--warmup", "0s", "--duration", "100ms", "--target", url, "--quiet"]);
    let ahead = ahead(|| {
        let ended = output(brief.args(["--record", "brief"]));
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    });
    SystemTime::now() + ahead
}

/// A run of the load, recorded under its name.
fn run(folder: &Path, url: &str, name: &str, part: Option<(&str, SystemTime)>) -> Command {
    run_for(LASTS, folder, url, (name, part))
}

fn run_for(lasts: [&str; 2], folder: &Path, url: &str, (name, part): (&str, Option<(&str, SystemTime)>)) -> Command {
    let mut command = plimsoll(folder);
    command.arg("run").args(LOAD).args(lasts).args(["--target", url, "--quiet", "--record", name]);
    command.args(["--threads", if part.is_some() { "1" } else { "4" }]);
    command.args(["--record-transactions", "all", "--transactions", &format!("{name}.csv")]);
    if let Some((part, start)) = part {
        let start = humantime::format_rfc3339_millis(start).to_string();
        command.args(["--part", part, "--start-at", &start, "--clock-bound", "10ms"]);
        command.args(["--progress-file", &format!("{name}.progress")]);
    }
    command
}

/// The reads of the measured phase: their offsets, in order; and the number of all requests.
fn reads(folder: &Path, names: &[&str]) -> (Vec<String>, u64) {
    let (mut reads, mut requests) = (Vec::new(), 0);
    for name in names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
        let [level, procedure, path, offset, client] =
            ["level", "procedure", "path", "offset", "client_index"].map(column);
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            requests += u64::from(cells[level] == "0");
            if cells[level] == "0" && cells[procedure] == "READ" {
                reads.push(format!("client {} reads {} at {}", cells[client], cells[path], cells[offset]));
            }
        }
    }
    reads.sort_unstable();
    (reads, requests)
}

/// The exit code and the report of a merge.
fn merged(folder: &Path, parts: &[&str]) -> (Option<i32>, Value) {
    let merge =
        output(plimsoll(folder).arg("merge").args(parts).args(["--json", "-", "--record", "all", "--overwrite"]));
    (merge.status.code(), crate::only_side(&merge.stdout))
}

/// Whether the manifest of a part follows its schema (schemas/plimsoll.part.1.schema.json).
fn keeps_the_contract(folder: &Path, name: &str) -> bool {
    let manifest = crate::recorded::manifest(&folder.join(name));
    crate::recorded::schema("plimsoll.part.1.schema.json").is_valid(&manifest)
}

/// Whether the last progress of a part is that of its end.
fn has_shown_its_end(folder: &Path, name: &str) -> bool {
    let line = std::fs::read_to_string(folder.join(format!("{name}.progress"))).unwrap();
    let fields: Vec<&str> = line.trim_end().split('\t').collect();
    let [_, phase, _, _, operations, _] = fields[..] else { panic!("{line}") };
    phase == "over" && operations.parse::<u64>().unwrap() > 0
}

#[test]
fn processes_ask_together_for_what_one_asks_for() {
    let _alone = crate::alone();
    let scratch = Scratch::new("parts-processes");
    let folder = scratch.path();
    let (server, url) = server(folder);
    let start = common_start(folder, &url);
    let parts = ["1/4", "2/4", "3/4", "4/4"];
    let begin = |(number, part): (usize, &&str)| {
        Running::start(&mut run(folder, &url, &format!("part-{}", number + 1), Some((part, start)))).unwrap()
    };
    let running: Vec<Running> = parts.iter().enumerate().map(begin).collect();
    for part in running {
        let ended = part.end_within(Duration::from_secs(120));
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let names = ["part-1", "part-2", "part-3", "part-4"];
    assert!(names.iter().all(|name| keeps_the_contract(folder, name)));
    assert!(names.iter().all(|name| has_shown_its_end(folder, name)));
    let (code, report) = merged(folder, &names);
    assert!(matches!(code, Some(0 | 4)));
    let whole = output(&mut run(folder, &url, "whole", None));
    assert!(matches!(whole.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&whole.stderr));
    assert!(!keeps_the_contract(folder, "whole"), "a whole run is no part");
    let (one, _) = reads(folder, &["whole"]);
    let (all, requests) = reads(folder, &names);
    assert!(one.len() > 100, "{}", one.len());
    assert_eq!(one, all);
    assert_eq!(report["levels"][0]["count"], Value::from(requests));
    assert_eq!(report["levels"][0]["clients"], 4);
    // How busy the machine was is not asked here.
    let reasons = report["validity"]["reasons"].to_string();
    assert!(
        !["missing", "did not finish", "not merged", "its clock"].iter().any(|what| reasons.contains(what)),
        "{reasons}"
    );
    // The merged result is a recording like any other.
    let again = output(plimsoll(folder).args(["report", "all", "--json", "-"]));
    assert_eq!(crate::only_side(&again.stdout), report);
    server.signal(Signal::INT);
}

/// Parts 1 and 2 of 4, of which the second is killed in its measured phase. Returns
/// their start; `None` if the second part had ended before.
fn with_a_killed_part(folder: &Path, url: &str) -> Option<SystemTime> {
    let start = common_start(folder, url);
    let [first, mut second] = [("part-1", "1/4"), ("part-2", "2/4")]
        .map(|(name, part)| Running::start(&mut run(folder, url, name, Some((part, start)))).unwrap());
    let progress = folder.join("part-2/level-0000.partial/progress.zst");
    // Its measured phase has begun.
    let has_ended = second.wait_until(|_| progress.exists()).is_some();
    if !has_ended {
        second.signal(Signal::KILL);
    }
    let is_killed = second.end().status.code().is_none();
    let ended = first.end_within(Duration::from_secs(120));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    is_killed.then_some(start)
}

#[test]
fn a_part_that_is_killed_missing_or_late_is_named() {
    let _alone = crate::alone();
    let scratch = Scratch::new("parts-killed");
    let (server, url) = server(scratch.path());
    // A machine that stalls may come too late to kill the part.
    let tried = (1..=5).find_map(|number| {
        let folder = scratch.folder(&format!("try-{number}"));
        with_a_killed_part(&folder, &url).map(|start| (folder, start))
    });
    let Some((folder, start)) = tried else { panic!("the part ended five times before it was killed") };
    let folder = folder.as_path();
    // By now the common start is over.
    let late = output(&mut run(folder, &url, "part-4", Some(("4/4", start))));
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(3), "{said}");
    assert!(said.contains("too late for --start-at"), "{said}");
    for name in ["part-1", "part-2", "part-4"] {
        assert!(keeps_the_contract(folder, name), "{name}");
    }
    let (code, report) = merged(folder, &["part-1", "part-2", "part-4"]);
    assert_eq!((code, &report["validity"]["verdict"]), (Some(4), &Value::from("invalid")));
    let reasons = report["validity"]["reasons"].to_string();
    for expected in [
        "part 2/4 (part-2) did not finish: its process was killed, or is still running",
        "part 3/4 is missing",
        "part 4/4 (part-4) did not finish: ",
    ] {
        assert!(reasons.contains(expected), "{expected}: {reasons}");
    }
    assert_eq!(report["levels"][0]["count"], Value::from(reads(folder, &["part-1"]).1), "the first is whole");
    server.signal(Signal::INT);
}

/// The disk of one part fills up, another part is stopped for 2 s in its measured phase.
#[test]
fn a_part_that_is_stopped_or_has_a_full_disk_is_named() {
    let _alone = crate::alone();
    let mut scratch = Scratch::new("parts-full");
    let Some(disk) = scratch.small_file_system("disk", 2 << 20) else {
        crate::skip("needs the right to mount a tmpfs");
        return;
    };
    let folder = scratch.path();
    let (server, url) = server(folder);
    let start = common_start(folder, &url);
    let [first, full, stopped] = [("part-1", "1/3"), ("disk/part-2", "2/3"), ("part-3", "3/3")].map(|(name, part)| {
        Running::start(&mut run_for(LASTS_LONGER, folder, &url, (name, Some((part, start))))).unwrap()
    });
    let begun = |name: &str| folder.join(name).join("level-0000.partial/progress.zst").exists();
    while !(begun("disk/part-2") && begun("part-3")) && SystemTime::now() < start + Duration::from_secs(100) {
        std::thread::sleep(Duration::from_millis(20));
    }
    stopped.signal(Signal::STOP);
    let filler = std::fs::File::create(disk.join("filler")).unwrap();
    let fills = |bytes: &[u8]| std::io::Write::write_all(&mut &filler, bytes).is_ok();
    while fills(&[1; 4096]) {}
    while fills(&[1]) {}
    std::thread::sleep(Duration::from_secs(2));
    stopped.signal(Signal::CONT);
    let [first, full, stopped] = [first, full, stopped].map(|part| part.end_within(Duration::from_secs(120)));
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(3), "{said}");
    assert!(said.contains("No space left"), "{said}");
    assert!([&first, &stopped].iter().all(|part| matches!(part.status.code(), Some(0 | 4))));
    let (code, report) = merged(folder, &["part-1", "disk/part-2", "part-3"]);
    assert_eq!((code, &report["validity"]["verdict"]), (Some(4), &Value::from("invalid")));
    let reasons = report["validity"]["reasons"].to_string();
    assert!(reasons.contains("part 2/3 (disk/part-2) did not finish: "), "{reasons}");
    assert!(reasons.contains("part 3/3 (part-3): the load generator was late"), "{reasons}");
    assert_eq!(
        report["levels"][0]["count"],
        Value::from(reads(folder, &["part-1", "part-3"]).1),
        "the others are whole"
    );
    server.signal(Signal::INT);
}

#[test]
fn what_parts_cannot_do_is_usage() {
    let scratch = Scratch::new("parts-usage");
    let start = ["--start-at", "2026-11-23T10:00:00Z", "--clock-bound", "1ms"];
    let nfs = ["--target", "nfs://127.0.0.1:9/x"];
    for (arguments, says) in [
        (&["--part", "1/2", "--record", "r"][..], "--start-at"),
        (&["--part", "3/2"], "expected K/N"),
        (&[&["--part", "1/2", "--record", "r"], &start[..]].concat(), "start one server with `plimsoll serve`"),
        (
            &[&["--part", "1/2", "--record", "r", "--levels", "2,4", "--stop-above", "5ms"], &start[..], &nfs].concat(),
            "remove --stop-above",
        ),
        (
            &[&["--part", "1/9", "--record", "r", "--clients", "8"], &start[..], &nfs].concat(),
            "N must not exceed the number of clients",
        ),
        (&[&["--part", "1/2", "--record", "r", "--remove-files"], &start[..], &nfs].concat(), "cannot be used with"),
        (&["--start-at", "10:00"], "expected a time in UTC"),
        (&["--clock-bound", "1ms"], "--part"),
        (&["--clock-origin", "-5"], "--part"),
        (&["--progress-file", "p"], "--part"),
    ] {
        let ended = output(plimsoll(scratch.path()).args(["run", "random-read"]).args(arguments));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    let part = ["--part", "1/4", "--record", "r"];
    for (arguments, says) in [
        (&[&part[..], &start, &nfs, &["--start", "2"]].concat()[..], "at least 4 (one client per part)"),
        (&[&part[..], &start, &nfs, &["--most", "3"]].concat(), "N must not exceed the number of clients"),
        (&[&part[..], &start, &nfs, &["--remove-files"]].concat(), "cannot be used with"),
        (&[&part[..], &start].concat(), "start one server with `plimsoll serve`"),
        (&["--start-at", "2026-11-23T10:00:00Z"], "only with --part"),
    ] {
        let objective = ["capacity", "random-read", "--clients", "1", "--hold", "p99 < 1ms"];
        let ended = output(plimsoll(scratch.path()).args(objective).args(arguments));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    let ended = output(plimsoll(scratch.path()).args(["merge", "nothing"]));
    // An input that cannot be used, as for `report nothing`.
    assert_eq!(ended.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("no folder has a usable recording of a part"));
}
