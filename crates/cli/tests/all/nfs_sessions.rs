//! NFS 4.1 sessions in captures: their slots and connections are those of the run, and those that tshark sees.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use serde_json::Value;

use crate::{alone, available, side_in, text_of};

const CLIENTS: usize = 2;

fn plimsoll(folder: &Path, arguments: &[&str]) -> String {
    text_of(crate::plimsoll().args(arguments).current_dir(folder))
}

/// Drives the server with a tap; the findings.
fn drive(folder: &Path, target: &str, more: &[&str]) -> Value {
    let clients = CLIENTS.to_string();
    let load = ["run", "random-read", "--target", target, "--clients", &clients];
    let outputs = ["--seed", "3", "--json", "run.json", "--tap", "tap.pcapng", "--transactions", "run.csv", "--full"];
    let lasts = ["--warmup", "0s", "--duration", "1s"];
    let said = plimsoll(folder, &[&load[..], &lasts, &outputs, more].concat());
    let mut side = side_in(&folder.join("run.json"));
    side["said"] = said.into();
    side
}

/// The findings of a capture or table, with the text as `said`.
fn analyze(folder: &Path, input: &str) -> Value {
    let said = plimsoll(folder, &["analyze", input, "--json", "seen.json", "--html", "seen.html", "--full"]);
    let mut side = side_in(&folder.join("seen.json"));
    side["said"] = said.into();
    side
}

/// Requests and most slots in use of each session, by its ID.
type Sessions = BTreeMap<String, (u64, u64)>;

fn sessions(side: &Value) -> Sessions {
    let rows = side["slots"]["rows"].as_array().unwrap().iter();
    let of = |row: &Value| (row["requests"].as_u64().unwrap(), row["most_in_use"].as_u64().unwrap());
    rows.map(|row| (row["session_id"].as_str().unwrap().to_owned(), of(row))).collect()
}

/// The same by tshark; `None` without it.
fn by_tshark(folder: &Path, port: u16) -> Option<Sessions> {
    let mut command = Command::new("tshark");
    command.args(["-r", "tap.pcapng", "-d", &format!("tcp.port=={port},rpc"), "-Y", "nfs.opcode == 53"]);
    let fields = ["-e", "tcp.dstport", "-e", "nfs.session_id4", "-e", "nfs.slotid"];
    command.args(["-T", "fields"]).args(fields).args(["-E", "aggregator=;"]).current_dir(folder);
    let ran = command.output().ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (mut found, mut in_use) = (Sessions::new(), BTreeSet::new());
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let [to, ids, slots] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (ids, slots): (Vec<&str>, Vec<&str>) = (ids.split(';').collect(), slots.split(';').collect());
        assert_eq!(ids.len(), slots.len(), "one SEQUENCE in each message: {line}");
        for (id, slot) in ids.into_iter().map(|id| id.replace(':', "")).zip(slots) {
            let key = (id.clone(), slot.to_owned());
            if to != port.to_string() {
                in_use.remove(&key);
                continue;
            }
            in_use.insert(key);
            let now = in_use.iter().filter(|(session, _)| *session == id).count() as u64;
            let (requests, most) = found.entry(id).or_default();
            (*requests, *most) = (*requests + 1, now.max(*most));
        }
    }
    Some(found)
}

/// Drives a server with 2 slots per session, and with 8 requests that want one; then with enough slots.
fn slots_of(target: &str, port: u16) {
    let scratch = Scratch::new("nfs-slots");
    let folder = scratch.path();
    for (slots, depth) in [(2u64, "8"), (32, "4")] {
        drive(folder, &format!("{target}&slots={slots}"), &["--depth", depth]);
        let side = analyze(folder, "tap.pcapng");
        let rows = side["slots"]["rows"].as_array().unwrap();
        // A run also makes a session that asks for the server's limit.
        let busy: Vec<&Value> = rows.iter().filter(|row| row["requests"].as_u64() > Some(50)).collect();
        assert_eq!(busy.len(), CLIENTS, "{side}");
        for row in busy {
            let number = |name: &str| row[name].as_u64().unwrap();
            let seconds = |name: &str| row[name].as_f64().unwrap();
            assert_eq!((number("granted"), number("slots"), &row["partial"]), (slots, slots, &false.into()), "{row}");
            assert_eq!((&row["client"], &row["server"]), (&"127.0.0.1".into(), &"127.0.0.1".into()));
            let is_narrow = slots == 2;
            assert_eq!(number("most_in_use"), slots.min(depth.parse().unwrap()), "{row}");
            assert_eq!(seconds("all_in_use_s") > 0.0, is_narrow, "{row}");
            assert_eq!(number("waits") > 20, is_narrow, "{row}");
            assert!(seconds("all_in_use_s") <= seconds("elapsed_s") && seconds("wait_s") <= seconds("all_in_use_s"));
        }
        match by_tshark(folder, port) {
            Some(seen) => assert_eq!(sessions(&side), seen, "tshark sees the same"),
            None => crate::skip("needs tshark"),
        }
        let (said, page) = (side["said"].as_str().unwrap(), fs::read_to_string(folder.join("seen.html")).unwrap());
        assert!(said.contains("NFS 4.1 sessions") && said.contains("127.0.0.1 at 127.0.0.1, 0x"), "{said}");
        assert!(page.contains("NFS 4.1 sessions and the use of their slots"));
    }
}

/// Requests of each connection of the sessions with several, by the client's address.
fn connections(side: &Value) -> BTreeMap<String, u64> {
    let sessions = side["channels"]["sessions"].as_array().unwrap();
    let channels = sessions.iter().flat_map(|session| session["channels"].as_array().unwrap());
    channels.map(|one| (one["client"].as_str().unwrap().to_owned(), one["requests"].as_u64().unwrap())).collect()
}

/// Drives a server over four connections of each session.
fn connections_of(target: &str) {
    let scratch = Scratch::new("nfs-connections");
    let folder = scratch.path();
    let run = drive(folder, target, &["--depth", "8", "--connections", "4"]);
    let of_level = &run["levels"][0]["channels"];
    assert_eq!(of_level["sessions_with_several"], CLIENTS, "{run}");
    let said = run["said"].as_str().unwrap();
    assert!(said.contains("Sessions with several connections"), "{said}");
    let (driven, seen) = (analyze(folder, &crate::without_levels(folder, "run.csv")), analyze(folder, "tap.pcapng"));
    for side in [&driven, &seen] {
        assert_eq!(
            (&side["channels"]["sessions_with_several"], connections(side).len()),
            (&CLIENTS.into(), 4 * CLIENTS)
        );
    }
    assert_eq!(connections(&driven), connections(&seen), "the table of the run and the capture say the same");
    // The tap leaves out data of reads, and no snap length cut them.
    let said = seen["said"].as_str().unwrap();
    assert!(seen["packets"]["truncated"] == 0 && !said.contains("snap length"), "{said}");
    // Both tables of the capture have the sessions by the same numbers.
    let ids = |rows: &Value, name: &str| -> BTreeSet<String> {
        rows.as_array().unwrap().iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
    };
    let (several, all) = (ids(&seen["channels"]["sessions"], "id"), ids(&seen["slots"]["rows"], "session"));
    assert!(several.is_subset(&all), "{several:?} {all:?}");
}

#[test]
fn sessions_of_the_embedded_server() {
    let _alone = alone();
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let target = server.target_of_4(1, None);
    slots_of(&target, server.address().port());
    connections_of(&target);
}

#[test]
fn sessions_of_ganesha() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    for version in ["4.1", "4.2"] {
        let target = ganesha.target_of(Export::Data, version);
        slots_of(&target, ganesha.address().port());
        connections_of(&target);
    }
}
