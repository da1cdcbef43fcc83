//! `plimsoll sweep`: load curves, parameters, and sweeps that were interrupted and go on.

use std::fs;
use std::path::Path;

use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use rustix::process::Signal;
use serde_json::Value;

use crate::{alone, available, begin_in, json, side_in};

/// Runs `plimsoll`; returns its exit code and output.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ended = begin_in(folder, arguments).end();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn a_sweep_tells_what_its_levels_tell_together() {
    let scratch = Scratch::new("sweep");
    let folder = scratch.path();
    let how = ["--levels", "1..4*2,6..8/2", "--duration", "1s", "--warmup", "100ms", "--json", "sweep.json", "--full"];
    let (code, said) = plimsoll(folder, &[&["sweep", "getattr"], &how[..]].concat());
    // A busy machine's generator may have been the bottleneck.
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let report = side_in(&folder.join("sweep.json"));
    let curve = &report["curves"][0];
    let loads: Vec<f64> =
        curve["points"].as_array().unwrap().iter().map(|point| point["load"].as_f64().unwrap()).collect();
    assert_eq!((loads, &curve["load"]), (vec![1.0, 2.0, 4.0, 6.0, 8.0], &Value::from("clients")));
    // A level may have no interval: on a busy machine consecutive parts may be too strongly correlated.
    let intervals = || report["levels"].as_array().unwrap().iter().map(|level| &level["operations_per_s_interval"]);
    assert!(intervals().any(Value::is_object), "{:?}", intervals().collect::<Vec<_>>());
    let text = fs::read_to_string(folder.join("out")).unwrap();
    for part in ["Load curve (mean response time of each group", "Highest:", "Knee:", "Overall:"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    for single in [&["--levels", "4"][..], &[], &["--vary", "depth=2"], &["--levels", "4", "--vary", "depth=2"]] {
        let (code, said) = plimsoll(folder, &[&["sweep", "getattr"], single].concat());
        assert_eq!(code, Some(2), "{single:?}: {said}");
        assert!(said.contains("would have a single level; give several, e.g. --levels 1,2,4,8"), "{single:?}: {said}");
    }
}

#[test]
fn each_value_of_what_is_varied_is_a_curve() {
    let scratch = Scratch::new("sweep-varied");
    let folder = scratch.path();
    let levels = ["sweep", "blocks-read", "--levels", "1,2", "--duration", "500ms", "--warmup", "50ms"];
    let vary = ["--vary", "block=0.75kB,6kB", "--json", "varied.json"];
    let (code, said) = plimsoll(folder, &[&levels[..], &vary].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let report = side_in(&folder.join("varied.json"));
    let seen: Vec<(&str, u64, f64)> = report["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| {
            let reads = level["operations"].as_array().unwrap().iter().find(|row| row["operation"] == "read").unwrap();
            let size = reads["payload_bytes"].as_f64().unwrap() / reads["answered"].as_f64().unwrap();
            (level["curve"].as_str().unwrap(), level["varied"]["bytes"].as_u64().unwrap(), size)
        })
        .collect();
    let expected = [("block=0.75kB", 750), ("block=0.75kB", 750), ("block=6kB", 6_000), ("block=6kB", 6_000)];
    for ((curve, bytes, size), (its_curve, its_bytes)) in seen.iter().zip(expected) {
        assert_eq!((*curve, *bytes), (its_curve, its_bytes));
        assert!((size - its_bytes as f64).abs() < 0.01 * its_bytes as f64, "reads of {size} bytes, not {its_bytes}");
    }
    assert_eq!((seen.len(), report["curves"].as_array().unwrap().len()), (4, 2));
    assert_eq!(report["run"]["parameters"][0]["value"], "0.75kB, 6kB");
    for (flags, problem) in [
        (["--set", "block=6KB"], "line 30: expected a size"),
        (["--set", "blok=6kB"], "parameters of this workload: block"),
        (["--vary", "block=6kB..1kB/1kB"], "expected an ascending range"),
    ] {
        let (code, said) = plimsoll(folder, &[&levels[..], &flags].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(problem) || problem.starts_with("line") && said.contains("expected a size"), "{said}");
    }
}

const LEVELS: [&str; 8] =
    ["sweep", "getattr", "--levels=1,2,3,4", "--think=5ms", "--duration=500ms", "--warmup=0s", "--record", "recording"];

/// Starts the sweep, and sends it a signal once this level has begun. On a machine that stalls, the sweep may have ended by then:
/// then it starts again, at most four times. Returns the manifest.
fn ended_in(folder: &Path, level: &str, signal: Signal) -> Value {
    let recording = folder.join("recording");
    for _ in 0..5 {
        let mut child = begin_in(folder, &[&LEVELS[..], &["--overwrite"]].concat());
        match child.wait_until(|_| recording.join(level).exists()) {
            None => child.signal(signal),
            Some(status) => assert!(matches!(status.code(), Some(0 | 4)), "{:?}", child.said()),
        }
        assert!(child.end().status.code().is_some() || signal == Signal::KILL);
        let manifest = json(&recording.join("manifest.json"));
        if manifest["levels"].as_array().unwrap().len() < 4 {
            return manifest;
        }
    }
    panic!("{signal:?} ended no sweep before its last level")
}

/// Killed in the middle, continued, and complete: finished levels are not measured again.
#[test]
fn a_sweep_that_was_killed_goes_on() {
    let scratch = Scratch::new("sweep-killed");
    let folder = scratch.path();
    let recording = folder.join("recording");
    let before = ended_in(folder, "level-0002.partial", Signal::KILL);
    let finished = before["levels"].as_array().unwrap().len();
    assert!((2..4).contains(&finished), "{before}");

    for (other, problem) in [
        (&["sweep", "getattr", "--levels", "1,2,3"][..], "it has 4 load levels, not 3"),
        (&["sweep", "getattr", "--levels", "1,2,3,5"], "it has the level 4 clients, not 5 clients"),
        (&["sweep", "getattr", "--levels", "1,2,3,4", "--seed", "2"], "its seed is 1, not 2"),
        (&["sweep", "mixed", "--levels", "1,2,3,4"], "its workload differs"),
        (&["sweep", "getattr", "--levels", "1,2,3,4", "--target", "embedded:nfs"], "its target is embedded:smb"),
        (&["sweep", "getattr", "--levels", "1,2,3,4", "--record-transactions", "all"], "it was made with"),
        (&["sweep", "getattr", "--levels", "1,2,3,4", "--depth", "2"], "its plan.depth is 1, not 2"),
    ] {
        let (code, said) = plimsoll(folder, &[other, &LEVELS[3..], &["--continue"]].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(problem), "{said}");
    }
    assert_eq!(json(&recording.join("manifest.json")), before, "what refuses changes nothing");

    let (code, said) = plimsoll(folder, &[&LEVELS[..], &["--continue", "--json", "whole.json"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let after = json(&recording.join("manifest.json"));
    assert_eq!((&after["state"], after["levels"].as_array().unwrap().len()), (&Value::from("finished"), 4));
    assert_eq!(after["levels"].as_array().unwrap()[..finished], before["levels"].as_array().unwrap()[..finished]);
    let whole = side_in(&folder.join("whole.json"));
    let spans =
        |of: &Value| of["levels"].as_array().unwrap().iter().map(|level| level["span"].clone()).collect::<Vec<_>>();
    for (level, span) in after["levels"].as_array().unwrap().iter().zip(spans(&whole)) {
        assert_eq!(level["first_ns"], span["first_ns"]);
    }
    assert_eq!(whole["curves"][0]["points"].as_array().unwrap().len(), 4);

    // All levels exist: nothing is measured, and the reports of command and recording are the same.
    let (again, said) = plimsoll(folder, &[&LEVELS[..], &["--continue", "--json", "again.json"]].concat());
    assert_eq!(again, code, "{said}");
    assert_eq!(side_in(&folder.join("again.json"))["levels"], whole["levels"]);
    let (again, said) = plimsoll(folder, &["report", "recording", "--json", "report.json"]);
    assert_eq!(again, code, "{said}");
    assert_eq!(side_in(&folder.join("report.json"))["levels"], whole["levels"]);
    assert_eq!(side_in(&folder.join("report.json"))["curves"], whole["curves"]);
}

/// Stopped by Ctrl-C in a level: that level is not whole, and is run again.
#[test]
fn a_level_that_was_cut_short_is_run_again() {
    let scratch = Scratch::new("sweep-stopped");
    let folder = scratch.path();
    let before = ended_in(folder, "level-0001.partial", Signal::INT);
    assert_eq!(before["state"], "interrupted");
    let (code, said) = plimsoll(folder, &[&LEVELS[..], &["--continue", "--json", "whole.json"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let whole = side_in(&folder.join("whole.json"));
    let levels: Vec<&str> =
        whole["levels"].as_array().unwrap().iter().map(|level| level["load_name"].as_str().unwrap()).collect();
    assert_eq!(levels, ["1 client", "2 clients", "3 clients", "4 clients"]);
    let (code, said) = plimsoll(folder, &[&LEVELS[..6], &["--record", "elsewhere", "--continue"]].concat());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("elsewhere contains no recording"), "{said}");
}

const TWO: [&str; 8] = ["run", "getattr", "--levels", "1,2", "--duration", "200ms", "--warmup", "0ms"];
const AWAY: &str = "smb://user:pw@127.0.0.1:1/share";

/// A complete recording in `R`, as if a server had been measured that is down now; its manifest.
fn recording_of_a_server_that_is_down(folder: &Path, target: &str) -> Value {
    let record = |name: &str, target: &[&str]| plimsoll(folder, &[&TWO[..], target, &["--record", name]].concat());
    let (code, said) = record("away", &["--target", target]);
    assert_eq!(code, Some(3), "{said}");
    let (code, said) = record("R", &[]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let (away, mut here) = (json(&folder.join("away/manifest.json")), json(&folder.join("R/manifest.json")));
    for at in ["/measured/spec/target", "/measured/spec/server", "/measured/run/target", "/measured/source/inputs"] {
        *here.pointer_mut(at).unwrap() = away.pointer(at).unwrap().clone();
    }
    here
}

/// Nothing is left to run: neither the server nor the recording is touched.
#[test]
fn a_complete_recording_is_only_printed_and_another_computer_is_refused() {
    let scratch = Scratch::new("sweep-complete");
    let folder = scratch.path();
    let manifest = folder.join("R/manifest.json");
    let whole = recording_of_a_server_that_is_down(folder, AWAY);
    let write = |manifest_now: &Value| std::fs::write(&manifest, manifest_now.to_string()).unwrap();
    let go_on = ["--target", AWAY, "--record", "R", "--continue", "--json", "again.json"];
    write(&whole);
    let (code, said) = plimsoll(folder, &[&TWO[..], &go_on].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    assert_eq!(json(&manifest), whole);
    assert_eq!(side_in(&folder.join("again.json"))["levels"].as_array().unwrap().len(), 2);

    let mut elsewhere = whole.clone();
    elsewhere["machine"]["cores"] = 999.into();
    write(&elsewhere);
    let (code, said) = plimsoll(folder, &[&TWO[..], &go_on].concat());
    assert!(code == Some(2) && said.contains("its number of cores is 999, not"), "{code:?}: {said}");
    assert_eq!(json(&manifest), elsewhere);
}

/// An NFS server that is down cannot say its version. A complete recording has it.
#[test]
fn a_complete_recording_is_printed_without_asking_the_server_for_its_version() {
    let scratch = Scratch::new("sweep-complete-nfs");
    let folder = scratch.path();
    let mut whole = recording_of_a_server_that_is_down(folder, "nfs://127.0.0.1:1/export?version=4.2");
    let write = |manifest: &Value| std::fs::write(folder.join("R/manifest.json"), manifest.to_string()).unwrap();
    write(&whole);
    let go_on =
        |target: &str| plimsoll(folder, &[&TWO[..], &["--target", target, "--record", "R", "--continue"]].concat());
    let (code, said) = go_on("nfs://127.0.0.1:1/export");
    assert!(matches!(code, Some(0 | 4)), "{said}");
    // It is another target, or something is left to run: then the server is asked.
    let (code, said) = go_on("nfs://127.0.0.1:1/other");
    assert_eq!(code, Some(3), "{said}");
    whole["levels"].as_array_mut().unwrap().pop();
    whole["state"] = "interrupted".into();
    write(&whole);
    let (code, said) = go_on("nfs://127.0.0.1:1/export");
    assert_eq!(code, Some(3), "{said}");
}

/// The server is down when the sweep goes on: the finished level stays, and all readers say that the rest is missing, and why.
#[test]
fn a_continued_sweep_that_fails_keeps_its_levels_and_says_why() {
    let scratch = Scratch::new("sweep-failed");
    let folder = scratch.path();
    let mut half = recording_of_a_server_that_is_down(folder, AWAY);
    half["levels"].as_array_mut().unwrap().pop();
    half["state"] = "interrupted".into();
    half["validity"] = Value::Null;
    std::fs::write(folder.join("R/manifest.json"), half.to_string()).unwrap();
    let (code, said) = plimsoll(folder, &[&TWO[..], &["--target", AWAY, "--record", "R", "--continue"]].concat());
    assert_eq!(code, Some(3), "{said}");
    let kept = json(&folder.join("R/manifest.json"));
    assert_eq!((&kept["state"], kept["levels"].as_array().unwrap().len()), (&Value::from("interrupted"), 1));
    let (code, said) = plimsoll(folder, &["report", "R", "--json", "R.json", "--export", "R.om"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let report = side_in(&folder.join("R.json"));
    assert_eq!(report["validity"], kept["validity"]);
    let (reasons, warnings) = (report["validity"]["reasons"].to_string(), report["warnings"].to_string());
    assert!(reasons.contains("The run ended early, without these load levels: 2 clients. The reason: "), "{reasons}");
    assert!(warnings.contains("not finished: 2 clients"), "{warnings}");
    let metrics = std::fs::read_to_string(folder.join("R.om")).unwrap();
    let verdict = report["validity"]["verdict"].as_str().unwrap();
    assert!(metrics.contains(&format!("plimsoll_valid{{verdict=\"{verdict}\"}} ")), "{metrics}");
    assert!(verdict != "valid" && metrics.contains("plimsoll_finished 0\n"), "{verdict}\n{metrics}");
}

/// The second level cannot begin: the recording of the first is not that of the whole run.
#[test]
fn a_sweep_that_failed_is_not_finished() {
    let scratch = Scratch::new("sweep-hook");
    let folder = scratch.path();
    let hook = r#"test "$PLIMSOLL_PHASE$PLIMSOLL_LEVEL" != begin2"#;
    let sweep = ["run", "getattr", "--levels", "1,2,3", "--duration", "200ms", "--warmup", "0ms", "--on-phase", hook];
    let (code, said) = plimsoll(folder, &[&sweep[..], &["--record", "R", "--json", "run.json"]].concat());
    assert_eq!(code, Some(3), "{said}");
    let manifest = json(&folder.join("R/manifest.json"));
    assert_eq!(manifest["state"], "interrupted");
    let (code, said) = plimsoll(folder, &["report", "R", "--json", "R.json"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    for report in ["run.json", "R.json"] {
        let report = side_in(&folder.join(report));
        assert_eq!(report["validity"], manifest["validity"]);
        let reasons = report["validity"]["reasons"].to_string();
        assert!(reasons.contains("without these load levels: 2 clients, 3 clients"), "{reasons}");
    }
    let warnings = side_in(&folder.join("R.json"))["warnings"].to_string();
    assert!(warnings.contains("ended early") && warnings.contains("not finished: 2 clients, 3 clients"), "{warnings}");
}

#[test]
fn depth_is_varied() {
    let scratch = Scratch::new("sweep-depth");
    let folder = scratch.path();
    let how = ["--levels", "2", "--vary", "depth=1..4*2", "--duration", "300ms", "--warmup", "10ms"];
    let outputs = ["--json", "depth.json", "--full", "--record", "run"];
    let (code, said) = plimsoll(folder, &[&["sweep", "random-read"], &how[..], &outputs].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let report = side_in(&folder.join("depth.json"));
    let curves: Vec<&str> =
        report["levels"].as_array().unwrap().iter().map(|level| level["curve"].as_str().unwrap()).collect();
    assert_eq!(curves, ["depth=1", "depth=2", "depth=4"]);
    let deepest = |level: &Value| level["queue_depth"]["max"].as_u64().unwrap();
    let depths: Vec<u64> = report["levels"].as_array().unwrap().iter().map(deepest).collect();
    assert_eq!(depths, [2, 4, 8], "two clients of each depth");
    // A recorded run is repeated with the same depths.
    let (code, said) = plimsoll(folder, &["run", "--from", "run", "--json", "again.json"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let again = side_in(&folder.join("again.json"));
    assert_eq!(again["levels"].as_array().unwrap().iter().map(deepest).collect::<Vec<_>>(), depths);
    for (wrong, expected) in [
        ("depth=0", "--vary depth=0: expected an integer >= 1"),
        ("slots=4", "--vary slots needs a target nfs://host/export?version=4.1"),
        ("connections=2", "--connections 2: a client cannot use more connections than its queue depth"),
    ] {
        let (code, said) = plimsoll(folder, &["run", "getattr", "--levels", "1", "--vary", wrong]);
        assert!(code == Some(2) && said.contains(expected), "{wrong}: {said}");
    }
    // The second value is refused before the first one is measured.
    let how = ["--target", "embedded:nfs?version=4.1", "--connections", "4", "--depth", "8", "--vary", "slots=8,2"];
    let (code, said) = plimsoll(folder, &[&["sweep", "getattr", "--levels", "1"], &how[..]].concat());
    let expected = "slots=2: each of the 4 connections needs a slot; give slots=4 or more, or fewer connections";
    assert!(code == Some(2) && said.contains(expected), "{said}");
}

#[test]
fn slots_of_a_session_are_varied() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let scratch = Scratch::new("sweep-slots");
    let folder = scratch.path();
    let target = ganesha.target_of(Export::Data, "4.1");
    let how = ["--levels", "1", "--depth", "8", "--vary", "slots=1,4,16", "--duration", "500ms", "--warmup", "10ms"];
    let outputs = ["--json", "slots.json", "--full", "--target", &target];
    let (code, said) = plimsoll(folder, &[&["sweep", "random-read"], &how[..], &outputs].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let report = side_in(&folder.join("slots.json"));
    let deepest = |level: &Value| level["queue_depth"]["max"].as_u64().unwrap();
    let depths: Vec<u64> = report["levels"].as_array().unwrap().iter().map(deepest).collect();
    assert_eq!(depths, [1, 4, 8], "no more than the session has slots, and no more than the depth");
    let facts: Vec<&str> =
        report["run"]["facts"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap()).collect();
    assert!(
        facts.contains(&"slots=1: 1 slot per session") && facts.contains(&"slots=4: 4 slots per session"),
        "{facts:?}"
    );
    // The most that this server grants, beside what each level requested.
    assert!(facts.contains(&"server limit: 64 slots per session"), "{facts:?}");
    let waits = |value: &str| facts.iter().any(|fact| fact.starts_with(&format!("slots={value}: waits for a slot")));
    assert!(waits("1") && waits("4") && !waits("16"), "{facts:?}");
}
