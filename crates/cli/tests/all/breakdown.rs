//! `plimsoll breakdown` as its users call it, shortened: on the servers in its own process, on Samba, on Ganesha and on a directory.

use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use serde_json::Value;

use crate::{available, skip};

const SHORT: [&str; 8] = ["--size", "256KiB", "--duration", "300ms", "--warmup", "100ms", "--calls", "20"];

/// The report as JSON, held to its schema, and as text.
fn breakdown(target: &str, flags: &[&str], scratch: &Scratch) -> (Value, String) {
    let file = |name: &str| scratch.path().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["breakdown", target]).args(SHORT).args(flags).arg("--full").arg("--json").arg(file("report.json"));
    command.arg("--html").arg(file("report.html")).env("PLIMSOLL_PASSWORD", Samba::PASSWORD);
    let output = output(&mut command);
    let [text, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    // Whether it is valid depends on other work of the machine.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{target}: {said}");
    let report: Value = serde_json::from_slice(&std::fs::read(file("report.json")).unwrap()).unwrap();
    crate::held_to_schema(&report);
    let page = std::fs::read_to_string(file("report.html")).unwrap();
    assert!(page.contains("Where the time goes") && page.contains("server wait"));
    (report["sides"][0]["run"]["calls"].clone(), text)
}

#[test]
fn counters_of_ganesha_are_of_nfs_3_alone() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["breakdown", "nfs://127.0.0.1:1/x?version=4.1", "--ganesha-bus", "unix:path=/nowhere/bus"]);
    let output = output(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("counts only requests of NFS 3"), "{said}");
}

fn phases(calls: &Value, local: bool) -> Vec<&Value> {
    calls["phases"].as_array().unwrap().iter().filter(|phase| phase["local"] == local).collect()
}

fn words<'a>(all: &[&'a Value], field: &str) -> Vec<&'a str> {
    all.iter().map(|one| one[field].as_str().unwrap()).collect()
}

fn part<'a>(phase: &'a Value, name: &str) -> &'a Value {
    phase["parts"].as_array().unwrap().iter().find(|part| part["part"] == name).unwrap()
}

/// What holds on every target: parts add up to the whole, each says how it is known, and there were calls enough.
fn sound(calls: &Value) {
    for phase in calls["phases"].as_array().unwrap() {
        let whole = phase["whole_s"].as_f64().unwrap();
        let parts = phase["parts"].as_array().unwrap();
        let adding = parts.iter().filter(|part| part["adds"] == true);
        let sum: f64 = adding.map(|part| part["seconds"].as_f64().unwrap()).sum();
        assert!((sum / whole - 1.0).abs() < 1e-6, "{phase:#}");
        assert!(parts.iter().all(|part| part["why"] != "" && (part["how"] == "missing") == part["seconds"].is_null()));
        assert!(phase["calls"].as_u64().unwrap() >= 20, "{phase:#}");
        assert!(part(phase, "client CPU")["how"] == "measured");
    }
    assert_eq!(words(&phases(calls, true), "call"), ["getattr", "random", "sequential", "ahead"]);
    assert_eq!(calls["beside_local"].as_array().unwrap().len(), 4);
}

/// What holds where clients of ours talk to the server.
fn connected(calls: &Value) {
    sound(calls);
    let remote = phases(calls, false);
    assert_eq!(words(&remote, "call"), ["null", "getattr", "random", "sequential", "ahead"]);
    for phase in &remote {
        assert_eq!(part(phase, "network")["how"], "measured", "{phase:#}");
        // A busy kernel may stamp nothing in so short a time, and then that is said.
        assert_ne!(part(phase, "client wake-up")["how"], "inferred", "{phase:#}");
    }
    // Joy's "incremental from that above": the parts of two calls differ by what the calls do.
    for pair in remote.windows(2) {
        let [above, phase] = pair else { continue };
        assert_eq!((&phase["above"], above["call"].is_string()), (&above["call"], true));
        let number = |one: &Value, name: &str| one[name].as_f64().unwrap();
        assert!((number(phase, "over_above_s") - number(phase, "whole_s") + number(above, "whole_s")).abs() < 1e-12);
        let own = part(phase, "client CPU");
        let differs = number(own, "seconds") - number(part(above, "client CPU"), "seconds");
        assert!((number(own, "over_above_s") - differs).abs() < 1e-12, "{phase:#}");
    }
    assert!(remote[0]["above"].is_null());
    for one in calls["requests"].as_array().unwrap() {
        assert!(["first_s", "again_s", "local_s"].iter().all(|name| one[*name].as_f64() > Some(0.0)), "{one:#}");
    }
    let ahead = remote.last().unwrap();
    assert!(ahead["outstanding"] == 8 && part(ahead, "server wait")["seconds"].is_null(), "{ahead:#}");
}

/// Requests of the first call on a path, and of later ones, the shallowest path first.
fn requests(calls: &Value, call: &str) -> Vec<(f64, f64)> {
    let of = calls["requests"].as_array().unwrap().iter().filter(|one| one["call"] == call);
    of.map(|one| (one["first"].as_f64().unwrap(), one["again"].as_f64().unwrap())).collect()
}

/// The server has counted at least the reads that were measured, and timed them.
fn counted_reads(calls: &Value, name: &str) {
    let counters = calls["counters"].as_array().unwrap();
    let read = counters.iter().find(|counter| counter["name"] == name).unwrap();
    let ours: u64 = phases(calls, false).iter().skip(2).map(|phase| phase["calls"].as_u64().unwrap()).sum();
    assert!(read["count"].as_u64().unwrap() >= ours && read["mean_s"].as_f64().unwrap() > 0.0, "{read} {ours}");
}

#[test]
fn nfs_in_this_process() {
    let scratch = Scratch::new("breakdown-nfs");
    let (calls, text) = breakdown("embedded:nfs", &[], &scratch);
    connected(&calls);
    // A LOOKUP for each part; then the handle is known, and one request is enough.
    assert_eq!(requests(&calls, "getattr"), [1.0, 2.0, 3.0, 4.0, 5.0].map(|first| (first, 1.0)));
    let opening = requests(&calls, "open, close");
    assert!(opening.iter().zip(2..).all(|(seen, depth)| *seen == (f64::from(depth), 1.0)), "{opening:?}");
    for phase in phases(&calls, false) {
        assert_eq!(part(phase, "server CPU")["how"], "inferred", "it is in the same process");
    }
    assert!(text.contains("Where the time of a call goes") && text.contains("Remote and local"), "{text}");
    assert!(
        text.contains("Difference from the call before") && text.contains("Time per call, by the depth of the path"),
        "{text}"
    );
    // The server has its files in memory, the local directory on a disk.
    assert!(text.contains("INVALID") || text.contains("in the local directory are not comparable"), "{text}");
    // Operations of the local directory are not the server's.
    let report = crate::only_side(&std::fs::read(scratch.path().join("report.json")).unwrap());
    let protocols: Vec<&Value> = report["operations"].as_array().unwrap().iter().map(|row| &row["protocol"]).collect();
    assert!(!protocols.is_empty() && protocols.iter().all(|protocol| *protocol == "NFS3"), "{protocols:?}");
    assert!(text.contains("Load levels in a local directory, without the server"), "{text}");
    assert_eq!(calls["missing"], Value::Array(Vec::new()));
}

#[test]
fn smb_in_this_process() {
    let scratch = Scratch::new("breakdown-smb");
    let (calls, _) = breakdown("embedded:smb", &[], &scratch);
    connected(&calls);
    // SMB names whole paths: CREATE, QUERY_INFO, CLOSE at any depth.
    assert_eq!(requests(&calls, "getattr"), [(3.0, 3.0); 5]);
}

#[test]
fn a_directory() {
    let scratch = Scratch::new("breakdown-path");
    let [target, local] = ["target", "local"].map(|name| format!("file://{}", scratch.folder(name).display()));
    let (calls, _) = breakdown(&target, &["--local", &local, "--remove-files"], &scratch);
    sound(&calls);
    let remote = phases(&calls, false);
    assert_eq!(words(&remote, "call"), ["getattr", "random", "sequential", "ahead"], "there is nobody to answer");
    for phase in remote {
        assert!(part(phase, "network")["seconds"].is_null() && part(phase, "server CPU")["seconds"].is_null());
        // The remainder is not attributed to the server.
        assert!(part(phase, "server wait")["seconds"].is_null() && part(phase, "remainder")["how"] == "inferred");
    }
    // Its requests were not captured; how long they took is known, there and locally.
    let stats = calls["requests"].as_array().unwrap();
    assert_eq!(stats.len(), 8);
    let timed = |one: &Value| ["first_s", "again_s", "local_s"].iter().all(|name| one[*name].as_f64() > Some(0.0));
    assert!(stats.iter().all(|one| one["call"] == "stat" && one["first"].is_null() && timed(one)), "{stats:#?}");
    assert!(calls["missing"][0].as_str().unwrap().contains("--capture FILE"));
    for folder in ["target", "local"] {
        assert_eq!(std::fs::read_dir(scratch.path().join(folder)).unwrap().count(), 0, "{folder}");
    }
}

#[test]
fn samba_with_its_own_counters() {
    let Some(samba) = available(Samba::start(&["smbd profiling level = on"])) else { return };
    let scratch = Scratch::new("breakdown-samba");
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let (pid, conf) = (samba.process_id().unwrap().to_string(), samba.configuration());
    if samba.counts().is_none() {
        return skip("needs smbstatus, and a smbd that counts (Debian: samba)");
    }
    let (folder, seen) = (samba.folder(Share::Data).unwrap(), scratch.path().join("seen"));
    // The command gets no password.
    let look = format!(
        "test -z \"$PLIMSOLL_PASSWORD\" || exit; ls {} >> {seen}; echo once >> {seen}",
        folder.display(),
        seen = seen.display()
    );
    let flags = ["--server-pid", &pid, "--samba-conf", conf.to_str().unwrap(), "--empty-caches", &look];
    let (calls, text) = breakdown(&target, &flags, &scratch);
    connected(&calls);
    for phase in phases(&calls, false) {
        assert_eq!(part(phase, "server CPU")["how"], "measured", "{phase:#}");
    }
    // Caches are dropped if files exist already, before each reading phase, in every run.
    let seen = std::fs::read_to_string(seen).unwrap();
    let (first, more) = seen.split_once("once").unwrap();
    assert!(first.contains("plimsoll-random-read-") && more.matches("once").count() >= 2, "{seen}");
    counted_reads(&calls, "smb2_read");
    assert!(text.contains("The server's own counters"), "{text}");
    assert_eq!(requests(&calls, "getattr"), [(3.0, 3.0); 5]);
}

#[test]
fn ganesha_with_its_own_counters() {
    let Some(ganesha) = available(Ganesha::start_counting()) else { return };
    let scratch = Scratch::new("breakdown-ganesha");
    let pid = ganesha.process_id().unwrap().to_string();
    let flags = ["--server-pid", &pid, "--ganesha-bus", ganesha.bus().unwrap()];
    let (calls, _) = breakdown(&ganesha.target(Export::Data), &flags, &scratch);
    connected(&calls);
    for phase in phases(&calls, false) {
        assert_eq!(part(phase, "server CPU")["how"], "measured", "{phase:#}");
    }
    counted_reads(&calls, "READ");
    assert_eq!(requests(&calls, "getattr"), [1.0, 2.0, 3.0, 4.0, 5.0].map(|first| (first, 1.0)));
}

#[test]
fn what_makes_no_sense_is_said() {
    let said = |flags: &[&str]| {
        let output = output(crate::plimsoll().args(["breakdown", "embedded:nfs"]).args(flags));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (flags, word) in [
        (["--block", "much"], "--block much"),
        (["--size", "4KiB"], "--size 4KiB: expected at least"),
        (["--local", "embedded:nfs"], "--local"),
        (["--duration", "0s"], "--duration"),
    ] {
        let (code, text) = said(&flags);
        assert!(code == Some(2) && text.contains(word), "{flags:?}: {text}");
    }
    let (code, text) = said(&["--samba-conf", "/nowhere/smb.conf"]);
    assert_eq!(code, Some(3), "{text}");
}

/// Why perf takes no samples here, if it takes none.
fn without_perf() -> Option<&'static str> {
    let mut command = Command::new("perf");
    command.args(["record", "--event", "cpu-clock", "--output", "/dev/null", "true"]);
    match command.output() {
        Err(_) => Some("needs perf (Debian: linux-perf)"),
        Ok(output) => (!output.status.success()).then_some("the kernel does not allow perf to take samples"),
    }
}

fn sum(counts: &Value) -> u64 {
    counts.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
}

/// The samples of a side: every sample has a function, a kind and a place in the tree.
fn profile<'a>(calls: &'a Value, side: &str) -> &'a Value {
    let profiles = calls["profiles"].as_array().unwrap();
    let profile = profiles.iter().find(|one| one["side"] == side).unwrap_or_else(|| panic!("{side}: {calls:#}"));
    let list = |name: &str| profile[name].as_array().unwrap();
    let of_calls: Vec<u64> = list("calls").iter().map(|call| call["samples"].as_u64().unwrap()).collect();
    let samples: u64 = of_calls.iter().sum();
    assert!(samples > 0, "{profile:#}");
    let functions: u64 = list("functions").iter().map(|function| sum(&function["samples"])).sum();
    assert_eq!(functions + profile["other_functions"].as_u64().unwrap(), samples);
    assert_eq!(list("kinds").iter().map(|kind| sum(&kind["samples"])).sum::<u64>(), samples, "root sees the kernel");
    let roots = list("frames").iter().filter(|frame| frame["depth"] == 0);
    assert_eq!(roots.map(|frame| frame["samples"].as_u64().unwrap()).collect::<Vec<_>>(), of_calls);
    assert!(list("functions").iter().any(|function| function["module"] == "kernel" && !function["name"].is_null()));
    profile
}

#[test]
fn a_profile_of_samba_and_its_client() {
    let Some(samba) = available(Samba::start(&[])) else { return };
    if let Some(reason) = without_perf() {
        return skip(reason);
    }
    let scratch = Scratch::new("breakdown-profile");
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let pid = samba.process_id().unwrap().to_string();
    let (calls, text) = breakdown(&target, &["--server-pid", &pid, "--profile"], &scratch);
    // smbd serves a connection in a process that it starts after perf has begun.
    let server = profile(&calls, "server");
    let modules: Vec<&str> =
        server["frames"].as_array().unwrap().iter().filter_map(|frame| frame["module"].as_str()).collect();
    assert!(modules.iter().any(|module| module.contains("smbd")) && !modules.contains(&"plimsoll"), "{modules:?}");
    let client = profile(&calls, "client");
    let frames = client["frames"].as_array().unwrap();
    assert!(frames.iter().any(|frame| frame["module"] == "plimsoll"), "{client:#}");
    assert!(client["processes"].as_str().unwrap().starts_with("load threads of process "), "{client:#}");
    let of_others = |frame: &&Value| frame["name"].as_str().is_some_and(|name| name.contains("server_side"));
    assert_eq!(frames.iter().find(of_others), None, "threads that make no load");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "CPU time of the server by function",
        "CPU time of the client by kind of work",
        "without a symbol",
        "perf took samples in the remote and the local phases",
        "profile = 499 samples per second of CPU time",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = std::fs::read_to_string(scratch.path().join("report.html")).unwrap();
    assert!(page.contains("Flame graph of the server") && page.contains("Flame graph of the client"));
    assert!(calls["missing"].as_array().unwrap().is_empty(), "{calls:#}");
}

#[test]
fn a_profile_of_both_sides_in_one_process() {
    if let Some(reason) = without_perf() {
        return skip(reason);
    }
    let scratch = Scratch::new("breakdown-profile-embedded");
    let (calls, _) = breakdown("embedded:nfs", &["--profile"], &scratch);
    assert_eq!(calls["profiles"].as_array().unwrap().len(), 1);
    profile(&calls, "client and server");
}

#[test]
fn a_profile_that_cannot_be_taken_ends_the_run_before_it_begins() {
    let scratch = Scratch::new("breakdown-no-profile");
    let perf = scratch.folder("programs").join("perf");
    let refusing = "#!/bin/sh\n[ \"$1\" = version ] && exit 0\necho 'Access is limited.' >&2\nexit 255\n";
    std::fs::write(&perf, refusing).unwrap();
    std::fs::set_permissions(&perf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", perf.parent().unwrap().display());
    let output = output(crate::plimsoll().args(["breakdown", "embedded:nfs", "--profile"]).env("PATH", path));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let expected = "--profile: perf cannot sample the processes";
    assert!(said.contains(expected) && said.contains("Access is limited."), "{said}");
    assert!(output.stdout.is_empty());
}
