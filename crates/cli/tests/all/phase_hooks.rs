//! `--on-phase`: a command that runs when a load level begins and when it has ended.

use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::{alone, code_and_text};

const LOAD: [&str; 6] = ["--target", "embedded:smb", "--duration", "100ms", "--warmup", "0s"];

/// Runs `plimsoll`; returns exit code and output.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = crate::plimsoll();
    code_and_text(command.args(arguments).args(LOAD).current_dir(folder).env("PLIMSOLL_PASSWORD", "secret"))
}

fn lines(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

#[test]
fn it_runs_around_each_level() {
    let _alone = alone();
    let scratch = Scratch::new("phase-hooks");
    let folder = scratch.path();
    let hook = "echo $PLIMSOLL_PHASE $PLIMSOLL_LEVEL $PLIMSOLL_CLIENTS $(date +%s%N) \
        $PLIMSOLL_MEASURED_FROM_NS $PLIMSOLL_MEASURED_TO_NS $PLIMSOLL_PASSWORD >>phases; echo heard";
    let flags = ["sweep", "random-read", "--levels", "1,2", "--on-phase", hook, "--json", "report.json", "--quiet"];
    let (_, said) = plimsoll(folder, &flags);
    let phases = lines(&folder.join("phases"));
    let named: Vec<[&str; 3]> = phases.iter().map(|line| [0, 1, 2].map(|at| line[at].as_str())).collect();
    assert_eq!(named, [["begin", "1", "1"], ["end", "1", "1"], ["begin", "2", "2"], ["end", "2", "2"]], "{said}");
    let number = |line: usize, at: usize| phases[line][at].parse::<i64>().unwrap();
    for level in [0, 2] {
        let [begun, from, to, ended] =
            [number(level, 3), number(level + 1, 4), number(level + 1, 5), number(level + 1, 3)];
        assert!(begun < from && from < to && to < ended, "never in measured time: {phases:?}");
        assert_eq!((phases[level].len(), phases[level + 1].len()), (4, 6), "no password, no times at the begin");
    }
    let report: Value = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["sides"][0]["levels"].as_array().unwrap().len(), 2);
    assert_eq!(said.matches("heard").count(), 4, "its output goes to standard error: {said}");
}

#[test]
fn one_that_fails_ends_the_run_and_keeps_what_was_measured() {
    let _alone = alone();
    let scratch = Scratch::new("phase-hooks-fail");
    let folder = scratch.path();
    let hook = "[ $PLIMSOLL_PHASE-$PLIMSOLL_LEVEL != begin-2 ] || exit 7";
    let flags = ["sweep", "random-read", "--levels", "1,2,4", "--on-phase", hook, "--json", "report.json", "--quiet"];
    let (code, said) = plimsoll(folder, &flags);
    assert!(code == Some(3) && said.contains("begin of level 2 clients: exit status: 7"), "{code:?} {said}");
    let report: Value = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["sides"][0]["levels"].as_array().unwrap().len(), 1, "the level before");
    let (code, said) = plimsoll(folder, &["run", "random-read", "--on-phase", "exit 8", "--quiet"]);
    assert!(code == Some(3) && said.contains("begin of level") && said.contains("exit status: 8"), "{code:?} {said}");
}

#[test]
fn one_that_hangs_is_killed() {
    let _alone = alone();
    let scratch = Scratch::new("phase-hooks-hang");
    // The run waits for the outer shell, not for the inner one.
    let hook = "[ $PLIMSOLL_PHASE = begin ] || sh -c 'echo $$ >pid; sleep 3600; true'";
    // Time enough for the shells to start.
    let flags = ["run", "random-read", "--on-phase", hook, "--phase-timeout", "5s", "--quiet"];
    let (code, said) = plimsoll(scratch.path(), &flags);
    assert!(code == Some(3) && said.contains("took longer than 5s and was killed"), "{code:?} {said}");
    let inner = std::fs::read_to_string(scratch.path().join("pid")).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", inner.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "what it started is killed too: {state}");
}

#[test]
fn a_search_calls_it_and_a_timeout_alone_is_refused() {
    let _alone = alone();
    let scratch = Scratch::new("phase-hooks-capacity");
    let folder = scratch.path();
    let hook = "echo $PLIMSOLL_PHASE $PLIMSOLL_LOAD >>phases";
    let flags = ["capacity", "random-read", "--hold", "p50 < 30s", "--most", "2", "--on-phase", hook, "--quiet"];
    let (_, said) = plimsoll(folder, &flags);
    let phases = lines(&folder.join("phases"));
    assert!(phases.len() >= 4 && phases.len().is_multiple_of(2), "{phases:?} {said}");
    assert!(phases.chunks(2).all(|pair| pair[0][0] == "begin" && pair[1][0] == "end" && pair[0][1..] == pair[1][1..]));
    let (code, said) = plimsoll(folder, &["run", "random-read", "--phase-timeout", "1s"]);
    assert!(code == Some(2) && said.contains("--on-phase"), "{code:?} {said}");
}
