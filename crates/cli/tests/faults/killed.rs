//! A server that is killed and started again in mid-run: the run goes on, and what was measured before and after is kept.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_testkit::servers::faulty::{Faulty, Framing};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Share};
use rustix::process::Signal;

use crate::command::{Ended, run, start};
use crate::{alone, skip};

/// Slow enough that a handful of failures is more than the share that a valid run may have.
const LOAD: [&str; 8] = ["--warmup", "0s", "--stations", "3", "--think", "40ms", "--timeout", "5s"];

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Answers on all connections but so many.
fn answers(proxy: &Faulty, but: usize) -> u64 {
    proxy.seen().iter().skip(but).map(|connection| connection.replies).sum()
}

/// Runs `mixed` until well after the server came back, with the server killed under it. The proxy in front of it does nothing
/// but count, and is dead as long as the server is.
fn survives(mut proxy: Faulty, target: &str, mut kill: impl FnMut(), mut again: impl FnMut()) {
    let made = run(&[&["mixed", "--target", target, "--duration", "300ms"][..], &LOAD].concat());
    assert!(matches!(made.code, Some(0 | 4)), "{}", made.said);
    let before = proxy.seen().len();
    let mut running = start(&[&["mixed", "--target", target, "--duration", "10m"][..], &LOAD].concat());
    // Looking for files and verifying them takes nine connections, the lease one.
    running.wait_for("results", |_| answers(&proxy, before + 10) > 60);
    let (killed, connections) = (now(), proxy.seen().len());
    kill();
    proxy.down();
    std::thread::sleep(Duration::from_millis(300));
    again();
    let back = now();
    proxy.up().unwrap();
    running.wait_for("results after the restart", |_| answers(&proxy, connections) > 120);
    running.signal(Signal::INT);
    went_on(&running.end(), killed, back);
}

fn went_on(ended: &Ended, killed: i64, back: i64) {
    assert_eq!(ended.code, Some(4), "with so many failures it is not valid: {}", ended.report["validity"]);
    assert!(ended.reasons().contains("operations failed"), "{}", ended.reasons());
    let lost = ended.failures("connection closed") + ended.failures("connection reset");
    // Every station's connection, at least; and while nobody listened, every attempt.
    assert!(lost >= 3 && ended.failures("connection refused") >= 3, "{}", ended.stage()["failures"]);
    assert_eq!(ended.stage()["fairness"]["starved"], 0);
    let rows = ended.rows();
    let done = |row: &&HashMap<String, String>| row["outcome"] == "succeeded" && row["stage"] == "0";
    let at = |row: &HashMap<String, String>| row["response_last_ns"].parse::<i64>().unwrap();
    let before = rows.iter().filter(done).filter(|row| at(row) < killed).count();
    let after = rows.iter().filter(done).filter(|row| at(row) > back).count();
    assert!(before > 10 && after > 10, "{before} before, {after} after");
    // What the report counts is what the table holds of the measured phase.
    let in_phase = rows.iter().filter(|row| row["stage"] == "0" && row["group"] != "Session").count() as u64;
    assert_eq!(ended.stage()["count"], in_phase);
}

#[test]
fn samba_dies_and_comes_back() {
    let _alone = alone();
    let samba = match Samba::start(&[]) {
        Ok(samba) => std::cell::RefCell::new(samba),
        Err(reason) => return skip(reason),
    };
    let proxy = Faulty::start(samba.borrow().address(), Framing::Smb, Vec::new()).unwrap();
    let target = format!("smb://{}@{}/{}", Samba::USER, proxy.address(), Share::Data.name());
    survives(proxy, &target, || samba.borrow_mut().kill(), || samba.borrow_mut().restart());
}

#[test]
fn ganesha_dies_and_comes_back() {
    let _alone = alone();
    let ganesha = match Ganesha::start() {
        Ok(ganesha) => std::cell::RefCell::new(ganesha),
        Err(reason) => return skip(reason),
    };
    let (address, mount) = (ganesha.borrow().address(), ganesha.borrow().mount_port());
    let proxy = Faulty::start(address, Framing::Rpc, Vec::new()).unwrap();
    let target = format!("nfs://{}{}?mountport={mount}", proxy.address(), Export::Data.path());
    survives(proxy, &target, || ganesha.borrow_mut().kill(), || ganesha.borrow_mut().restart());
}

/// Killed while files are made: what was made is found there or made again, and the set is whole.
#[test]
fn samba_dies_while_files_are_made() {
    let _alone = alone();
    let mut samba = match Samba::start(&[]) {
        Ok(samba) => samba,
        Err(reason) => return skip(reason),
    };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let folder = samba.folder(Share::Data).unwrap();
    let short = ["getattr", "--target", &target, "--warmup", "0s", "--duration", "300ms", "--timeout", "5s"];
    let mut running = start(&short);
    running.wait_for("files being made", |_| std::fs::read_dir(&folder).unwrap().count() > 0);
    samba.restart();
    let ended = running.end();
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    assert_eq!(ended.stage()["errors"], 0);
    let again = run(&[&short[..], &["--remove-files"]].concat());
    assert!(matches!(again.code, Some(0 | 4)), "the set is whole: {}", again.said);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}
