//! Pictures of pages for the documents, made from real runs: `cargo xtask pictures`. It takes minutes, and only this command sets
//! `PLIMSOLL_PICTURES` (names of pictures, or `all`).

mod list;
mod page;
mod screen;
mod servers;
mod table;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::workspace;
use rustix::process::Signal;
use serde_json::Value;

use list::{Picture, RUNS, Run};
use servers::Servers;
use table::Row;

/// How long a live page shows a load before its picture is taken.
const WATCHED: Duration = Duration::from_secs(60);
/// The machine is observed for this long before a run.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

fn folder() -> PathBuf {
    workspace().join("docs/screenshots")
}

/// What a picture's row says of its run.
struct Made {
    commit: String,
    at: SystemTime,
    busy: u64,
}

#[test]
fn make_them() {
    let Ok(names) = std::env::var("PLIMSOLL_PICTURES") else { return };
    let is_wanted = |picture: &&Picture| names == "all" || names.split(',').any(|name| name == picture.name);
    let known: Vec<&str> = RUNS.iter().flat_map(|run| run.pictures).map(|picture| picture.name).collect();
    let known = [&known[..], &[screen::NAME]].concat();
    let unknown = names.split(',').find(|name| names != "all" && !known.contains(name));
    assert_eq!(unknown, None, "there are these pictures: {}", known.join(", "));
    let begun = Instant::now();
    let mut failed = Vec::new();
    if names == "all" || names.split(',').any(|name| name == screen::NAME) {
        screen::make();
    }
    for run in &RUNS {
        let wanted: Vec<&Picture> = run.pictures.iter().filter(is_wanted).collect();
        if wanted.is_empty() {
            continue;
        }
        let started = Instant::now();
        // One failure must not cost the other pictures.
        let rows = catch_unwind(AssertUnwindSafe(|| make(run, &wanted)));
        let seconds = started.elapsed().as_secs();
        match rows {
            Ok(rows) => {
                for row in &rows {
                    println!("picture {}: {}, {seconds} s with all pictures of its run", row.name, row.verdict);
                }
                table::write(&rows);
            }
            Err(panic) => {
                let names: Vec<&str> = wanted.iter().map(|picture| picture.name).collect();
                println!("NOT MADE {}: {}", names.join(", "), reason(panic.as_ref()));
                failed.extend(names);
            }
        }
    }
    println!("pictures: {} s", begun.elapsed().as_secs());
    assert!(failed.is_empty(), "not made: {}", failed.join(", "));
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason")
}

/// Makes the wanted pictures of a run.
fn make(run: &Run, wanted: &[&Picture]) -> Vec<Row> {
    let servers = Servers::start(run);
    let made = Made { commit: commit(), at: SystemTime::now(), busy: busy_percent() };
    if run.is_live() {
        watch(run, &servers, wanted[0]);
    } else {
        run.commands.iter().for_each(|command| finish(&mut prepared(command, &servers), command));
        let mut browser = page::browser();
        wanted.iter().for_each(|picture| page::take(&mut browser, servers.path(), picture));
    }
    let report = |picture: &Picture| -> Value {
        let file = servers.path().join(picture.page).with_extension("json");
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    };
    wanted.iter().map(|picture| Row::new(picture.name, &made, &report(picture))).collect()
}

/// A command with the servers' addresses, in the private folder. A command that writes a page writes the report in JSON beside it.
fn prepared(command: &str, servers: &Servers) -> Command {
    let mut words: Vec<String> = shlex::split(command).unwrap().iter().map(|word| servers.word(word)).collect();
    if let Some(page) = words.iter().position(|word| word == "--html").map(|place| words[place + 1].clone()) {
        words.extend(["--json".to_owned(), Path::new(&page).with_extension("json").display().to_string()]);
    }
    let mut prepared = Command::new(crate::measured_program());
    prepared.args(&words).arg("--utc").current_dir(servers.path());
    servers.password(&mut prepared);
    prepared
}

/// Exit code 4: the numbers are INVALID, which the table of pictures says.
fn finish(prepared: &mut Command, command: &str) {
    let ended = output(prepared);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{command}: {}: {said}", ended.status);
}

/// A picture of the live page of the first command while the second one makes load.
fn watch(run: &Run, servers: &Servers, picture: &Picture) {
    let mut watching = Running::start(&mut prepared(run.commands[0], servers)).unwrap();
    let ended = watching.wait_until(|running| running.said()[1].contains(" in a browser"));
    assert_eq!(ended, None, "{:?}", watching.said());
    let address = watching.said()[1].split("open ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let mut load = Running::start(&mut prepared(run.commands[1], servers)).unwrap();
    let mut browser = page::browser();
    page::visit(&mut browser, &address, picture);
    std::thread::sleep(WATCHED);
    assert_eq!(load.wait_until(|_| true), None, "{:?}", load.said());
    page::take_shown(&mut browser, picture);
    watching.signal(Signal::INT);
    let ended = watching.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
}

/// The commit of the program that makes the pages.
fn commit() -> String {
    let version = output(Command::new(crate::measured_program()).arg("--version"));
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let commit = version.lines().find_map(|line| line.strip_prefix("commit: "));
    commit.unwrap_or_default().chars().take(8).collect()
}

/// How busy all processors together are, in per cent, while nothing of ours works.
fn busy_percent() -> u64 {
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    let ticks = || -> Vec<u64> {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        text.lines().next().unwrap().split_whitespace().skip(1).take(8).map(|tick| tick.parse().unwrap()).collect()
    };
    let before = ticks();
    std::thread::sleep(CHECK_INTERVAL);
    let passed: Vec<u64> = ticks().iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect();
    let all: u64 = passed.iter().sum();
    let idle = passed[3] + passed[4];
    (100 * (all - idle)).checked_div(all).unwrap_or(0)
}
