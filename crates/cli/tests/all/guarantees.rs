//! Servers that guarantee different things are not ranked: signed against unsigned on Samba, stable against unstable writes on Ganesha.

use std::fs;
use std::path::Path;
use std::process::Output;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use serde_json::{Value, json};

use crate::{alone, available};

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    output(crate::plimsoll().args(arguments).current_dir(folder).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// Two loads of a workload on a target, recorded in `name`.
fn sweep(folder: &Path, name: &str, workload: &str, target: &str, more: &[&str]) -> Value {
    let load = ["--levels", "1,2", "--duration", "400ms", "--warmup", "10ms", "-q", "--record", name];
    let ran = plimsoll(folder, &[&["run", workload, "--target", target], &load[..], more].concat());
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{said}");
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join(name).join("manifest.json")).unwrap()).unwrap();
    manifest["levels"][1]["about"]["about"]["guarantees"].clone()
}

/// Compares two recordings; returns exit code, output, and JSON.
fn compare(folder: &Path, more: &[&str]) -> (Option<i32>, String, Value) {
    let both = ["compare", "A", "B", "--json", "c.json", "--html", "c.html"];
    let compared = plimsoll(folder, &[&both[..], more].concat());
    let json: Value = serde_json::from_slice(&fs::read(folder.join("c.json")).unwrap()).unwrap();
    crate::held_to_schema(&json);
    let said = [compared.stdout, compared.stderr].concat();
    (compared.status.code(), String::from_utf8(said).unwrap(), json["comparison"].clone())
}

/// `compare` refuses to rank and to judge them because of `name`, and does both with `--ignore-guarantees`.
fn refused(folder: &Path, name: &str, parts: &[&str]) {
    let (code, said, comparison) = compare(folder, &["--full", "--fail-if", "all.throughput < -99%"]);
    assert_eq!(code, Some(4), "{said}");
    let why = comparison["refused"].as_str().unwrap();
    assert!(why.starts_with("The sides give different guarantees") && why.contains(name), "{why}");
    assert!(comparison["ranking"].is_null() && comparison["conditions"][0]["outcome"] == "undecided");
    assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    assert!(said.contains("Server guarantees:") && said.contains("--ignore-guarantees"), "{said}");
    let first = &comparison["guarantees"][0];
    assert_eq!((&first["name"], &first["unlike"]), (&json!(name), &json!(true)));
    let page = fs::read_to_string(folder.join("c.html")).unwrap();
    assert!(page.contains("What the servers guarantee."));
    let skipped = compare(folder, &["-q", "--fail-if", "p99 > +9900%", "--exit-undecided", "125"]);
    assert_eq!(skipped.0, Some(125), "{}", skipped.1);
    let (_, said, comparison) = compare(folder, &["--ignore-guarantees"]);
    assert!(comparison["refused"].is_null() && comparison["ranking"].is_object(), "{said}");
    assert_eq!(comparison["guarantees"][0]["unlike"], true, "the report shows it anyway");
}

#[test]
fn signed_and_unsigned_are_not_ranked() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let scratch = Scratch::new("guarantees-smb");
    let folder = scratch.path();
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let plain = sweep(folder, "A", "mixed", &target, &[]);
    let signed = sweep(folder, "B", "mixed", &target, &["--signing"]);
    assert_eq!(
        (&plain["signing"], &plain["encryption"], &plain["dialect"]),
        (&json!("none"), &json!("none"), &json!("SMB 3.1.1"))
    );
    assert!(signed["signing"].as_str().unwrap().starts_with("AES"), "{signed}");
    refused(folder, "Signing", &["Signing      A: none", "B: AES"]);
    // Two ways to sign are alike.
    sweep(folder, "A", "mixed", &target, &["--signing", "--dialect", "2.1", "--overwrite"]);
    let (_, said, comparison) = compare(folder, &[]);
    assert!(comparison["refused"].is_null() && comparison["ranking"].is_object(), "{said}");
    // A duel says the same.
    let sides = [target.clone(), format!("{target} --encryption")];
    let duel = ["duel", &sides[0], &sides[1], "getattr", "--rounds", "1", "--duration", "100ms", "--warmup", "0s"];
    let ended = plimsoll(folder, &duel);
    let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(ended.status.code() == Some(4) && said.contains("Encryption (A: none; B: AES"), "{said}");
}

#[test]
fn stable_and_unstable_writes_are_not_ranked() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let scratch = Scratch::new("guarantees-nfs");
    let folder = scratch.path();
    let small = ["--set", "block=64KiB"];
    let written = |found: &Value| {
        let rows = found["writes"].as_array().unwrap();
        rows.iter().map(|row| [row["asked"].clone(), row["answered"].clone()]).collect::<Vec<_>>()
    };
    let plain = sweep(folder, "A", "stream-write", &ganesha.target(Export::Data), &small);
    let synchronous = sweep(folder, "B", "stream-write", &ganesha.target(Export::Synchronous), &small);
    assert_eq!(written(&plain), [[json!("unstable"), json!("unstable")]], "{plain}");
    assert_eq!(written(&synchronous), [[json!("unstable"), json!("file_sync")]], "{synchronous}");
    assert_eq!((&plain["verifier_changes"], &plain["signing"]), (&json!(0), &Value::Null));
    // On a busy machine the short phases may have no COMMIT, of which the mean is shown.
    refused(folder, "WRITE asked", &["UNSTABLE answered UNSTABLE", "UNSTABLE answered FILE_SYNC"]);
    sweep(folder, "B", "stream-write", &ganesha.target(Export::Data), &["--set", "block=64KiB", "--overwrite"]);
    let (_, said, comparison) = compare(folder, &[]);
    assert!(comparison["refused"].is_null() && comparison["ranking"].is_object(), "{said}");
}
