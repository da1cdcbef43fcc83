//! That no cause stands out, and what was compared.

use plimsoll_model::{ClientPath, Outcome, Procedure, Protocol, Symbol, Transaction};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// So many opens, reads and writes, 1 ms each, of several clients to several shares and files.
fn even(requests: usize, several: usize, change: impl Fn(usize, &mut Transaction)) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..requests {
        let procedure = [open(), read(), Procedure::of(Protocol::Smb2, 9)][i % 3];
        let one = i / 3 % several;
        traffic.changed(procedure, one as u8, &format!("{DATA}{one}"), &format!("{one}.txt"), MS, |t| change(i, t));
    }
    traffic
}

fn said(traffic: &Traffic) -> String {
    let diagnosis = traffic.diagnosis();
    diagnosis.statements.iter().find(|one| one.rule == Rule::Nothing).unwrap().text.clone()
}

const BEGIN: &str = "No single cause stands out. Checked and not found: ";

#[test]
fn nothing_is_said_of_shares_and_paths_that_are_not_known() {
    let said = |share: bool, path: bool| {
        said(&even(180, 3, |_, t| {
            if !share {
                t.share = Symbol::NONE;
            }
            if !path {
                t.path = Symbol::NONE;
            }
        }))
    };
    for (share, path, slow) in
        [(true, true, "clients, shares or paths"), (true, false, "clients or shares"), (false, false, "clients")]
    {
        let text = said(share, path);
        assert!(text.starts_with(&format!("{BEGIN}slow {slow}; a few")), "{text}");
    }
}

#[test]
fn what_was_not_compared_is_not_called_not_found() {
    let alone = said(&even(900, 1, |_, _| ()));
    assert_eq!(
        alone,
        format!(
            "{BEGIN}a few slow requests; bursts of slow requests; failed requests. Not compared: clients (only one), shares (only one), \
             paths (only one)."
        )
    );
    let mut unread = even(900, 1, |_, _| ());
    unread.coverage.client_paths = vec![ClientPath::new([10, 0, 0, 9].into())];
    said(&unread).has(" Not compared: clients (only one with known requests), shares (only one), ");
    let few = said(&even(90, 3, |_, _| ()));
    let not = "Not compared: clients (too few requests), shares (too few requests), paths (too few requests).";
    assert!(few.ends_with(not), "ten of each operation: {few}");
    let brief = said(&even(9, 1, |_, _| ()));
    assert!(!brief.contains("bursts"), "one of nine bins is more than a tenth of the time: {brief}");
}

/// Each file is used once: the directories are compared.
#[test]
fn directories_are_compared_where_files_have_few_requests() {
    let mut traffic = Traffic::new();
    for i in 0..180 {
        let procedure = [open(), read(), Procedure::of(Protocol::Smb2, 9)][i % 3];
        traffic.request(procedure, 1, DATA, &format!(r"dir{}\{i}", i / 3 % 3), MS);
    }
    let text = said(&traffic);
    assert!(text.starts_with(&format!("{BEGIN}slow paths; a few slow")), "{text}");
    text.ends(" Not compared: clients (only one), shares (only one).");
}

#[test]
fn what_was_seen_is_not_called_not_found() {
    let said = |refused: usize, retransmitted: u64, tcp_data: u64| {
        let mut traffic = even(180, 3, |i, t| {
            if i < refused {
                t.outcome = Outcome::Refused;
            }
        });
        (traffic.coverage.packets.retransmitted, traffic.coverage.packets.tcp_data) = (retransmitted, tcp_data);
        said(&traffic)
    };
    said(0, 0, 2_000).ends("; bursts of slow requests; retransmissions; failed requests.");
    assert!(said(0, 0, 0).ends_with("; bursts of slow requests; failed requests."), "no TCP segments were seen");
    let seen = said(1, 5, 2_000);
    let words = "Seen, but not a cause by any rule: 5 retransmitted TCP segments; 1 refused or failed request.";
    assert!(seen.ends_with(&format!("; bursts of slow requests. {words}")), "{seen}");
}
