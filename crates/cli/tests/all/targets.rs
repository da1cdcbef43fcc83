//! Several servers in one run, each with its share of the clients; and targets that lead elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::{Samba, Scratch, Share};
use serde_json::Value;

use crate::{alone, code_and_text, samba, side_in};

const ACCOUNTS: usize = 50;

/// Runs `plimsoll`; returns exit code and output as one line.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = crate::plimsoll();
    command.args(arguments).current_dir(folder).env("PLIMSOLL_PASSWORD", Samba::PASSWORD);
    let (code, said) = code_and_text(&mut command);
    (code, said.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn side(folder: &Path, json: &str) -> Value {
    side_in(&folder.join(json))
}

/// Requests by server and user.
fn by_key(side: &Value) -> BTreeMap<String, u64> {
    assert_eq!(side["breakdown"]["dimensions"], serde_json::json!(["server", "user"]));
    let rows = side["breakdown"]["rows"].as_array().unwrap().iter();
    let key = |row: &Value| format!("{} {}", row["keys"][0].as_str().unwrap(), row["keys"][1].as_str().unwrap());
    rows.map(|row| (key(row), row["count"].as_u64().unwrap())).collect()
}

#[test]
fn two_servers_share_fifty_accounts() {
    let _alone = alone();
    let (Some(one), Some(two)) = (samba(&[]), samba(&[])) else { return };
    let scratch = Scratch::new("targets");
    let folder = scratch.path();
    let accounts = [&one, &two].map(|samba| samba.accounts(ACCOUNTS));
    assert_eq!(accounts[0], accounts[1]);
    fs::write(folder.join("accounts"), &accounts[0]).unwrap();
    let targets = [&one, &two].map(|samba| format!("smb://{}@{}/data", Samba::USER, samba.address()));
    let to = ["run", "random-read", "--target", &targets[0], "--target", &targets[1], "--accounts", "accounts"];
    let load = ["--clients", "50", "--think", "50ms", "--duration", "2s", "--warmup", "0s", "--seed", "4"];
    let outputs = ["--json", "run.json", "--html", "run.html", "--tap", "tap.pcapng", "--transactions", "run.csv"];
    let kept = ["--record", "run", "--full"];
    let (code, said) = plimsoll(folder, &[&to[..], &load, &outputs, &kept].concat());
    // 4: a busy machine.
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let run = side(folder, "run.json");
    let keys = by_key(&run);
    // Client by client the next server and the next account: each account is on one server.
    let server = |number: usize| [&one, &two][number % 2].address();
    let expected: Vec<String> = (0..ACCOUNTS).map(|number| format!("{} account{number}", server(number))).collect();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(keys.keys().cloned().collect::<Vec<_>>(), sorted, "{said}");
    let all: u64 = run["operations"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!(keys.values().sum::<u64>(), all);
    assert!(said.contains("By server,user"), "{said}");
    assert!(said.contains(&format!("{}, account", one.address())), "{}", said.split("By server,user").last().unwrap());
    assert!(fs::read_to_string(folder.join("run.html")).unwrap().contains("account49"));
    // The tap and the table agree, and both servers have the files.
    let analyze = |input: &str| {
        let arguments = ["analyze", input, "--by", "server,user", "--operation", "read", "--json", "read.json", "-q"];
        let (code, said) = plimsoll(folder, &arguments);
        assert_eq!(code, Some(0), "{said}");
        by_key(&side(folder, "read.json"))
    };
    assert_eq!(analyze(&crate::without_levels(folder, "run.csv")), analyze("tap.pcapng"));
    for samba in [&one, &two] {
        assert_eq!(fs::read_dir(samba.folder(Share::Data).unwrap()).unwrap().count(), 1, "{}", samba.address());
    }
    // A recorded run is repeated on both.
    let again = ["run", "--from", "run", "--json", "again.json", "-q"];
    let (code, said) = plimsoll(folder, &again);
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    assert_eq!(by_key(&side(folder, "again.json")).len(), ACCOUNTS);
    // A server that is not there is named.
    let gone = format!("smb://{}@127.0.0.1:9/data", Samba::USER);
    let (code, said) = plimsoll(folder, &["run", "null", "--target", &targets[0], "--target", &gone]);
    let named = format!("target {gone}: ");
    assert!(code == Some(3) && said.contains(&named) && said.contains("connection refused"), "{code:?} {said}");
}

/// Two addresses of one server, as of a cluster's nodes: one file set, which is made once and removed once.
#[test]
fn targets_that_show_the_same_directory_share_the_files() {
    let _alone = alone();
    let scratch = Scratch::new("targets-same");
    let mut serve = crate::plimsoll();
    serve.args(["serve", "nfs", "--listen", "127.0.0.1:0"]).current_dir(scratch.path());
    let mut server = Running::start(&mut serve).unwrap();
    let url = server.first_line().trim().to_owned();
    let other = url.replace("127.0.0.1", "localhost");
    for workload in ["random-read", "metadata"] {
        let run = ["run", workload, "--target", &url, "--target", &other, "--clients", "4", "--duration", "300ms"];
        let load = ["--warmup", "0s", "--json", "run.json", "--remove-files", "-q"];
        let (code, said) = plimsoll(scratch.path(), &[&run[..], &load].concat());
        assert!(matches!(code, Some(0 | 4)), "{code:?} {said}");
        let side = side(scratch.path(), "run.json");
        let (level, facts) = (&side["levels"][0], side["run"]["facts"].to_string());
        assert_eq!((&level["errors"], &level["failed"]), (&0.into(), &0.into()), "{level}");
        assert!(facts.contains("shows the same directory as"), "{facts}");
    }
}

#[test]
fn the_target_that_fails_is_named() {
    let scratch = Scratch::new("targets-failing");
    let run = ["run", "null", "--target", "smb://127.0.0.1:9/x", "--target", "smb://127.0.0.1:10/x"];
    let (code, said) = plimsoll(scratch.path(), &run);
    assert!(code == Some(3) && said.contains("10/x: target smb://127.0.0.1:9/x: "), "{code:?} {said}");
}

#[test]
fn targets_of_different_kinds_are_refused() {
    let scratch = Scratch::new("targets-kinds");
    for other in ["embedded:nfs", "file:///tmp"] {
        let run = ["run", "null", "--target", "embedded:smb", "--target", other];
        let (code, said) = plimsoll(scratch.path(), &run);
        assert!(code == Some(2) && said.contains("must be servers with the same protocol"), "{code:?} {said}");
    }
    let run = ["run", "null", "--target", "embedded:smb", "--target", "embedded:smb", "--duration", "1s"];
    let (code, said) = plimsoll(scratch.path(), &[&run[..], &["--warmup", "0s", "--json", "run.json"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{code:?} {said}");
    let run = side(scratch.path(), "run.json");
    assert_eq!(run["breakdown"]["rows"].as_array().map(Vec::len), Some(2), "{said}");
}

#[test]
fn a_dfs_link_is_refused_with_a_reason() {
    let _alone = alone();
    let Some(samba) = samba(&["[links]", "path = /", "msdfs root = yes", "[global]"]) else { return };
    let scratch = Scratch::new("targets-dfs");
    let link = samba.folder(Share::Data).unwrap().join("link");
    symlink(r"msdfs:elsewhere\data", &link).unwrap();
    let below = link.strip_prefix("/").unwrap().display().to_string();
    let target = format!("smb://{}@{}/links/{below}", Samba::USER, samba.address());
    let (code, said) = plimsoll(scratch.path(), &["run", "mixed", "--target", &target]);
    assert!(
        code == Some(3) && said.contains("the path is a DFS link") && !said.contains(Samba::PASSWORD),
        "{code:?} {said}"
    );
}
