//! Many accounts of one server: each client logs on as its own, and reports tell them apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plimsoll_testkit::servers::{Samba, Scratch, Share};
use serde_json::Value;

use crate::{alone, available, output_in};

const ACCOUNTS: usize = 50;

/// Reads of each user, in a capture or a table of transactions.
fn reads(folder: &Path, input: &str) -> BTreeMap<String, u64> {
    let json = format!("{input}.json");
    let ran = output_in(folder, &["analyze", input, "--by", "user", "--operation", "read", "--json", &json, "-q"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let json: Value = serde_json::from_slice(&fs::read(folder.join(json)).unwrap()).unwrap();
    let rows = json["sides"][0]["breakdown"]["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["key"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap())).collect()
}

#[test]
fn each_client_has_an_account_of_its_own() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let scratch = Scratch::new("accounts");
    let folder = scratch.path();
    let accounts = samba.accounts(ACCOUNTS);
    fs::write(folder.join("accounts"), &accounts).unwrap();
    let (target, password) = (format!("smb://{}@{}/data", Samba::USER, samba.address()), folder.join("password"));
    assert_eq!(Share::Data.name(), "data");
    fs::write(&password, Samba::PASSWORD).unwrap();
    let load = ["--clients", "50", "--think", "50ms", "--duration", "2s", "--warmup", "0s", "--record", "run"];
    let outputs = ["--tap", "tap.pcapng", "--transactions", "run.csv"];
    let who = ["--target", &target, "--password-file", "password", "--accounts", "accounts"];
    let ran = output_in(folder, &[&["run", "random-read"], &load[..], &outputs, &who].concat());
    let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    // 4: a busy machine.
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{said}");
    let (table, tap) = (reads(folder, &crate::without_levels(folder, "run.csv")), reads(folder, "tap.pcapng"));
    let expected: Vec<String> = (0..ACCOUNTS).map(|number| format!("account{number}")).collect();
    let users = |reads: &BTreeMap<String, u64>| reads.keys().cloned().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(users(&table), expected.iter().cloned().collect(), "{said}");
    assert_eq!(table, tap, "what was driven is what was captured");
    // No output contains a password.
    for file in ["run.csv", "run/manifest.json"] {
        let bytes = fs::read(folder.join(file)).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("of daemon"), "{file}");
    }
    assert!(!said.contains("of daemon") && samba.process_id().is_some());
    // A recorded run is repeated with the same accounts.
    let again = ["run", "--from", "run", "--password-file", "password", "--transactions", "again.parquet", "-q"];
    let ran = output_in(folder, &again);
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(users(&reads(folder, "again.parquet")), users(&table));
}

/// The output of a run of two clients with these accounts. The run cannot be valid.
fn said(folder: &Path, accounts: &str, run: &[&str]) -> String {
    fs::write(folder.join("accounts"), accounts).unwrap();
    fs::write(folder.join("password"), Samba::PASSWORD).unwrap();
    let who = ["--clients", "2", "--duration", "500ms", "--password-file", "password", "--accounts", "accounts"];
    let ran = output_in(folder, &[&["run"], run, &who].concat());
    let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{said}");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn wrong_passwords_guests_and_accounts_without_the_share_are_named() {
    let _alone = alone();
    // The testkit's Samba makes guests of unknown users.
    let Some(samba) = available(Samba::start(&[])) else { return };
    let scratch = Scratch::new("accounts-refused");
    let folder = scratch.path();
    let target = |share: Share| format!("smb://{}@{}/{}", Samba::USER, samba.address(), share.name());
    let (data, for_guests) = (target(Share::Data), target(Share::Guest));
    let accounts = samba.accounts(2);
    let wrong = said(folder, &accounts.replace("account1:", "account1:not "), &["random-read", "--target", &data]);
    assert!(
        wrong.contains("1 of 2 clients completed no action; 1 of the clients without an action failed to connect"),
        "{wrong}"
    );
    assert!(wrong.contains("logon refused"), "{wrong}");
    let (account, guest) = (accounts.lines().next().unwrap(), "nobodyhere:wrong");
    for (first, second) in [(account, guest), (guest, account)] {
        let both = format!("{first}\n{second}\n");
        let said = said(folder, &both, &["getattr", "--full", "--target", &for_guests]);
        let reason = "the server logged on 1 of 2 accounts (nobodyhere) as guests";
        assert!(said.contains("guest logons: 1 of 2 accounts (nobodyhere)") && said.contains(reason), "{said}");
        assert!(said.contains("check name and password") && !said.contains("logged on as a guest"), "{said}");
    }
    // The other share is not for guests.
    let said = said(folder, &format!("{account}\n{guest}\n"), &["getattr", "--target", &data]);
    assert!(said.contains("; account nobodyhere)"), "{said}");
}
