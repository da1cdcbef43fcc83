//! `plimsoll run` of load files, on every kind of target: each line ends as the file says, or is a named exception.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use plimsoll_testkit::command::{LIMIT, output_within};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use serde_json::Value;

use crate::{available, skip};

/// Clients that play a file at the same time.
const CLIENTS: u32 = 3;
/// What NFS 3 leaves to another protocol.
const LOCKS: [&str; 2] = ["LockX", "UnlockX"];
/// NetBench's load file, where Debian puts it.
const CLIENT_TXT: &str = "/usr/share/dbench/client.txt";

/// Lines of it that are played: files of all kinds are made, listed, read, renamed, locked and removed in the first twelve
/// thousand, and all 458,344 take an optimised build.
fn lines() -> usize {
    if all_lines() { usize::MAX } else { 12_000 }
}

fn all_lines() -> bool {
    std::env::var_os("PLIMSOLL_EXACT").is_some()
}

fn limit() -> Duration {
    if all_lines() { 15 * LIMIT } else { LIMIT }
}

fn plimsoll(arguments: &[&str]) -> Output {
    output_within(crate::plimsoll().args(arguments).env("PLIMSOLL_PASSWORD", Samba::PASSWORD), limit())
}

/// Clients that play the long file.
fn clients() -> u32 {
    if all_lines() { CLIENTS } else { 1 }
}

/// A workload in which each client plays a load file `plays` times.
fn workload(folder: &Path, loadfile: &Path, plays: u32, clients: u32) -> PathBuf {
    let path = folder.join("replay.toml");
    let text = format!(
        "name = \"replay\"\ndescription = \"a test\"\n[replay]\nloadfile = {:?}\nplays = {plays}\n[load]\nclients = {clients}\n",
        loadfile.to_str().unwrap()
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/loadfiles").join(name)
}

/// Plays one of our files with three clients; the facts about it.
fn play(name: &str, target: &str) -> Vec<String> {
    play_file(&own(name), 2, CLIENTS, target)
}

/// Plays a file; the facts about it.
fn play_file(loadfile: &Path, plays: u32, clients: u32, target: &str) -> Vec<String> {
    let scratch = Scratch::new("replay");
    let workload = workload(scratch.path(), loadfile, plays, clients);
    let fixed = ["run", workload.to_str().unwrap(), "--target", target, "--json", "-", "-q", "--remove-files"];
    let output = plimsoll(&fixed);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{target}: {said}");
    let report: Value = crate::only_side(&output.stdout);
    let facts = report["run"]["facts"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap().to_owned());
    let facts: Vec<String> = facts.filter(|fact| fact.starts_with("load file")).collect();
    let level = &report["levels"][0];
    assert_eq!(level["failures"].as_array().unwrap().len(), 0, "{target}: {} {facts:#?}", level["failures"]);
    assert!(facts[0].contains(&format!("completed {} times", clients * plays)), "{target}: {facts:#?}");
    // The report contains the server's refusals unchanged.
    assert!(level["errors"].as_u64().unwrap() > 0, "{target}: {level:#}");
    facts
}

#[expect(clippy::print_stdout, reason = "the counts, for whoever asks for all lines")]
/// Our own load file, and the beginning of NetBench's; `without` are operations that the target has not.
fn on(target: &str, without: &[&str]) {
    let exceptions = |facts: &[String]| -> Vec<String> {
        let named = |fact: &String| {
            let (_, what) = fact.strip_prefix("load file, ")?.split_once(": ")?;
            Some(what.split(' ').next()?.to_owned())
        };
        assert!(facts.iter().skip(1).all(|fact| fact.starts_with("load file, ")), "{target}: {facts:#?}");
        facts.iter().filter_map(named).collect()
    };
    assert_eq!(exceptions(&play("netbench.load", target)), without, "{target}");
    if !Path::new(CLIENT_TXT).exists() {
        return skip(format_args!("needs {CLIENT_TXT}"));
    }
    let scratch = Scratch::new("client-txt");
    let path = scratch.path().join("client.txt");
    let mut beginning = String::new();
    for line in BufReader::new(std::fs::File::open(CLIENT_TXT).unwrap()).lines().take(lines()) {
        writeln!(beginning, "{}", line.unwrap()).unwrap();
    }
    std::fs::write(&path, beginning).unwrap();
    let facts = play_file(&path, 1, clients(), target);
    assert_eq!(exceptions(&facts), without, "{target}");
    println!("{target}: {facts:#?}");
}

#[test]
fn on_samba() {
    let Some(samba) = available(Samba::start(&[])) else { return };
    on(&format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name()), &[]);
    let left = std::fs::read_dir(samba.folder(Share::Data).unwrap()).unwrap();
    assert!(left.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains("replay")).count() == 0);
}

#[test]
fn on_ganesha() {
    let Some(ganesha) = available(Ganesha::start()) else { return };
    on(&ganesha.target(Export::Data), &LOCKS);
    play("nfs.load", &ganesha.target(Export::Data));
}

#[test]
fn on_the_embedded_smb_server() {
    // FileAttributeTagInformation: its library knows no such class.
    on("embedded:smb", &["QUERY_PATH_INFORMATION"]);
    play("smb.load", "embedded:smb");
}

#[test]
fn on_the_embedded_nfs_server() {
    on("embedded:nfs", &LOCKS);
    play("nfs.load", "embedded:nfs");
}

#[test]
fn on_a_directory() {
    let scratch = Scratch::new("replay-directory");
    let target = format!("file://{}", scratch.path().display());
    on(&target, &[]);
    for name in ["nfs.load", "smb.load"] {
        play(name, &target);
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_play_that_is_cut_short_leaves_nothing_that_the_next_run_minds() {
    let scratch = Scratch::new("replay-cut");
    let target = format!("file://{}", scratch.path().display());
    let run = |more: &[&str]| {
        let workload = scratch.path().join("w.toml");
        let loadfile = own("netbench.load");
        let text = format!(
            "name = \"cut\"\ndescription = \"\"\n[replay]\nloadfile = {:?}\n[load]\nthink = \"1ms\"\nwarmup = \"0s\"\nduration = \"333ms\"\n",
            loadfile.to_str().unwrap()
        );
        std::fs::write(&workload, text).unwrap();
        let fixed = ["run", workload.to_str().unwrap(), "--target", &target, "--json", "-", "-q"];
        let output = plimsoll(&[&fixed[..], more].concat());
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = crate::only_side(&output.stdout);
        assert_eq!(report["levels"][0]["failures"].as_array().unwrap().len(), 0, "{report:#}");
    };
    run(&[]);
    run(&["--clients", "2"]);
    run(&["--remove-files"]);
}

#[test]
fn what_is_wrong_with_a_load_file_is_said_with_its_line() {
    let scratch = Scratch::new("replay-wrong");
    let refused = |loadfile: &str| {
        let workload = workload(scratch.path(), Path::new(loadfile), 1, 1);
        let output = plimsoll(&["run", workload.to_str().unwrap(), "-q"]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("none.load");
    assert!(said.contains("replay.toml, line 4") && said.contains("package dbench"), "{said}");
    std::fs::write(scratch.path().join("wrong.load"), "Close 5 *\nFrobnicate 5 *\n").unwrap();
    let said = refused("wrong.load");
    assert!(said.contains("wrong.load, line 2: Frobnicate") && said.contains("in: Frobnicate 5 *"), "{said}");
}
