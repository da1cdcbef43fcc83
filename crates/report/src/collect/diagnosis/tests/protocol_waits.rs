//! Waits that the protocol causes: for leases, for byte-range locks and for credits.

use plimsoll_model::{Procedure, Protocol};

use super::built::{MS, Says, Traffic, open};
use super::network::{traffic, varied};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

#[test]
fn opens_that_wait_for_leases_are_said() {
    let mut traffic = varied();
    (traffic.coverage.breaks.notified, traffic.coverage.breaks.opens, traffic.coverage.breaks.wait_ns) =
        (9, 8, 1_600_000_000);
    traffic
        .first(Rule::LeaseBreaks)
        .begins("8 open requests waited 200 ms each on average until a client gave up a lease or oplock: in total");
    (traffic.coverage.breaks.longest_ns, traffic.coverage.breaks.holder) = (900_000_000, Some([10, 0, 0, 7].into()));
    traffic
        .first(Rule::LeaseBreaks)
        .ends(" The longest wait, 900 ms, was for a lease or oplock, which client 10.0.0.7 held.");
    (traffic.coverage.breaks.is_longest_unanswered, traffic.coverage.breaks.unanswered) = (true, 3);
    traffic
        .first(Rule::LeaseBreaks)
        .has("10.0.0.7 held. The client neither acknowledged the break nor closed the file before the server answered");
    (traffic.coverage.unseen.paired, traffic.coverage.packets.dropped_at_least) = (1_000, 1);
    let text = traffic.first(Rule::LeaseBreaks);
    assert!(text.ends_with("which client 10.0.0.7 held."), "the acknowledgement may be missing: {text}");
    (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 900 * MS));
    traffic.first(Rule::LeaseBreaks);
    assert!(traffic.rules().contains(&Rule::ErrorStatuses), "how they ended is said behind it");
}

/// Client 1 locks a file for a second `times` times; client 2 waits for the lock each time, except during the first `late_ms` ms.
fn locked(times: i64, late_ms: i64) -> Traffic {
    let mut traffic = varied();
    let lock = Procedure::of(Protocol::Smb2, 10);
    let request = |traffic: &mut Traffic, client, passed_ms: i64, took_ms: i64| {
        traffic.changed(lock, client, DATA, "ledger.dbf", passed_ms * MS, |t| {
            let began = t.timeline.response_last.map(|end| end - took_ms * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
            t.long_lived = took_ms > 5;
        });
    };
    for _ in 0..times {
        request(&mut traffic, 1, 10, 1);
        request(&mut traffic, 2, 1_000, 1_000 - late_ms);
        // The unlock of client 1, which is answered later.
        request(&mut traffic, 1, 1, 2);
    }
    traffic
}

#[test]
fn waits_for_byte_range_locks_are_said_with_the_file_and_the_holder() {
    let text = locked(20, 40).first(Rule::LockWaits);
    assert_eq!(
        text,
        r"Clients waited 19.2 s in all for byte-range locks (20 LOCK requests). All of this time was for the file ledger.dbf on share \\server1\data. Client 10.0.0.1 held a lock on this file during 99.9 % of this time. Response times and percentages of all time waited do not include these waits."
    );
    let short = locked(20, 960);
    assert!(!short.rules().contains(&Rule::LockWaits), "40 ms each: {:#?}", short.diagnosis());
    let once = locked(1, 850);
    assert!(!once.rules().contains(&Rule::LockWaits), "150 ms in all: {:#?}", once.diagnosis());
}

#[test]
fn clients_without_credits_are_said() {
    let mut held = varied();
    let credits = &mut held.coverage.credits;
    (credits.waits, credits.wait_ns, credits.busy_ns) = (900, 4_000_000_000, 5_000_000_000);
    credits.requests_ns = 20_000_000_000;
    let text = held.first(Rule::CreditsExhausted);
    text.begins("Clients ran out of SMB2 credits 900 times");
    text.has("The affected connections lacked credits for 80 % of the time in which");
    held.coverage.credits.waits = 49;
    assert!(!held.rules().contains(&Rule::CreditsExhausted), "at the beginning servers grant few");
}

#[test]
fn what_waits_by_design_is_not_blamed() {
    let [notify, lock] = [15, 10].map(|code| Procedure::of(Protocol::Smb2, code));
    let mut traffic = traffic(MS / 5);
    for client in 0..3 {
        for i in 0..20 {
            // Answered with STATUS_PENDING at once, and a minute later.
            traffic.changed(notify, client, DATA, &format!("dir{i}"), 60_000 * MS, |t| t.long_lived = true);
        }
    }
    let healthy = |traffic: &Traffic| {
        let told = [Rule::Operation, Rule::Nothing, Rule::ServiceTime];
        traffic.rules().iter().all(|rule| told.contains(rule))
    };
    assert!(healthy(&traffic), "{:#?}", traffic.diagnosis());
    traffic.changed(lock, 1, DATA, "f", 60_000 * MS, |t| t.long_lived = true);
    assert_eq!(traffic.rules()[0], Rule::LockWaits, "a lock is named with its file");
}
