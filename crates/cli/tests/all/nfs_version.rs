//! Targets without a version: the highest version that the server speaks.

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::rpc_tls::{Manner, RpcTls};
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use serde_json::Value;

use crate::{alone, available, only_side};

const FOUND: &str = "highest version the server speaks";

fn plimsoll(scratch: &Scratch, arguments: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let ended = output(crate::plimsoll().args(arguments).current_dir(scratch.path()));
    (ended.status.code(), ended.stdout, String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// The report of a short run with these options.
fn run(scratch: &Scratch, more: &[&str]) -> Value {
    let (code, report, said) = plimsoll(scratch, &[&["run", "-q", "--json", "-"][..], more].concat());
    assert!(matches!(code, Some(0 | 4)), "{more:?}: {said}");
    only_side(&report)
}

fn facts(report: &Value) -> Vec<&str> {
    report["run"]["facts"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap()).collect()
}

const SHORT: [&str; 7] = ["getattr", "--clients", "2", "--warmup", "0s", "--duration", "200ms"];

#[test]
fn a_run_uses_the_highest_version_and_repeats_it() {
    let _alone = alone();
    for (offered, highest) in [("0, 1, 2", "4.2"), ("0, 1", "4.1"), ("0", "4.0")] {
        let Some(ganesha) = available(Ganesha::start_offering(offered)) else { return };
        let scratch = Scratch::new("nfs-version");
        let plain = format!("nfs://{}{}", ganesha.address(), Export::Data.path());
        let found = run(&scratch, &[&["--target", &plain, "--record", "found"], &SHORT[..]].concat());
        assert_eq!(facts(&found)[..2], [&format!("NFS {highest}"), FOUND]);
        let target = format!("{plain}?version={highest}");
        assert_eq!(found["run"]["target"], target.as_str());
        // The version is part of the recording: a repetition does not ask again, and has the same conditions.
        let again = run(&scratch, &["--from", "found", "--record", "again"]);
        assert_eq!(again["run"]["target"], target.as_str());
        assert_eq!((facts(&again)[0], facts(&again).contains(&FOUND)), (format!("NFS {highest}").as_str(), false));
        let (code, compared, said) = plimsoll(&scratch, &["compare", "found", "again", "--json", "-", "-q"]);
        assert!(matches!(code, Some(0 | 4)), "{said}");
        let compared: Value = serde_json::from_slice(&compared).unwrap();
        assert!(!compared["comparison"]["warnings"].to_string().contains("conditions"), "{}", compared["comparison"]);
    }
}

/// What is no answer about the version ends the run: it does not use a lower version.
#[test]
fn a_refusal_does_not_lead_to_a_lower_version() {
    let _alone = alone();
    let scratch = Scratch::new("no-nfs-version");
    let fails = |target: &str, says: &str, more: &[&str]| {
        let (code, _, said) = plimsoll(&scratch, &[&["run", "--target", target], &SHORT[..], more].concat());
        assert_eq!(code, Some(3), "{target}: {said}");
        assert!(said.contains(says), "{target}: {said}");
    };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("nfs://{}/x", silent.local_addr().unwrap());
    fails(&target, "no answer within 300ms", &["--timeout", "300ms"]);
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let of = |path: &str| format!("nfs://{}{path}", ganesha.address());
    fails(&of("/nowhere"), "if this is the NFS 3 path, add ?version=3 to the target", &[]);
    // Its server hides an export from callers that it refuses.
    fails(&of(Export::Privileged.path()), "NFS4ERR_NOENT", &[]);
    // A server without TLS: nothing is called without it.
    fails(&format!("{}?xprtsec=tls", of("/data")), "does not offer RPC over TLS", &[]);
    let tls = RpcTls::start(ganesha.address(), Manner::Serves).unwrap();
    let target = format!("nfs://{}/data?xprtsec=tls", tls.address());
    let report = run(&scratch, &[&["--target", &target, "--tls-insecure"], &SHORT[..]].concat());
    assert_eq!(facts(&report)[..2], ["NFS 4.2", FOUND]);
    // With slots, a version with sessions.
    let report = run(&scratch, &[&["--target", &format!("{}?slots=3", of("/data"))], &SHORT[..]].concat());
    assert!(facts(&report).contains(&"3 slots per session"), "{:?}", facts(&report));
}
