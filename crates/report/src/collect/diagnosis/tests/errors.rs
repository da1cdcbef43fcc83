//! Statuses that mean trouble.

use plimsoll_model::{ClientPath, Outcome, Procedure, Protocol, Symbol};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

pub(super) fn healthy() -> Traffic {
    let mut traffic = Traffic::new();
    (0..1_000).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
    traffic
}

pub(super) fn session() -> Procedure {
    Procedure::of(Protocol::Smb2, 1)
}

/// A healthy server, and `count` refused connections to a share; `client` gives the client of each.
pub(super) fn refused(count: u8, client: impl Fn(u8) -> u8) -> Traffic {
    let (mut traffic, connect) = (healthy(), Procedure::of(Protocol::Smb2, 3));
    for i in 0..count {
        traffic.changed(connect, client(i), DATA, "", MS, |t| {
            (t.status, t.outcome) = (Some(0xC000_0022), plimsoll_model::Outcome::Refused);
        });
    }
    traffic
}

#[test]
fn what_is_ordinary_is_no_trouble() {
    let mut traffic = healthy();
    (0..400).for_each(|_| traffic.error(open(), 0xC000_0034, MS));
    (0..9).for_each(|_| traffic.error(open(), 0xC000_0043, MS));
    (0..40).for_each(|_| traffic.error(open(), 0xC000_0022, MS));
    (0..4).for_each(|_| traffic.error(session(), 0xC000_006D, 9 * MS));
    assert!(!traffic.rules().contains(&Rule::ErrorStatuses), "{:#?}", traffic.diagnosis());
}

#[test]
fn a_full_disk_is_said_first() {
    let mut traffic = healthy();
    let write = Procedure::of(Protocol::Smb2, 9);
    (0..12).for_each(|_| traffic.error(write, 0xC000_007F, MS));
    let text = traffic.first(Rule::ErrorStatuses);
    text.begins("12 write requests got 0xc000007f: the file system of the server is full");
    text.has(
        r"All 12 requests were from client 10.0.0.1, for a.txt on share \\server1\data. The first: 2023-11-14 22:13:",
    );
}

#[test]
fn delays_are_said_where_there_are_many() {
    let (mut few, mut many) = (healthy(), healthy());
    let write = Procedure::of(Protocol::Nfs3, 7);
    [&mut few, &mut many]
        .into_iter()
        .for_each(|traffic| (0..300).for_each(|_| traffic.request(write, 1, DATA, "f", MS)));
    (0..19).for_each(|_| few.error(write, 10_008, MS / 10));
    assert!(!few.rules().contains(&Rule::ErrorStatuses));
    (0..20).for_each(|_| many.error(write, 10_008, MS / 10));
    many.first(Rule::ErrorStatuses).has("asks clients to try again later");
}

#[test]
fn pauses_before_clients_try_again_are_added_up() {
    let retried = |pause_ms: i64| {
        let (mut traffic, write) = (healthy(), Procedure::of(Protocol::Nfs3, 7));
        for _ in 0..20 {
            traffic.error(write, 10_008, MS);
            traffic.pause(pause_ms * MS);
        }
        traffic.error(write, 0, MS);
        traffic.first(Rule::ErrorStatuses)
    };
    retried(5_000).has(
        "Clients repeated 20 of these requests for the same file or folder, 5.00 s later on average. Response times and percentages of all time waited do not include these pauses (100 s in all).",
    );
    assert!(!retried(1).contains("in all"), "pauses that nobody notices");
}

#[test]
fn conflicts_that_programs_try_again_after_come_before_what_little_is_slow() {
    let retried = |pause_ms: i64| {
        let mut traffic = Traffic::new();
        for i in 0..300 {
            traffic.request(read(), 2, DATA, &format!(r"dir{}\f", i % 2), if i % 2 == 0 { 8 * MS } else { MS });
        }
        for _ in 0..30 {
            traffic.error(open(), 0xC000_0043, MS);
            traffic.pause(pause_ms * MS);
        }
        traffic.rules()
    };
    assert_eq!(retried(600)[..2], [Rule::ErrorStatuses, Rule::SlowPath]);
    assert_eq!(retried(15_000)[0], Rule::SlowPath, "15 s later users may try again themselves");
}

#[test]
fn conflicts_are_said_where_clients_wait_for_them() {
    let mut traffic = healthy();
    (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
    let text = traffic.first(Rule::ErrorStatuses);
    text.has(
        "other clients, the client itself or a program on the server have the files open, or hold locks on them. Clients \
             waited 7.60 s for these responses: 88 %",
    );
}

#[test]
fn a_client_that_is_alone_in_the_capture_may_hold_the_files_itself() {
    let said = |client: u8, filters: &[&str], paths: &[u8]| {
        let mut traffic = Traffic::new();
        (0..100).for_each(|_| traffic.request(read(), client, DATA, "f", MS));
        (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
        traffic.filters = filters.iter().map(|&filter| filter.to_owned()).collect();
        let paths = paths.iter().map(|&client| ClientPath::new([10, 0, 0, client].into()));
        traffic.coverage.client_paths = paths.collect();
        traffic.first(Rule::ErrorStatuses)
    };
    said(1, &[], &[1]).has("got 0xc0000043: the files are open, or locked. No other client is in the capture");
    let other = said(2, &[], &[]);
    other.has("other clients, the client itself or a program on the server have");
    said(1, &[], &[1, 2]).has("other clients, the client itself or a program on the server have");
    said(1, &["--client 10.0.0.1"], &[]).has("other clients, the client itself or a program on the server have");
}

/// Client 9 connected before the capture began, so the share of its requests is not known. A logon is for none.
#[test]
fn a_client_at_an_unknown_share_may_hold_the_files() {
    let said = |procedure: Procedure| {
        let mut traffic = Traffic::new();
        for (client, share) in [(1, DATA), (3, r"\\server1\other")] {
            (0..100).for_each(|_| traffic.request(read(), client, share, "f", MS));
        }
        traffic.changed(procedure, 9, DATA, "g", MS, |t| t.share = Symbol::NONE);
        (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
        traffic.first(Rule::ErrorStatuses)
    };
    said(session()).has("No other client in the capture uses the same share");
    said(read()).has("other clients, the client itself or a program on the server have");
}

/// Each client has a separate share, as in NetBench: then the status does not come from other clients that the capture shows.
#[test]
fn a_client_that_is_alone_at_its_share_may_hold_the_files_itself() {
    let said = |status: u32, shares: [&str; 2], filters: &[&str]| {
        let mut traffic = Traffic::new();
        for (client, share) in (1..).zip(shares) {
            (0..100).for_each(|_| traffic.request(read(), client, share, "f", MS));
            for _ in 0..20 {
                traffic.changed(open(), client, share, "f", MS / 10, |t| {
                    (t.status, t.outcome) = (Some(status), Outcome::of_status(open(), status));
                });
            }
        }
        traffic.filters = filters.iter().map(|&filter| filter.to_owned()).collect();
        let statements = traffic.diagnosis().statements;
        statements.into_iter().find(|one| one.rule == Rule::ErrorStatuses).unwrap().text
    };
    let separate = [r"\\server1\one", r"\\server1\two"];
    for (status, may) in [(0xC000_0043, "may have opened them"), (0xC000_0054, "may hold the locks")] {
        let alone = said(status, separate, &[]);
        let expected = format!("No other client in the capture uses the same share: the client itself {may}, or a");
        assert!(alone.contains(&expected), "{alone}");
        for (shares, filters) in [([separate[0]; 2], &[] as &[&str]), (separate, &["--share data"])] {
            said(status, shares, filters).has("other clients, the client itself or a program on the server");
        }
    }
}

#[test]
fn sessions_that_a_client_ended_itself_are_not_called_ended_by_the_server() {
    let said = |ends: bool| {
        let mut traffic = healthy();
        let commands: &[u16] = if ends { &[1, 2] } else { &[1] };
        for &command in commands {
            traffic.changed(Procedure::of(Protocol::Smb2, command), 1, DATA, "", MS, |t| t.session = Some(7));
        }
        for _ in 0..2 {
            traffic.changed(open(), 1, DATA, "a.txt", MS, |t| {
                (t.status, t.outcome) = (Some(0xC000_0203), Outcome::of_status(open(), 0xC000_0203));
                t.session = Some(7);
            });
        }
        traffic.first(Rule::ErrorStatuses)
    };
    said(true).has("got 0xc0000203: the client itself had ended the session (LOGOFF)");
    said(false).has("does not accept the session or share that the requests name");
}

#[test]
fn a_connection_that_a_server_does_not_accept_is_no_lack_of_memory() {
    let mut traffic = healthy();
    (0..10).for_each(|_| traffic.error(session(), 0xC000_00D0, MS));
    traffic
        .first(Rule::ErrorStatuses)
        .has("10 session requests got 0xc00000d0: the server accepts no further connection.");
}

/// Two clients ask for a lock file again and again, `tries` times each; then the `second` request is answered with success, if any. They
/// make `others` files between.
fn locked(procedure: Procedure, tries: usize, success_at: usize, others: usize) -> Traffic {
    let mut traffic = healthy();
    for i in 0..tries {
        for client in [1, 2] {
            traffic.changed(procedure, client, DATA, "inbox.lock", MS, |t| {
                let status = if i == success_at { 0 } else { 17 };
                (t.status, t.outcome) = (Some(status), Outcome::of_status(procedure, status));
            });
            (0..others).for_each(|other| traffic.request(procedure, client, DATA, &format!("n{i}.{other}"), MS));
        }
        traffic.pause(80 * MS);
    }
    traffic
}

#[test]
fn a_lock_file_that_no_program_deletes_comes_first() {
    let create = Procedure::of(Protocol::Nfs3, 8);
    let text = locked(create, 100, usize::MAX, 0).first(Rule::ErrorStatuses);
    text.begins(
        "Clients try again and again to create a file that already exists: 200 create requests for inbox.lock on share \\\\server1\\data got 0x11, from 2023-11-14 22:13:2",
    );
    text.has("Client 10.0.0.1 sent 100, client 10.0.0.2 sent 100, one every 82.0 ms on average.");
    text.has("This file is probably a lock file that no program deletes");
    let is_said = |traffic: &Traffic| traffic.rules().contains(&Rule::ErrorStatuses);
    assert!(!is_said(&locked(create, 100, 50, 0)), "it was removed after 4 s");
    assert!(!is_said(&locked(create, 100, usize::MAX, 2)), "programs carry on");
    assert!(!is_said(&locked(Procedure::of(Protocol::Nfs3, 9), 100, usize::MAX, 0)), "a directory");
}

#[test]
fn refusals_are_said_where_they_are_a_storm() {
    let mut traffic = healthy();
    (0..60).for_each(|_| traffic.error(open(), 0xC000_0022, MS));
    traffic.first(Rule::ErrorStatuses).has("for which they have no permission");
}

#[test]
fn logons_that_are_refused_again_and_again_name_the_client() {
    let mut traffic = healthy();
    (0..5).for_each(|_| traffic.error(session(), 0xC000_006D, 9 * MS));
    let text = traffic.first(Rule::ErrorStatuses);
    text.begins("5 session requests got 0xc000006d: the server refuses logons again and again");
    text.has("requests were from client 10.0.0.1");
    // Of many clients each mistypes once.
    let mut many = healthy();
    (0..400).for_each(|_| many.request(session(), 9, DATA, "", MS));
    for client in 1..=8 {
        many.changed(session(), client, DATA, "", MS, |t| {
            (t.status, t.outcome) = (Some(0xC000_006D), plimsoll_model::Outcome::Refused);
        });
    }
    assert!(!many.rules().contains(&Rule::ErrorStatuses), "{:#?}", many.diagnosis());
}

#[test]
fn few_stale_handles_are_trouble_where_hardly_anything_else_is_asked() {
    let mut traffic = healthy();
    let getattr = Procedure::of(Protocol::Nfs3, 1);
    (0..5).for_each(|_| traffic.error(getattr, 70, MS));
    traffic.first(Rule::ErrorStatuses).has("handles of files that no longer exist");
    (0..100).for_each(|_| traffic.request(getattr, 1, DATA, "f", MS));
    assert!(!traffic.rules().contains(&Rule::ErrorStatuses), "5 of 105");
}

#[test]
fn of_two_troubles_the_one_that_more_requests_met_comes_first() {
    let mut traffic = refused(30, |_| 7);
    traffic.error(Procedure::of(Protocol::Smb2, 3), 0xC000_00C9, MS / 10);
    let diagnosis = traffic.diagnosis();
    let texts: Vec<&str> = diagnosis.statements.iter().map(|one| one.text.as_str()).collect();
    assert!(texts[0].starts_with("30 session requests got 0xc0000022"), "{texts:#?}");
    assert!(texts[1].starts_with("1 session request got 0xc00000c9"), "{texts:#?}");
}

#[test]
fn the_end_of_a_share_that_a_client_did_not_get_is_no_cause() {
    let [tree_connect, tree_disconnect, logoff] = [3, 4, 2].map(|command| Procedure::of(Protocol::Smb2, command));
    let mut traffic = healthy();
    traffic.error(tree_disconnect, 0xC000_00C9, MS / 10);
    traffic.error(logoff, 0xC000_00C9, MS / 10);
    assert!(!traffic.rules().contains(&Rule::ErrorStatuses), "{:#?}", traffic.diagnosis());
    traffic.error(tree_connect, 0xC000_00CC, MS / 10);
    traffic.error(tree_disconnect, 0xC000_00C9, MS / 10);
    let said = |traffic: &Traffic| {
        let statements = traffic.diagnosis().statements;
        statements.into_iter().find(|one| one.rule == Rule::ErrorStatuses).map(|one| one.text).unwrap_or_default()
    };
    said(&traffic).begins("1 session request got 0xc00000cc: the server has no share of the name");
    assert_ne!(traffic.rules()[0], Rule::ErrorStatuses, "a wrong name makes nothing slow");
    // The server removed the share.
    traffic.error(open(), 0xC000_00C9, MS / 10);
    assert!(said(&traffic).contains("open request got 0xc00000c9"), "{:#?}", traffic.diagnosis());
}

#[test]
fn few_slow_requests_that_an_error_explains_are_said_once() {
    let mut traffic = healthy();
    (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
    let of = |traffic: &Traffic, rule| traffic.rules().iter().filter(|one| **one == rule).count();
    assert_eq!((of(&traffic, Rule::ErrorStatuses), of(&traffic, Rule::FewSlowRequests)), (1, 0));
    // Other requests that took as long succeeded: the error does not explain them.
    (0..12).for_each(|_| traffic.request(open(), 1, DATA, "b.txt", 950 * MS));
    assert_eq!(
        (of(&traffic, Rule::ErrorStatuses), of(&traffic, Rule::FewSlowRequests)),
        (1, 1),
        "{:#?}",
        traffic.diagnosis()
    );
}

#[test]
fn answers_in_one_message_are_waited_for_once() {
    let mut traffic = healthy();
    let write = Procedure::of(Protocol::Smb2, 9);
    (0..12).for_each(|_| traffic.error(write, 0xC000_007F, 10 * MS));
    for position in 1..3 {
        (0..12).for_each(|_| {
            traffic.changed(write, 1, DATA, "a.txt", 10 * MS, |t| {
                (t.status, t.outcome) = (Some(0xC000_007F), Outcome::of_status(write, 0xC000_007F));
                t.compound_position = Some(position);
            });
        });
    }
    let text = traffic.first(Rule::ErrorStatuses);
    text.begins("36 write requests got");
    text.has("Clients waited 120 ms for these responses");
}

#[test]
fn trouble_of_a_few_does_not_stand_before_what_clients_wait_for() {
    let mut traffic = healthy();
    let write = Procedure::of(Protocol::Smb2, 9);
    (0..200).for_each(|_| traffic.request(write, 1, DATA, "c.txt", MS));
    (0..4).for_each(|_| traffic.error(write, 0xC000_007F, MS));
    assert!(traffic.first(Rule::ErrorStatuses).starts_with("4 write requests got"), "nothing else is wrong");
    (0..40).for_each(|_| traffic.request(Procedure::of(Protocol::Smb2, 8), 2, r"\\server2\slow", "d.txt", 400 * MS));
    let rules = traffic.rules();
    assert!(rules.contains(&Rule::ErrorStatuses) && rules[0] != Rule::ErrorStatuses, "{:#?}", traffic.diagnosis());
}

/// Clients 5 and 6 write `files` files of 1 MB; then the disk is full for client 6, and client 7 continues.
fn filled(files: [usize; 2]) -> String {
    let (mut traffic, write) = (healthy(), Procedure::of(Protocol::Smb2, 9));
    let mut written = |client: u8, status: u32| {
        traffic.changed(write, client, DATA, &format!("f{client}"), MS, |t| {
            t.payload_bytes = Some(1_000_000);
            (t.status, t.outcome) = (Some(status), Outcome::of_status(write, status));
        });
    };
    (0..files[0]).for_each(|_| written(5, 0));
    (0..files[1]).for_each(|_| written(6, 0));
    (0..6).for_each(|_| written(6, 0xC000_007F));
    (0..300).for_each(|_| written(7, 0xC000_007F));
    traffic.first(Rule::ErrorStatuses)
}

#[test]
fn the_client_that_wrote_most_before_a_disk_was_full_is_named() {
    let text = filled([90, 10]);
    text.has(
        "In this capture, client 10.0.0.5 had written the most data (90 % of 100 MB) before server 10.0.1.49 sent the first of \
            these responses.",
    );
    assert!(!filled([60, 40]).contains("had written the most data"), "two of them");
    assert!(!filled([0, 40]).contains("had written the most data"), "no other client to compare with");
}
