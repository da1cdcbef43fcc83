//! Refusals: from the beginning, or from an instant on for what worked before.

use plimsoll_model::{ClientPath, Outcome, Procedure, Protocol};

use super::built::{MS, Says, Traffic, open, read};
use super::errors::{healthy, refused, session};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

#[test]
fn a_program_that_is_refused_again_and_again_is_named() {
    let text = refused(20, |_| 7).first(Rule::ErrorStatuses);
    text.has("requests were from client 10.0.0.7");
    assert!(!refused(19, |_| 7).rules().contains(&Rule::ErrorStatuses));
    assert!(!refused(20, |i| i).rules().contains(&Rule::ErrorStatuses), "20 people, each once");
}

/// A Kerberos ticket ends after some hours, and the client logs on again.
#[test]
fn a_session_that_expires_is_no_trouble() {
    let mut traffic = healthy();
    (0..19).for_each(|_| traffic.error(open(), 0xC000_035C, MS));
    assert!(!traffic.rules().contains(&Rule::ErrorStatuses), "{:#?}", traffic.diagnosis());
    traffic.error(open(), 0xC000_035C, MS);
    let statements = traffic.diagnosis().statements;
    assert_ne!(statements[0].rule, Rule::ErrorStatuses, "it makes nothing slow");
    let text = statements.into_iter().find(|one| one.rule == Rule::ErrorStatuses).unwrap().text;
    text.begins("20 open requests got 0xc000035c: the logon of the session has expired");
}

/// Refusals of several operations are not counted against the requests for one of them.
#[test]
fn refusals_are_a_storm_only_if_they_are_a_tenth_of_an_operation() {
    let said = |lookups: usize, getattrs: usize| {
        let mut traffic = healthy();
        for (code, all, refused) in [(3, 400, lookups), (1, 4_000, getattrs)] {
            let procedure = Procedure::of(Protocol::Nfs3, code);
            for i in 0..all {
                traffic.changed(procedure, (i % 3) as u8, DATA, &format!("f{}", i % 90), MS, |t| {
                    if i % 400 < refused * 400 / all {
                        (t.status, t.outcome) = (Some(13), Outcome::of_status(procedure, 13));
                    }
                });
            }
        }
        traffic.rules().contains(&Rule::ErrorStatuses)
    };
    assert!(!said(30, 20), "7.5 % of the lookups, 0.5 % of the others, 1.1 % of both");
    assert!(said(60, 20), "15 % of the lookups, 1.8 % of both");
    assert!(said(60, 0), "15 % of the lookups");
}

/// 60 writes of each client to the share, followed by `refused` refusals with a status, and `later` successes.
fn refused_later(clients: u8, refused: usize, later: usize, path: impl Fn(usize) -> String) -> Traffic {
    let (mut traffic, write) = (healthy(), Procedure::of(Protocol::Nfs3, 7));
    for i in 0..60 {
        (4..4 + clients).for_each(|client| traffic.request(write, client, DATA, &path(i % 20), MS));
    }
    for i in 0..refused + later {
        for client in 4..4 + clients {
            traffic.changed(write, client, DATA, &path(if i < refused { 100 + i } else { i }), MS, |t| {
                if i < refused {
                    (t.status, t.outcome) = (Some(13), Outcome::of_status(write, 13));
                }
            });
        }
    }
    traffic
}

#[test]
fn a_refusal_that_begins_for_what_worked_before_is_said_with_its_instant() {
    let new = |i: usize| format!("new{i}");
    let text = refused_later(1, 24, 0, new).first(Rule::ErrorStatuses);
    text.begins("24 write requests got 0xd: clients repeat requests");
    text.has("At first, the server carried out 60 such requests from client 10.0.0.4. From 2023-11-14 22:13:");
    text.has(
        " on, it refused all such requests. Check what changed at that time: permissions, the options of the export",
    );
    assert!(!text.contains("were from client"), "{text}");
    refused_later(3, 4, 0, new)
        .first(Rule::ErrorStatuses)
        .has("carried out 180 such requests from 3 clients (10.0.0.4, 10.0.0.5, 10.0.0.6). From");
}

#[test]
fn a_few_refusals_of_one_client_need_to_be_for_what_it_had_used() {
    let rules = |traffic: Traffic| traffic.rules();
    assert!(!rules(refused_later(1, 12, 0, |i| format!("new{i}"))).contains(&Rule::ErrorStatuses), "protected files");
    assert!(rules(refused_later(1, 12, 0, |i| format!("old{}", i % 20))).contains(&Rule::ErrorStatuses));
    assert!(
        !rules(refused_later(1, 12, 12, |i| format!("old{}", i % 20))).contains(&Rule::ErrorStatuses),
        "it goes on"
    );
    assert!(!rules(refused_later(3, 6, 6, |i| format!("new{i}"))).contains(&Rule::ErrorStatuses), "half of them");
}

#[test]
fn an_account_that_can_no_longer_log_on_is_said_to_have_been_able_to() {
    let mut traffic = healthy();
    (0..6).for_each(|_| traffic.request(session(), 1, DATA, "", 9 * MS));
    (0..6).for_each(|_| traffic.error(session(), 0xC000_006D, 9 * MS));
    traffic.first(Rule::ErrorStatuses).has("the server carried out 6 such requests from client 10.0.0.1.");
    (0..2).for_each(|_| traffic.request(session(), 1, DATA, "", 9 * MS));
    assert!(!traffic.first(Rule::ErrorStatuses).contains("carried out"), "it can again");
}

#[test]
fn the_directory_of_all_refused_paths_is_named() {
    let inside = refused_later(1, 24, 0, |i| format!(r"projects\secret\new{i}")).first(Rule::ErrorStatuses);
    inside.has(r"All paths are in the directory projects\secret.");
    let outside = refused_later(1, 24, 0, |i| format!(r"projects{}\new{i}", i % 2)).first(Rule::ErrorStatuses);
    assert!(!outside.contains("directory"), "{outside}");
}

#[test]
fn refusals_of_several_users_in_one_directory_name_all_of_them() {
    let (mut traffic, write) = (healthy(), Procedure::of(Protocol::Nfs3, 7));
    for i in 0..90 {
        for client in 4..7 {
            // From the 60th on.
            let (is_refused, user) = (i >= 60, format!("100{client}"));
            traffic.changed_by(&user, write, client, DATA, &format!("hr/payroll/{}.csv", i % 20), MS, |t| {
                let status = if is_refused { 13 } else { 0 };
                (t.status, t.outcome) = (Some(status), Outcome::of_status(write, status));
            });
        }
    }
    let text = traffic.first(Rule::ErrorStatuses);
    text.has("such requests from 3 clients (10.0.0.4, 10.0.0.5, 10.0.0.6), users 1004, 1005, 1006. From");
    text.has(" All paths are in the directory hr/payroll.");
}

#[test]
fn a_server_that_refuses_what_needs_no_permission_cannot_verify_signatures() {
    let refused = |codes: [u16; 2]| {
        let mut traffic = healthy();
        for _ in 0..30 {
            codes.into_iter().for_each(|code| traffic.error(Procedure::of(Protocol::Smb2, code), 0xC000_0022, MS));
        }
        traffic.named_first(Rule::ErrorStatuses)
    };
    refused([3, 4]).has("the server probably cannot verify the signatures of requests");
    let text = refused([3, 3]);
    assert!(text.contains("for which they have no permission"), "TREE_CONNECT alone: {text}");
}

#[test]
fn errors_at_places_that_are_left_out_are_a_part_of_all_waiting() {
    let mut traffic = Traffic::new();
    (0..4_096).for_each(|i| traffic.request(read(), (i % 3) as u8, &format!(r"\\server1\s{i}"), "f", MS));
    (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
    traffic.first(Rule::ErrorStatuses).has("Clients waited 7.60 s for these responses: 65 % of all time waited.");
}

/// Of another client, the requests are encrypted: the capture has it, though no request of it is known.
#[test]
fn a_client_whose_requests_cannot_be_read_is_a_client_too() {
    let said = |client: u8, encrypted: u64, share: &str| {
        let mut traffic = Traffic::new();
        (0..100).for_each(|_| traffic.request(read(), 1, DATA, "f", MS));
        (0..100).for_each(|_| traffic.request(read(), 3, share, "f", MS));
        (0..8).for_each(|_| traffic.error(open(), 0xC000_0043, 950 * MS));
        traffic.coverage.client_paths = vec![ClientPath::new([10, 0, 0, client].into())];
        traffic.coverage.encrypted.messages = [encrypted, 0];
        traffic.first(Rule::ErrorStatuses)
    };
    let other_share = r"\\server1\other";
    let general = "other clients, the client itself or a program on the server have";
    said(1, 0, other_share).has("No other client in the capture uses the same share");
    for (client, encrypted) in [(2, 0), (1, 5)] {
        let text = said(client, encrypted, other_share);
        assert!(text.contains(general), "{text}");
    }
}
