//! Locks that a server refuses because another client has them.

use plimsoll_model::{Endpoint, Outcome, Procedure, Protocol, Unfinished, WaitEnd};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";
const LOCK: u16 = 2;
const UNLOCK: u16 = 4;
const DENIED: u32 = 1;

fn lock(traffic: &mut Traffic, code: u16, client: u8, status: u32) {
    let procedure = Procedure::of(Protocol::Nlm, code);
    traffic.changed(procedure, client, DATA, "jobs.lck", MS, |t| {
        (t.status, t.outcome) = (Some(status), Outcome::of_status(procedure, status));
    });
}

/// Client 1 has a lock; client 2 requests it `tries` times, each `pause_ms` after the last refusal; then it is released. `is_seen`:
/// whether the lock of client 1 was granted within the capture.
fn contended(tries: usize, pause_ms: i64, is_seen: bool) -> Traffic {
    let mut traffic = Traffic::new();
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
    if is_seen {
        lock(&mut traffic, LOCK, 1, 0);
    }
    for _ in 0..tries {
        lock(&mut traffic, LOCK, 2, DENIED);
        traffic.pause(pause_ms * MS);
    }
    lock(&mut traffic, UNLOCK, 1, 0);
    lock(&mut traffic, LOCK, 2, 0);
    traffic
}

#[test]
fn the_holder_of_a_refused_lock_is_named() {
    let text = contended(20, 100, true).first(Rule::LockWaits);
    let start = r"Clients wait for byte-range locks on the file jobs.lck on share \\server1\data: the server refused 20 requests, the first at 2023-11-14 22:13:";
    assert!(text.starts_with(start), "{text}");
    text.has("Client 10.0.0.2 repeated the requests for 2.0");
    text.ends(
        "until the server granted the lock or the client gave up. Client 10.0.0.1 held a lock on this file during 100 % of the refusals. Response times do not include this time.",
    );
    contended(20, 100, false).first(Rule::LockWaits);
    assert!(!contended(20, 100, true).rules().contains(&Rule::ErrorStatuses), "it is said once");
}

#[test]
fn a_lock_that_is_free_soon_or_asked_for_once_is_no_cause() {
    for (tries, pause_ms, why) in [(2, 900, "twice"), (20, 1, "20 ms in all")] {
        let traffic = contended(tries, pause_ms, true);
        assert!(!traffic.rules().contains(&Rule::LockWaits), "{why}: {:#?}", traffic.diagnosis());
    }
}

/// A program hangs, because another one does not release its lock.
#[test]
fn a_lock_that_is_never_granted_is_said_with_the_time_until_the_end() {
    let waiting = |seconds: &[i64]| {
        let mut traffic = contended(0, 0, false);
        let (share, path) = (traffic.name(DATA), traffic.name("jobs.lck"));
        traffic.pause(60_000 * MS);
        let end_ns = traffic.now_ns();
        let rows = seconds.iter().map(|seconds| Unfinished {
            server: Endpoint { ip: [10, 0, 1, b'1'].into(), port: 445 },
            client: [10, 0, 0, 2].into(),
            end: WaitEnd::CaptureLocked,
            end_ns,
            responded_ns: None,
            requests: 1,
            first_ns: end_ns - seconds * 1_000 * MS,
            last_ns: end_ns - seconds * 1_000 * MS,
            is_acknowledged: true,
            procedure: Procedure::of(Protocol::Smb2, 10),
            share,
            path,
        });
        traffic.coverage.unfinished = rows.collect();
        traffic
    };
    let text = waiting(&[30]).first(Rule::LockWaits);
    let expected = r"Clients waited at least 30.0 s in all for byte-range locks (1 LOCK request). This request still waited at the end of the capture. All of this time was for the file jobs.lck on share \\server1\data.";
    assert!(text.starts_with(expected), "{text}");
    waiting(&[30, 10])
        .first(Rule::LockWaits)
        .has(" 40.0 s in all for byte-range locks (2 LOCK requests). All of them still waited");
    assert!(!waiting(&[0]).rules().contains(&Rule::LockWaits), "the capture ended at once");
    let mut filtered = waiting(&[30]);
    filtered.filters = vec!["--client 10.0.0.1".to_owned()];
    assert!(!filtered.rules().contains(&Rule::LockWaits), "of all clients");
}
