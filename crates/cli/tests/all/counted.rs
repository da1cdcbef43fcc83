//! A server's counters compared with the transactions of `plimsoll run`, by procedure: they must be equal.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_testkit::command::{LIMIT, output};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};

use crate::{available, skip};

/// Requests by procedure.
type Counts = BTreeMap<String, i64>;

/// Runs a workload; returns the number of requests per procedure, in all phases, whatever their results.
fn run(workload: &str, target: &str, clients: &str) -> Counts {
    let folder = Scratch::new("counted");
    let file = |name: &str| folder.path().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", workload, "--target", target, "--clients", clients, "--warmup", "100ms"]);
    command.args(["--duration", "1s", "--think", "5ms", "-q", "--transactions"]).arg(file("rows.csv"));
    let output = output(command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD));
    // The machine may be too busy for a valid run: that does not matter here.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{workload} on {target}: {said}");
    procedures(&file("rows.csv"))
}

fn procedures(table: &Path) -> Counts {
    let text = std::fs::read_to_string(table).unwrap();
    let mut lines = text.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "procedure").unwrap();
    let mut counts = Counts::new();
    for line in lines {
        // The server counts all variants of QUERY_INFO as one (`QUERY_INFO FILE`).
        let procedure = line.split(',').nth(column).unwrap().split(' ').next().unwrap();
        *counts.entry(procedure.to_owned()).or_default() += 1;
    }
    counts
}

/// The counts since `before`.
fn since(before: &Counts, after: &Counts) -> Counts {
    let more = |(name, count): (&String, &i64)| (name.clone(), count - before.get(name).unwrap_or(&0));
    after.iter().map(more).collect()
}

/// Requests of one procedure that a lease takes in a run of less than ten seconds, at most.
const LEASE: i64 = 3;

/// Runs a workload twice, of different sizes, on files that are there. What the server counted is what the tables have, and
/// besides that, each time the same: the requests that verify the files, which are in no table. `done` has the procedures that only the
/// workload uses: their counts are equal. The server may count more of `others`: at its end the run removes what iterations made, and the
/// number of requests that verify files depends on which connection reaches a file first. There the server counts at least the tables'.
fn agrees(workload: &str, target: &str, [done, others]: [&[&str]; 2], counted: impl Fn() -> Counts) {
    run(workload, target, "1");
    let verifying: Vec<Counts> = ["2", "5"]
        .into_iter()
        .map(|clients| {
            let before = counted();
            let ours = run(workload, target, clients);
            let mut theirs = since(&before, &counted());
            // A server that stalls updates its counters late.
            let until = Instant::now() + LIMIT;
            let lags = |theirs: &Counts| ours.iter().any(|(name, count)| theirs.get(name) < Some(count));
            while lags(&theirs) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(100));
                theirs = since(&before, &counted());
            }
            for procedure in done {
                let (ours, theirs) = (ours.get(*procedure).copied(), theirs.get(*procedure).copied());
                // The lease on the files takes a few, in no table, and in each run as many: that is looked at below.
                let besides = theirs.zip(ours).map(|(theirs, ours)| theirs - ours);
                let as_many = besides.is_some_and(|besides| (0..=LEASE).contains(&besides));
                assert!(ours > Some(0) && as_many, "{workload}: {procedure}: {ours:?}, counted {theirs:?}");
            }
            let strange: Vec<&String> = ours.keys().filter(|name| !theirs.contains_key(*name)).collect();
            assert!(strange.is_empty(), "{workload}: not counted by the server: {strange:?}");
            let mut verifying = since(&ours, &theirs);
            assert!(verifying.values().all(|count| *count >= 0), "{workload}: {verifying:?}");
            verifying.retain(|name, _| !others.contains(&name.as_str()));
            verifying
        })
        .collect();
    assert_eq!(verifying[0], verifying[1], "{workload}: besides the tables' requests, each time the same");
}

/// What smbd calls the procedures.
const SAMBA: [(&str, &str); 13] = [
    ("NEGOTIATE", "negprot"),
    ("SESSION_SETUP", "sesssetup"),
    ("LOGOFF", "logoff"),
    ("TREE_CONNECT", "tcon"),
    ("TREE_DISCONNECT", "tdis"),
    ("CREATE", "create"),
    ("CLOSE", "close"),
    ("FLUSH", "flush"),
    ("READ", "read"),
    ("WRITE", "write"),
    ("QUERY_DIRECTORY", "find"),
    ("QUERY_INFO", "getinfo"),
    ("SET_INFO", "setinfo"),
];

/// Samba's final counters, which it updates with a short delay.
fn counted_by(samba: &Samba) -> Counts {
    let named = |(counter, count): (String, i64)| {
        let own = counter.trim_start_matches("smb2_").trim_end_matches("_count");
        let name = SAMBA.iter().find(|(_, theirs)| *theirs == own).map_or(own, |(ours, _)| ours);
        // Procedures without requests have no row in the table either.
        (count > 0).then(|| (name.to_owned(), count))
    };
    let until = Instant::now() + LIMIT;
    let mut last = None;
    loop {
        let counts: Counts = samba.counts().unwrap().into_iter().filter_map(named).collect();
        if last.as_ref() == Some(&counts) {
            return counts;
        }
        assert!(Instant::now() < until, "smbd goes on counting");
        last = Some(counts);
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn samba_counts_what_we_count() {
    let Some(samba) = available(Samba::start(&["smbd profiling level = count"])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    run("getattr", &target, "1");
    if samba.counts().is_none() {
        return skip("needs smbstatus, and a smbd that counts (Debian: samba)");
    }
    let changed: [&[&str]; 2] = [&["WRITE", "FLUSH", "SET_INFO"], &["CREATE", "CLOSE"]];
    agrees("mixed", &target, changed, || counted_by(&samba));
}

#[test]
fn ganesha_counts_what_we_count() {
    let Some(ganesha) = available(Ganesha::start_counting()) else { return };
    let changed: [&[&str]; 2] = [&["CREATE", "WRITE", "COMMIT", "GETATTR"], &["REMOVE", "LOOKUP"]];
    agrees("mixed", &ganesha.target(Export::Data), changed, || ganesha.counts().unwrap());
}
