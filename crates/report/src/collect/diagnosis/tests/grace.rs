//! Grace periods of servers.

use plimsoll_model::{Outcome, Procedure, Protocol};

use super::built::{MS, Says, Traffic};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";
const GRACE: u32 = 10_013;
/// NFS4ERR_DELAY.
const DELAY: u32 = 10_008;

/// Opens; then two clients, each at its share, open the same file five times: the first four times they get this status.
fn refused(status: u32, shares: [&str; 2], pause_ms: i64) -> Traffic {
    let (mut traffic, open) = (Traffic::new(), Procedure::of(Protocol::Nfs4, 18));
    (0..1_000).for_each(|i| traffic.request(open, 1, DATA, &format!("f{}", i % 90), MS));
    for i in 0..5 {
        for (client, share) in (1..).zip(shares) {
            traffic.changed(open, client, share, "g", MS, |t| {
                let status = if i < 4 { status } else { 0 };
                (t.status, t.outcome) = (Some(status), Outcome::of_status(open, status));
            });
        }
        traffic.pause(pause_ms * MS);
    }
    traffic
}

#[test]
fn a_grace_period_that_clients_waited_for_is_said_with_its_time_and_its_clients() {
    let text = refused(GRACE, [DATA; 2], 500).first(Rule::Grace);
    assert_eq!(
        text,
        "8 open requests got 0x271d: the status says that the server was in its grace period, after a start or a failover. In this \
         period, clients may reclaim their earlier opens and locks, but get no new ones. Check the length of this period in the \
         configuration of the server. Server 10.0.1.49 sent these responses to both clients (10.0.0.1, 10.0.0.2), from 2023-11-14 \
         22:13:21.011 UTC to 2023-11-14 22:13:22.518 UTC (1.51 s). Clients repeated 8 of these requests for the same file or folder, \
         501 ms later on average. Response times and percentages of all time waited do not include these pauses (4.01 s in all). All 8 \
         requests were for g on share \\\\server1\\data."
    );
}

#[test]
fn each_server_has_its_own_grace_period() {
    let text = refused(GRACE, [DATA, r"\\server2\data"], 500).first(Rule::Grace);
    text.has("Server 10.0.1.49 sent 4 of these responses to client 10.0.0.1, from 2023-11-14 22:13:21.011 UTC to ");
    text.has("Server 10.0.1.50 sent 4 of these responses to client 10.0.0.2, from 2023-11-14 22:13:21.012 UTC to ");
}

#[test]
fn a_few_responses_that_nobody_waited_for_are_no_cause() {
    assert!(!refused(GRACE, [DATA; 2], 1).rules().contains(&Rule::Grace), "16 ms in all");
    let delayed = refused(DELAY, [DATA; 2], 500).rules();
    assert!(!delayed.contains(&Rule::Grace) && !delayed.contains(&Rule::ErrorStatuses), "another status, and few");
}

#[test]
fn a_single_response_has_one_time() {
    let (mut traffic, open) = (Traffic::new(), Procedure::of(Protocol::Nfs4, 18));
    (0..100).for_each(|i| traffic.request(open, 1, DATA, &format!("f{i}"), MS));
    traffic.changed(open, 1, DATA, "g", 100 * MS, |t| {
        (t.status, t.outcome) = (Some(GRACE), Outcome::of_status(open, GRACE));
    });
    let text = traffic.first(Rule::Grace);
    text.has(" Server 10.0.1.49 sent this response to client 10.0.0.1, at 2023-11-14 22:13:20.201 UTC.");
}
