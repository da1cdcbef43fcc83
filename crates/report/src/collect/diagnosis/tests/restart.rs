//! Servers that restart.

use plimsoll_model::{Endpoint, Outcome, Procedure, Protocol, Restart};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

fn work(traffic: &mut Traffic) {
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
}

/// Work, a restart in its middle that closes `connections` connections, and work.
fn restarted(connections: u64, away_ns: u64) -> Traffic {
    let mut traffic = Traffic::new();
    work(&mut traffic);
    restart(&mut traffic, connections, away_ns);
    traffic
}

fn restart(traffic: &mut Traffic, connections: u64, away_ns: u64) {
    traffic.coverage.restarts = vec![Restart {
        server: Endpoint { ip: [10, 0, 1, b'1'].into(), port: 445 },
        closed_ns: (START_NS + 303 * MS, START_NS + 313 * MS),
        connections,
        clients: connections,
        back: connections,
        back_after_ns: (away_ns / 2, away_ns),
        away_ns: away_ns * connections,
    }];
}

#[test]
fn a_server_that_closed_all_connections_at_once_restarted() {
    let mut traffic = restarted(3, 2_000_000_000);
    work(&mut traffic);
    let text = traffic.first(Rule::Restart);
    assert_eq!(
        text,
        "Server 10.0.1.49:445 or its file service restarted: at 2023-11-14 22:13:20 UTC, it closed 3 connections of 3 clients within \
         10.0 ms. 3 clients connected again, 1.00 s to 2.00 s later. Response times do not include this time."
    );
    assert!(!restarted(1, 2_000_000_000).rules().contains(&Rule::Restart), "one connection");
    assert!(!restarted(2, 4_000_000).rules().contains(&Rule::Restart), "nobody feels it");
    let mut filtered = restarted(3, 2_000_000_000);
    filtered.filters = vec!["--client 10.0.0.1".to_owned()];
    assert!(!filtered.rules().contains(&Rule::Restart));
}

#[test]
fn a_restart_stands_before_the_statuses_that_follow_from_it() {
    let mut traffic = restarted(1, 100_000_000);
    let read = Procedure::of(Protocol::Nfs4, 25);
    for i in 0..40 {
        traffic.changed(read, 1, DATA, "g", MS, |t| {
            if i < 30 {
                (t.status, t.outcome) = (Some(10_013), Outcome::of_status(read, 10_013));
            }
        });
    }
    traffic.first(Rule::Restart).ends(
        "1 client connected again, 100 ms later. Response times do not include this time. After that, 30 requests got 0x271d.",
    );
    assert_eq!(traffic.rules()[1], Rule::Grace);
}

/// What is said of a restart after which a client got USER_SESSION_DELETED for a session: 7 is from before it, 8 from after it.
fn forgetful(connections: u64, share: &str, session: u64) -> String {
    let (mut traffic, logon) = (Traffic::new(), Procedure::of(Protocol::Smb2, 1));
    traffic.changed(logon, 1, DATA, "", MS, |t| t.session = Some(7));
    work(&mut traffic);
    restart(&mut traffic, connections, 100_000_000);
    traffic.changed(logon, 1, DATA, "", MS, |t| t.session = Some(8));
    for _ in 0..40 {
        traffic.changed(open(), 1, share, "g", MS, |t| {
            (t.status, t.outcome) = (Some(0xC000_0203), Outcome::of_status(open(), 0xC000_0203));
            t.session = Some(session);
        });
    }
    let mut statements = traffic.diagnosis().statements.into_iter();
    statements.find(|one| one.rule == Rule::Restart).map(|one| one.text).unwrap_or_default()
}

#[test]
fn only_what_the_same_server_had_before_is_forgotten_in_a_restart() {
    let (then, other) = ("After that, 40 requests got 0xc0000203.", r"\\server2\data");
    assert!(forgetful(1, DATA, 7).ends_with(then), "{}", forgetful(1, DATA, 7));
    assert_eq!(forgetful(1, DATA, 8), "", "a session that the server made later");
    assert_eq!(forgetful(1, DATA, 9), "", "one connection, and it is not known when the session was made");
    assert_eq!(forgetful(1, other, 7), "", "another server");
    assert!(forgetful(2, DATA, 9).ends_with(then), "{}", forgetful(2, DATA, 9));
    for (share, session) in [(DATA, 8), (other, 7)] {
        forgetful(2, share, session).ends("Response times do not include this time.");
    }
}

#[test]
fn stale_handles_and_one_closed_connection_show_no_restart() {
    let read = Procedure::of(Protocol::Nfs3, 6);
    let rules = |connections: u64| {
        let mut traffic = restarted(connections, 100_000_000);
        for _ in 0..40 {
            traffic.changed(read, 1, DATA, "g", MS, |t| {
                (t.status, t.outcome) = (Some(70), Outcome::of_status(read, 70));
            });
        }
        traffic.rules()
    };
    assert!(!rules(1).contains(&Rule::Restart), "somebody may have removed the file");
    assert!(rules(2).contains(&Rule::Restart));
}
