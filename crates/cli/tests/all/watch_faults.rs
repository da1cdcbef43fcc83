//! A watch when something around it fails: it says so, and goes on as far as it can.

use std::io::Write;
use std::process::{Command, Output};

use plimsoll_testkit::Random;
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;

use crate::{plimsoll, skip};

/// Serves NFS in a separate network namespace with a loopback, watches it, and runs a script. `$LOAD` loads the server, which has the
/// private folder `$FOLDER`; `$WATCH` is the watch's process id.
fn in_a_namespace(folder: &Scratch, flags: &str, script: &str) -> Option<Output> {
    if !crate::watch::may_capture() {
        return None;
    }
    if Command::new("ip").arg("-V").output().is_err() {
        skip("needs ip");
        return None;
    }
    let script = format!(
        "set -u; cd $FOLDER; ip link set lo up
         $PLIMSOLL serve nfs --listen 127.0.0.1:22049 > serve & SERVER=$!
         until grep -q nfs: serve; do sleep 0.1; done
         LOAD=\"$PLIMSOLL run mixed --target $(grep -o 'nfs://[^ ]*' serve | head -1) --clients 2 --think 5ms --warmup 0s --duration 1s --quiet\"
         $PLIMSOLL watch lo --port 22049 --lines --json watch.json {flags} 2> said & WATCH=$!
         until grep -q capturing said; do kill -0 $WATCH || exit 99; sleep 0.1; done
         {script}
         sleep 1; kill -INT $WATCH; wait $WATCH; CODE=$?
         kill $SERVER; exit $CODE"
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script]);
    command.env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll")).env("FOLDER", folder.path());
    let ended = output(&mut command);
    if String::from_utf8_lossy(&ended.stderr).contains("unshare: ") {
        skip("needs the right to make namespaces");
        return None;
    }
    Some(ended)
}

/// The watch's output, and the number of requests in its report.
fn said_and_requests(folder: &Scratch) -> (String, u64) {
    let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
    let report = crate::only_side(&std::fs::read(folder.path().join("watch.json")).unwrap());
    let operations = report["operations"].as_array().unwrap().iter();
    let counts = operations.filter(|row| row["parent"].is_null()).map(|row| row["count"].as_u64().unwrap());
    (said, counts.sum())
}

/// The interface is up again as soon as the watch says that it went down: the line of this second must say so all the same.
#[test]
fn an_interface_that_goes_down_and_comes_back_is_watched_on() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-down");
    let script = "$LOAD; ip link set lo down; until grep -q 'went down' said; do kill -0 $WATCH || exit 98; sleep 0.1; done; ip link set lo up; $LOAD";
    let Some(ended) = in_a_namespace(&scratch, "--save ring", script) else { return };
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let (said, requests) = said_and_requests(&scratch);
    assert_eq!(said.matches("the interface went down").count(), 1, "{said}");
    let after = said.split("the interface went down").nth(1).unwrap();
    assert!(after.contains("plimsoll: the interface is up again"), "{said}");
    let busy = |line: &&str| line.contains(" op/s") && ![" 0 op/s", " - op/s"].iter().any(|idle| line.contains(idle));
    assert!(after.lines().any(|line| busy(&line)) && requests > 100, "{said}");
    assert!(said.contains("INCOMPLETE: the interface was down"), "{said}");
    // The packets of this time are missing, as the files of the ring say too.
    let json = |name: &str| crate::only_side(&std::fs::read(scratch.path().join(name)).unwrap());
    let watched = json("watch.json");
    let reasons = watched["validity"]["reasons"].as_array().unwrap();
    assert_eq!(watched["validity"]["verdict"], "partial");
    assert!(reasons[0].as_str().unwrap().starts_with("The interface was down from "), "{reasons:?}");
    assert!(watched["unseen"]["share_missing"].is_null());
    let mut analyze = plimsoll();
    analyze.args(["analyze", "ring", "--quiet", "--json", "ring.json"]).current_dir(scratch.path());
    assert!(output(&mut analyze).status.success());
    let analyzed = json("ring.json");
    for part in ["validity", "anomalies", "unseen", "packets"] {
        assert_eq!(analyzed[part], watched[part]);
    }
}

/// A server hangs, then the interface goes down: whether the server still hangs is unknown.
#[test]
fn nobody_waits_while_the_interface_is_down() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-blind");
    let script = "$LOAD; kill -STOP $SERVER; date +%s.%N > stopped; $LOAD & LOADER=$!
         until grep -q 'waiting: ' said; do kill -0 $WATCH || exit 98; sleep 0.1; done
         ip link set lo down; until grep -q 'went down' said; do kill -0 $WATCH || exit 96; sleep 0.1; done
         date +%s.%N > down
         until test $(grep -c 'INCOMPLETE: the interface was down' said) -ge 4; do kill -0 $WATCH || exit 97; sleep 0.1; done
         kill -KILL $LOADER; kill -CONT $SERVER";
    let Some(ended) = in_a_namespace(&scratch, "", script) else { return };
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let (said, _) = said_and_requests(&scratch);
    let blind: Vec<&str> = said.lines().filter(|line| line.contains("INCOMPLETE: the interface was down")).collect();
    assert!(blind.iter().all(|line| line.contains("  waiting: unknown  ")), "{said}");
    // If the requests waited long before, the report says so, and counts the wait until the interface went down.
    let report = crate::only_side(&std::fs::read(scratch.path().join("watch.json")).unwrap());
    let statements = report["diagnosis"]["statements"].as_array().unwrap().iter();
    let texts: Vec<&str> = statements.filter_map(|statement| statement["text"].as_str()).collect();
    let at = |name: &str| std::fs::read_to_string(scratch.path().join(name)).unwrap().trim().parse::<f64>().unwrap();
    let most_s = at("down") - at("stopped") + 1.0;
    for text in texts.iter().filter(|text| text.contains("does not respond")) {
        let (_, wait) = text.split_once("got no response for up to ").unwrap();
        let (seconds, _) = wait.split_once(" s. ").unwrap();
        assert!(seconds.parse::<f64>().unwrap() <= most_s, "{most_s} s: {text}");
    }
}

/// Loads a server that is stopped, whose system acknowledges everything, and waits until requests have waited for 3 s. No packet follows.
const HANG: &str = "$LOAD; kill -STOP $SERVER; $LOAD & LOADER=$!; trap 'kill -KILL $LOADER $SERVER' EXIT
         until grep -qE 'oldest ([3-9][.][0-9]+|[0-9]{2,}[.]?[0-9]*) s' said; do kill -0 $WATCH || exit 98; sleep 0.1; done";

/// What a report says of the reasons for long waits.
fn statements(report: &serde_json::Value) -> Vec<&str> {
    let statements = report["diagnosis"]["statements"].as_array().unwrap().iter();
    statements.filter_map(|statement| statement["text"].as_str()).collect()
}

/// Only the end of the watch tells how long the clients of a server that hangs have waited, and the files of the ring have it.
#[test]
fn a_watch_that_ends_while_a_server_hangs_and_its_packets_are_twins() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-hang");
    let Some(ended) = in_a_namespace(&scratch, "--save ring", HANG) else { return };
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let json = |name: &str| crate::only_side(&std::fs::read(scratch.path().join(name)).unwrap());
    let mut analyze = plimsoll();
    analyze.args(["analyze", "ring", "--quiet", "--json", "ring.json"]).current_dir(scratch.path());
    assert!(output(&mut analyze).status.success());
    let (watched, analyzed) = (json("watch.json"), json("ring.json"));
    let (said, _) = said_and_requests(&scratch);
    assert!(statements(&watched)[0].contains("does not respond"), "{said} {:?}", statements(&watched));
    assert_eq!(statements(&watched), statements(&analyzed));
    for part in ["validity", "anomalies", "unseen", "packets"] {
        assert_eq!(analyzed[part], watched[part]);
    }
}

/// Readers of the recording see the wait grow, although no packet comes.
#[test]
fn the_recording_of_a_watch_says_that_a_server_hangs() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-hang-recorded");
    let script = format!(
        "{HANG}
         until $PLIMSOLL report R --quiet --json so-far.json; grep -q 'does not respond' so-far.json; do kill -0 $WATCH || exit 97; sleep 0.1; done"
    );
    let Some(ended) = in_a_namespace(&scratch, "--record R", &script) else { return };
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let report = crate::only_side(&std::fs::read(scratch.path().join("so-far.json")).unwrap());
    assert!(statements(&report)[0].contains("does not respond"), "{:?}", statements(&report));
}

#[test]
fn a_full_disk_ends_the_saving_and_not_the_watch() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-full");
    let script = "until grep -q 'no longer saved' said; do kill -0 $WATCH || exit 98; $LOAD; done; $LOAD; ls -s disk/ring > files";
    let mount =
        "--record R --save $(mkdir disk && mount -t tmpfs -o size=1m none disk && mkdir disk/ring && echo disk/ring)";
    let Some(ended) = in_a_namespace(&scratch, mount, script) else { return };
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let report = crate::only_side(&std::fs::read(scratch.path().join("watch.json")).unwrap());
    assert_eq!(report["validity"]["verdict"], "partial", "{}", report["validity"]);
    assert!(report["validity"]["reasons"].to_string().contains("--save: the folder lacks"), "{}", report["validity"]);
    // The recording has the same verdict.
    let folder = scratch.path().join("R");
    let again = crate::output_of(&["report", folder.to_str().unwrap(), "--json", "-", "--quiet"]);
    assert_eq!(crate::only_side(&again.stdout)["validity"], report["validity"]);
    let (said, requests) = said_and_requests(&scratch);
    assert_eq!(said.matches("--save: cannot write: No space left on device").count(), 1, "{said}");
    let after = said.split("no longer saved").nth(1).unwrap();
    assert!(after.contains(" op/s") && requests > 100, "{said}");
    assert!(std::fs::read_to_string(scratch.path().join("files")).unwrap().contains("capture-000001.pcapng"));
}

/// Invalid bytes in the middle of a capture: the report covers the data before them.
#[test]
fn a_capture_that_turns_to_garbage_ends_with_a_report_of_what_was_read() {
    for seed in 1..=8 {
        let scratch = Scratch::new("watch-garbage");
        let json = scratch.path().join("watch.json");
        let mut command = plimsoll();
        command.args(["watch", "-", "--json"]).arg(&json);
        let (watching, mut pipe) = Running::start_fed(&mut command).unwrap();
        let mut random = Random::new(seed);
        let garbage: Vec<u8> = (0..200_000).map(|_| random.bits() as u8).collect();
        pipe.write_all(&crate::watch::capture(3)).unwrap();
        // It may have ended by now.
        let _ = pipe.write_all(&garbage);
        drop(pipe);
        let ended = watching.end();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(matches!(ended.status.code(), Some(0 | 4)), "seed {seed}: {:?} {said}", ended.status);
        let report = crate::only_side(&std::fs::read(&json).unwrap());
        assert_eq!(report["operations"][0]["count"], 24, "seed {seed}: {report:#}");
        assert_ne!(report["validity"]["verdict"], "valid", "seed {seed}: what follows is missing");
    }
}
