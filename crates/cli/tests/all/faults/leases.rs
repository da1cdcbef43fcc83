//! Two runs with one file set: the second is refused without damage, and the remains of a killed run are removed.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{ConnectOptions, Connector, Lease, LeaseError, open};
use plimsoll_model::Names;
use plimsoll_serve::{Account, Embedded, Kind, Options};
use plimsoll_testkit::servers::faulty::{Faulty, Framing, Rule};
use plimsoll_testkit::servers::{Samba, Scratch, Share};
use plimsoll_workload::{FileSet, Workload};
use rustix::process::Signal;

use super::command::{Ended, Server, run, start};
use crate::{alone, available};

/// Gentle, so that a busy machine is no reason for anything.
const LOAD: [&str; 7] = ["mixed", "--warmup", "0s", "--clients", "2", "--think", "20ms"];
const BRIEF: [&str; 2] = ["--duration", "300ms"];

/// A run that continues, one that needs the same files meanwhile, and one with separate files.
fn second_is_refused(target: &str, folder: Option<&Path>) -> Ended {
    let load = [&LOAD[..], &["--target", target]].concat();
    let mut first = start(&[&load[..], &["--duration", "10m"]].concat());
    match folder {
        // No socket, no tap: the lease, and the manifest of a set that is whole.
        Some(folder) => first.wait_for("files", |_| !left(folder).is_empty() && has_manifest(folder)),
        None => first.wait_until_it_measures(),
    }
    let second = run(&[&load[..], &BRIEF].concat());
    second.refused(&["is in use by process", "--file-set NAME", "60 s"]);
    assert!(second.said.contains(&first.id().to_string()), "{}", second.said);
    let other = run(&[&load[..], &BRIEF, &["--file-set", "other", "--remove-files"]].concat());
    assert!(matches!(other.code, Some(0 | 4)), "{}", other.said);
    assert_eq!(other.level()["errors"], 0, "{}", other.said);
    first.signal(Signal::INT);
    let first = first.end();
    assert_eq!((first.failures("wrong data"), first.level()["errors"].as_u64()), (0, Some(0)), "{}", first.said);
    assert!(!first.reasons().contains("lease"), "{}", first.reasons());
    // The lease was released: the next run finds none.
    let next = run(&[&load[..], &BRIEF].concat());
    assert!(matches!(next.code, Some(0 | 4)) && !next.report.to_string().contains("abandoned"), "{}", next.said);
    next
}

/// Names below a folder that a run should not have left.
fn left(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            names.extend(left(&entry.path()));
        }
        names.extend(Some(name).filter(|name| name.starts_with("own-") || name.ends_with(".lease")));
    }
    names
}

/// Whether a set is whole.
fn has_manifest(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| entry.unwrap().path().join("manifest.txt").exists())
}

#[test]
fn of_a_directory() {
    let _alone = alone();
    let folder = Scratch::new("lease");
    second_is_refused(&format!("file://{}", folder.path().display()), Some(folder.path()));
    // Slots were stopped in the middle of their iterations; their private files are removed even so.
    assert_eq!(left(folder.path()), [""; 0]);
}

#[test]
fn of_smb_and_nfs_shares() {
    let _alone = alone();
    for kind in ["smb", "nfs"] {
        let server = Server::start(&[kind]);
        second_is_refused(&server.url, None);
    }
}

#[test]
fn of_sambas_share_with_a_link_to_elsewhere_in_the_set() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    second_is_refused(&target, None);
    let folder = samba.folder(Share::Data).unwrap();
    assert_eq!(left(&folder), [""; 0]);
    // A private name of a slot is a link to other data, which the server may follow.
    let letters = folder.join("letters");
    std::fs::create_dir(&letters).unwrap();
    std::fs::write(letters.join("f0"), "dear").unwrap();
    let set = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let set = set.filter(|path| path.to_string_lossy().contains("plimsoll-mixed-")).min().unwrap();
    std::os::unix::fs::symlink("../letters", set.join("own-d-0-1-2-3-0")).unwrap();
    let load = [&LOAD[..], &["--target", &target]].concat();
    let next = run(&[&load[..], &BRIEF, &["--remove-files"]].concat());
    assert_eq!(std::fs::read_to_string(letters.join("f0")).unwrap(), "dear", "{}", next.said);
}

#[test]
fn what_a_killed_run_held_is_taken_over_at_once() {
    let _alone = alone();
    let folder = Scratch::new("lease-killed");
    let target = format!("file://{}", folder.path().display());
    let load = [&LOAD[..], &["--target", &target]].concat();
    let mut first = start(&[&load[..], &["--duration", "10m"]].concat());
    first.wait_for("the lease", |_| !left(folder.path()).is_empty());
    first.signal(Signal::KILL);
    drop(first);
    let next = run(&[&load[..], &BRIEF].concat());
    assert!(matches!(next.code, Some(0 | 4)), "{}", next.said);
    assert!(next.report["run"]["facts"].to_string().contains("took over an abandoned lease"), "{}", next.report["run"]);
    assert_eq!(left(folder.path()), [""; 0]);
}

/// A set of files on a server of ours, behind a proxy that can lose it.
struct Behind {
    proxy: Faulty,
    server: Arc<dyn Connector>,
    set: FileSet,
    _embedded: Embedded,
}

impl Behind {
    fn start() -> Self {
        let account = Some(Account::random().unwrap());
        let embedded = Embedded::start(Kind::Smb, Options { account, ..Options::default() }).unwrap();
        let url = embedded.target();
        let upstream: SocketAddr = url.split('@').nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        let proxy = Faulty::start(upstream, Framing::Smb, Vec::new()).unwrap();
        let url = url.replace(&upstream.to_string(), &proxy.address().to_string());
        let mut names = Names::default();
        let server = open(&Target::parse(&url).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
        let workload = Workload::find("null").unwrap();
        let set = FileSet::new(&workload, "", 1, &mut names).unwrap();
        Self { proxy, server: server.into(), set, _embedded: embedded }
    }

    fn take(&self, timeout: Duration) -> Result<Lease, LeaseError> {
        Lease::take(&self.server, &self.set, timeout)
    }
}

/// Longer than a restart takes on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_server_that_restarts_while_the_lease_is_taken_is_waited_for() {
    let mut behind = Behind::start();
    behind.proxy.down();
    let error = behind.take(Duration::from_millis(300)).unwrap_err().to_string();
    assert!(
        error.contains("no connection to the server for 300ms (Connection refused") && error.contains("--timeout"),
        "{error}"
    );
    let Behind { mut proxy, server, set, _embedded } = behind;
    let taken = std::thread::scope(|scope| {
        let taking = scope.spawn(|| Lease::take(&server, &set, PATIENCE));
        std::thread::sleep(Duration::from_millis(500));
        proxy.up().unwrap();
        taking.join().unwrap()
    });
    let lease = taken.unwrap();
    assert_eq!((lease.note.clone(), lease.release(|| None)), (None, Ok(())));
}

#[test]
fn a_connection_that_is_lost_at_any_moment_costs_no_lease() {
    let behind = Behind::start();
    behind.take(PATIENCE).unwrap().release(|| None).unwrap();
    let whole = behind.proxy.seen()[0].bytes;
    for part in 1..12 {
        let end = Rule::End { connection: Some(0), offset: whole * part / 12, reset: true };
        behind.proxy.set_rules(vec![end]);
        let lease = behind.take(PATIENCE).unwrap();
        // The incomplete file is this run's own, not an abandoned one.
        assert_eq!((lease.note.clone(), lease.release(|| None)), (None, Ok(())), "part {part}");
    }
}

/// Two targets of a run may show the same directory: the run then finds its own lease.
#[test]
fn a_lease_of_the_same_run_is_known() {
    let behind = Behind::start();
    let lease = behind.take(PATIENCE).unwrap();
    let error = behind.take(PATIENCE).unwrap_err();
    assert!(lease.is_of(&error), "{error}");
    lease.release(|| None).unwrap();
    let other = behind.take(PATIENCE).unwrap();
    assert!(!other.is_of(&error), "another run, or the same one later");
    other.release(|| None).unwrap();
}

#[test]
fn a_disk_that_was_too_small_is_not_left_full() {
    let account = Account::random().unwrap();
    let server =
        Embedded::start(Kind::Smb, Options { account: Some(account), size: 24 << 20, ..Options::default() }).unwrap();
    let target = server.target();
    let full = run(&["stream-read", "--target", &target, "--duration", "300ms"]);
    full.refused(&["stream-read"]);
    // With 24 MiB taken there would be no room for these.
    let load = [&LOAD[..], &["--target", &target]].concat();
    let next = run(&[&load[..], &BRIEF].concat());
    assert!(matches!(next.code, Some(0 | 4)), "{}", next.said);
    assert_eq!(next.level()["errors"], 0, "{}", next.said);
}
