//! Read delegations: granted, used, recalled and returned in runs on real servers, counted as tshark does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plimsoll_client::operation::{Access, Caching, Disposition};
use plimsoll_client::{FileKey, Operation, Reply};
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use serde_json::Value;

use crate::embedded::{Driven, connect, reached_by};
use crate::{alone, available, side_in, text_of};

/// Clients that read the files of all, and seldom write one of them.
const WORKLOAD: &str = r#"
name = "delegated"
description = "Files that several clients read, and seldom write"
[files]
count = 24
directories = 1
depth = 1
size = "64KiB"
shared = "by-all"
seed = 1
[load]
clients = 3
depth = 1
think = "5ms"
warmup = "0s"
duration = "3s"
[[iterations]]
name = "read"
weight = 100
on = "file"
steps = ["open", { read = { size = "4KiB", at = "random" } }, "close"]
[[iterations]]
name = "write"
weight = 1
on = "file"
steps = ["open", { write = { size = "4KiB", at = "random" } }, "close"]
"#;

fn plimsoll(folder: &Path, arguments: &[&str]) -> String {
    text_of(crate::plimsoll().args(arguments).current_dir(folder))
}

/// The report of a run of the workload, with a tap.
fn run(folder: &Path, target: &str) -> Value {
    fs::write(folder.join("delegated.toml"), WORKLOAD).unwrap();
    let tap = ["--tap", "tap.pcapng", "--seed", "3", "--json", "run.json"];
    plimsoll(folder, &[&["run", "delegated.toml", "--target", target][..], &tap].concat());
    side_in(&folder.join("run.json"))
}

fn fact(report: &Value, begins: &str) -> Option<String> {
    let facts = report["run"]["facts"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap());
    facts.into_iter().find(|fact| fact.starts_with(begins)).map(str::to_owned)
}

/// The numbers of a fact, in order.
fn numbers(fact: &str) -> Vec<u64> {
    fact.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The delegations in the capture of a run: those granted, recalled and returned, opens without one, and the report's text.
fn analyzed(folder: &Path) -> ([u64; 4], String) {
    let text = plimsoll(folder, &["analyze", "tap.pcapng", "--json", "seen.json", "--html", "page.html", "--full"]);
    let side = side_in(&folder.join("seen.json"));
    let rows = side["delegations"]["rows"].as_array().cloned().unwrap_or_default();
    let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
    assert_eq!(sum("granted_write"), 0);
    assert!(rows.iter().all(|row| row["partial"] == false), "every message was read: {rows:?}");
    (["granted_read", "recalled", "returned", "refused"].map(sum), text)
}

/// Granted read delegations, recalls and returns of a capture by tshark; `None` without tshark.
fn tshark(folder: &Path, port: u16) -> Option<[u64; 3]> {
    let mut command = Command::new("tshark");
    command.args(["-r", "tap.pcapng", "-d", &format!("tcp.port=={port},rpc"), "-T", "fields"]);
    let fields = ["-e", "nfs.open.delegation_type", "-e", "nfs.cb.operation", "-e", "nfs.opcode"];
    let ran = command.args(fields).args(["-E", "aggregator=;"]).current_dir(folder).output().ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = String::from_utf8(ran.stdout).unwrap();
    let count = |field: usize, value: &str| {
        let fields = lines.lines().filter_map(|line| line.split('\t').nth(field));
        fields.flat_map(|values| values.split(';')).filter(|found| *found == value).count() as u64
    };
    // OPEN_DELEGATE_READ; CB_RECALL and DELEGRETURN, each in a call and in its answer.
    Some([count(0, "1"), count(1, "4") / 2, count(2, "8") / 2])
}

fn open(client: &mut Driven, access: Access, disposition: Disposition) -> FileKey {
    match client.act(&Operation::Open { path: "file", access, disposition, caching: Caching::None }) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{other:?}"),
    }
}

/// The rows of requests that are counted, by name.
fn counted(client: &mut Driven) -> Vec<String> {
    client.seen.transactions.drain(..).filter(|row| row.counted).map(|row| row.procedure.name()).collect()
}

/// The holder has nothing to do when the server recalls.
#[test]
fn another_client_writes_as_soon_as_the_delegation_is_returned() {
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let (plain, wanting) = (server.target_of_4(1, None), format!("{}&delegations=yes", server.target_of_4(1, None)));
    let [plain, wanting] = [plain, wanting].map(|target| reached_by(&target, &ConnectOptions::default()));
    let mut writer = connect(&*plain);
    let made = open(&mut writer, Access::Write, Disposition::Create);
    assert!(writer.act(&Operation::Close { file: made }).is_ok());
    let mut holder = connect(&*wanting);
    let file = open(&mut holder, Access::Read, Disposition::Open);
    counted(&mut holder);
    let second = open(&mut holder, Access::Read, Disposition::Open);
    assert!(holder.act(&Operation::Close { file: second }).is_ok());
    assert_eq!(counted(&mut holder), [""; 0]);
    let writes = std::thread::spawn(move || {
        open(&mut writer, Access::Write, Disposition::Open);
        counted(&mut writer)
    });
    while !writes.is_finished() {
        holder.run_for(Duration::from_millis(10));
    }
    let asked = writes.join().unwrap();
    assert!(asked.iter().filter(|name| *name == "OPEN").count() >= 2, "DELAY, so it asks again: {asked:?}");
    assert_eq!(counted(&mut holder), ["DELEGRETURN"]);
    let third = open(&mut holder, Access::Read, Disposition::Open);
    for file in [file, third] {
        assert!(holder.act(&Operation::Close { file }).is_ok());
    }
    assert_eq!(counted(&mut holder), ["OPEN", "CLOSE", "CLOSE"]);
    assert!(holder.leave().is_ok());
    drop(holder);
    let facts = wanting.facts();
    assert!(facts.iter().any(|fact| fact == "back channel"), "{facts:?}");
    let said = "delegations: 1 granted, 1 recalled, 1 returned (1 opens used a delegation and needed no request)";
    assert!(facts.iter().any(|fact| fact == said), "{facts:?}");
}

#[test]
fn delegations_of_the_embedded_server_are_used_and_recalled() {
    let _alone = alone();
    let scratch = Scratch::new("delegations");
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let report = run(scratch.path(), &format!("{}&delegations=yes", server.target_of_4(1, None)));
    let [granted, recalled, returned, used] = numbers(&fact(&report, "delegations: ").unwrap())[..] else { panic!() };
    assert!(granted > 0 && used > granted && recalled > 0 && recalled <= returned, "{report}");
    assert_eq!(granted, returned, "each was returned, at the latest when its client left");
    assert_eq!(fact(&report, "delegations not returned: "), None);
    assert_eq!(fact(&report, "delegation recalls refused: "), None);
    let [answered, ..] = numbers(&fact(&report, "delegation recalls: ").unwrap())[..] else { panic!() };
    assert!(answered <= recalled, "{report}");
    let failures = report["levels"][0]["failures"].as_array().unwrap();
    assert!(failures.is_empty(), "the clients that had to wait did not fail: {report}");
    let ([seen_granted, seen_recalled, seen_returned, _], text) = analyzed(scratch.path());
    assert_eq!([seen_granted, seen_recalled, seen_returned], [granted, recalled, returned], "the capture has the same");
    assert!(text.contains("NFS 4 delegations") && text.contains("127.0.0.1 at 127.0.0.1"), "{text}");
    let page = fs::read_to_string(scratch.path().join("page.html")).unwrap();
    assert!(page.contains("NFS 4 delegations"));
    match tshark(scratch.path(), server.address().port()) {
        Some(seen) => assert_eq!(seen, [granted, recalled, returned], "tshark counts the same"),
        None => crate::skip("needs tshark"),
    }
}

/// Debian's Ganesha has no backend with delegations, so it grants none whatever its configuration says.
#[test]
fn a_server_that_grants_no_delegation_is_said_to_grant_none() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    for version in ["4.1", "4.2"] {
        let scratch = Scratch::new("no-delegations");
        let target = format!("{}&delegations=yes", ganesha.target_of(Export::Data, version));
        let report = run(scratch.path(), &target);
        let said = fact(&report, "delegations: ").unwrap();
        assert_eq!(
            said,
            "delegations: 0 granted, 0 recalled, 0 returned (0 opens used a delegation and needed no request)"
        );
        let ([granted, recalled, returned, refused], _) = analyzed(scratch.path());
        assert_eq!(([granted, recalled, returned], refused > 0), ([0; 3], true));
    }
}

#[test]
fn what_has_no_delegations_is_refused() {
    for (arguments, says) in [
        (&["--target", "embedded:nfs?version=3&delegations=yes"][..], "need NFS 4.1 or 4.2"),
        (&["--target", "nfs://127.0.0.1:1/x?version=4.0&delegations=yes"], "need NFS 4.1 or 4.2"),
        (
            &["--target", "embedded:nfs?version=4.1&delegations=yes", "--depth", "2", "--connections", "2"],
            "one connection per client",
        ),
    ] {
        let ran = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["run", "random-read"]).args(arguments));
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code() == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
}
