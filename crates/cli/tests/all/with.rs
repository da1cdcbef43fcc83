//! `--with`: several workloads at the same time, and each alone.

use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::{alone, code_and_text};

/// Light loads: what they are, and not how quick, is looked at.
const RUN: [&str; 7] =
    ["run", "random-read", "--target=embedded:smb", "--clients=2", "--think=5ms", "--duration=700ms", "--warmup=0s"];

/// Exit code, and what it says.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    code_and_text(crate::plimsoll().args(arguments).current_dir(folder))
}

fn with(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    plimsoll(folder, &[&RUN[..], &["--quiet"], more].concat())
}

fn report(folder: &Path, file: &str) -> Value {
    let report: Value = serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
    report["sides"][0].clone()
}

/// Workload, the workloads beside it, clients, begin.
fn levels(side: &Value) -> Vec<(String, Vec<String>, u64, i64)> {
    let of = |level: &Value| {
        let share = &level["share"];
        let beside = share["beside"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
        let name = share["workload"].as_str().unwrap().to_owned();
        (name, beside.collect(), level["clients"].as_u64().unwrap(), level["span"]["first_ns"].as_i64().unwrap())
    };
    side["levels"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn each_workload_runs_alone_and_all_begin_together() {
    let _alone = alone();
    let scratch = Scratch::new("with");
    let folder = scratch.path();
    let companions = ["--with", "getattr,clients=3,think=5ms", "--with", "stream-read,clients=1,think=5ms,size=1MiB"];
    let outputs = ["--repeat", "1", "--json", "run.json", "--record", "run", "--transactions", "run.csv"];
    let (code, said) = with(folder, &[&companions[..], &outputs].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let side = report(folder, "run.json");
    let found = levels(&side);
    let seen: Vec<_> = found.iter().map(|(name, beside, clients, _)| (name.as_str(), beside.len(), *clients)).collect();
    let expected = [
        ("random-read", 0, 2),
        ("random-read", 2, 2),
        ("getattr", 2, 3),
        ("stream-read", 2, 1),
        ("getattr", 0, 3),
        ("stream-read", 0, 1),
    ];
    assert_eq!(seen, expected);
    assert!(found[1].3 == found[2].3 && found[2].3 == found[3].3, "one start: {found:?}");
    // Each does its own work, alone and beside the others.
    let of = |level: usize, group: &str| {
        let groups = side["levels"][level]["groups"].as_array().unwrap();
        groups.iter().find(|row| row["group"] == group).map_or(0, |row| row["count"].as_u64().unwrap())
    };
    for level in [0, 1, 3, 5] {
        assert!(of(level, "Read") > 0, "level {level}");
    }
    for level in [2, 4] {
        assert_eq!((of(level, "Read"), of(level, "Write")), (0, 0), "level {level}");
        assert!(side["levels"][level]["count"].as_u64() > Some(0), "level {level}");
    }
    // The whole is what ran together.
    let groups = side["groups"].as_array().unwrap();
    let reads = groups.iter().find(|row| row["group"] == "Read").unwrap()["count"].as_u64().unwrap();
    assert_eq!(reads, of(1, "Read") + of(3, "Read"));
    let names: Vec<_> = side["interference"].as_array().unwrap().iter().map(|one| one["workload"].clone()).collect();
    assert_eq!(names, ["random-read", "getattr", "stream-read"]);
    assert_eq!(side["run"]["workload"], "random-read beside getattr beside stream-read");
    let rows = std::fs::read_to_string(folder.join("run.csv")).unwrap();
    assert!(rows.lines().count() > 1);
}

#[test]
fn the_recording_gives_the_same_report_and_the_same_run_again() {
    let _alone = alone();
    let scratch = Scratch::new("with-recorded");
    let folder = scratch.path();
    let flags = ["--with", "getattr,clients=1,think=5ms", "--repeat", "2", "--json", "run.json", "--record", "run"];
    let (code, said) = with(folder, &flags);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let (code, said) = plimsoll(folder, &["report", "run", "--json", "again.json", "--quiet"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let (run, again) = (report(folder, "run.json"), report(folder, "again.json"));
    assert_eq!((&run["interference"], &run["groups"]), (&again["interference"], &again["groups"]));
    assert_eq!(levels(&run), levels(&again));
    let (code, said) = plimsoll(folder, &["run", "--from", "run", "--json", "from.json", "--quiet"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let shares = |side: &Value| levels(side).into_iter().map(|(name, beside, ..)| (name, beside)).collect::<Vec<_>>();
    assert_eq!(shares(&run), shares(&report(folder, "from.json")));
    let (code, page) = plimsoll(folder, &["report", "run", "--full"]);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(matches!(code, Some(0 | 4)) && words.contains("getattr beside random-read, repeat 2"), "{page}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let scratch = Scratch::new("with-refused");
    for (flags, said) in [
        (&["--with", "no-such-workload"][..], "--with no-such-workload"),
        (&["--with", "getattr,clients=0"], "--with getattr"),
        (&["--with", "random-read"], "the run already has a workload of this name"),
        (&["--with", "getattr", "--levels", "1,2"], "cannot be used with"),
        (&["--with", "getattr", "--vary", "depth=1,2"], "cannot be used with"),
        (&["--with", "getattr", "--record", "r", "--continue"], "cannot be used with"),
        (
            &["--with=getattr", "--part=1/2", "--start-at=2030-01-01T00:00:00Z", "--clock-bound=1ms", "--record=r"],
            "cannot be used with",
        ),
    ] {
        let (code, error) = with(scratch.path(), flags);
        assert!(code == Some(2) && error.contains(said), "{flags:?}: {code:?} {error}");
    }
}
