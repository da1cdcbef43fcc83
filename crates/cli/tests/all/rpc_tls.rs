//! NFS over TLS (RFC 9289), with a server of the tests that ends the TLS in front of real servers.

use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::rpc_tls::{AUTHORITY, Manner, RpcTls};
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use rustix::process::Signal;
use serde_json::Value;

use crate::{alone, available, code_and_text, output_in, requests, side_in};

/// Reads, writes and all else, in small messages and long ones.
const WORKLOAD: &str = r#"
name = "small-and-long"
description = "Messages of one record of TLS and of many"
[files]
count = 6
directories = 2
depth = 1
size = "2MiB"
shared = "by-none"
seed = 1
[load]
clients = 2
depth = 4
think = "5ms"
warmup = "0s"
duration = "3s"
[script]
keep_open = 3
verify = "50%"
[[iterations]]
name = "long"
weight = 2
on = "file"
steps = [{ read = { size = "1MiB", at = "random" } }, { write = { size = "512KiB", at = "random" } }]
[[iterations]]
name = "short"
weight = 4
on = "file"
steps = [{ read = { size = "4KiB", at = "random" } }]
[[iterations]]
name = "own"
on = "own"
steps = ["create", { write = { size = "20KiB" } }, "close", "rename", "remove"]
[[iterations]]
name = "list"
on = "directory"
steps = ["list"]
"#;

/// A folder with the authority's certificate.
fn folder() -> Scratch {
    let folder = Scratch::new("rpc-tls");
    fs::write(folder.path().join("ca.pem"), AUTHORITY).unwrap();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    folder
}

/// Drives a target; returns the exit code and all output.
fn drive(folder: &Path, target: &str, more: &[&str]) -> (Option<i32>, String) {
    let mut command = crate::plimsoll();
    command.args(["run", "w.toml", "--target", target, "--seed", "5", "--full"]).args(more).current_dir(folder);
    code_and_text(&mut command)
}

/// A run without any failure, whose data were checked, and whose tap has what its table has.
fn runs(folder: &Path, target: &str) -> Value {
    let outputs = ["--json", "run.json", "--tap", "tap.pcapng", "--transactions", "run.csv"];
    let (code, said) = drive(folder, target, &[&["--tls-ca", "ca.pem"][..], &outputs].concat());
    // 4: a busy machine.
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let side = side_in(&folder.join("run.json"));
    let level = &side["levels"][0];
    assert_eq!((&level["errors"], &level["failed"]), (&0.into(), &0.into()), "{said}");
    assert_eq!(level["failures"].as_array().map(Vec::len), Some(0), "{said}");
    assert!(side["run"]["facts"].to_string().contains("RPC over TLS 1.3, "), "{}", side["run"]["facts"]);
    let ran = requests(folder, &crate::without_levels(folder, "run.csv"));
    assert!(ran.len() >= 8 && ran.values().all(|count| *count > 0), "{ran:?}");
    assert_eq!(ran, requests(folder, "tap.pcapng"));
    side
}

fn embedded() -> Embedded {
    Embedded::start(Kind::Nfs, Options::default()).unwrap()
}

#[test]
fn version_3_runs_over_tls() {
    let _alone = alone();
    let server = embedded();
    let tls = RpcTls::start(server.address(), Manner::Serves).unwrap();
    let folder = folder();
    let (port, mount) = (tls.address().port(), server.address().port());
    let target = format!("nfs://localhost:{port}/plimsoll?mountport={mount}&xprtsec=tls");
    runs(folder.path(), &target);
}

#[test]
fn version_4_runs_over_tls() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let tls = RpcTls::start(ganesha.address(), Manner::Serves).unwrap();
    let folder = folder();
    for version in ["4.0", "4.1", "4.2"] {
        let plain = ganesha.target_of(Export::Data, version);
        let target = format!("{plain}&xprtsec=tls").replace(&ganesha.address().to_string(), &tls.address().to_string());
        runs(folder.path(), &target);
    }
}

/// A server that is not to be believed, or has no TLS, or stops in the handshake: an error that says so, and no run.
#[test]
fn a_server_that_cannot_be_used_is_named() {
    let server = embedded();
    let folder = folder();
    let mount = server.address().port();
    let said = |manner: Manner, version: &str, more: &[&str]| {
        let tls = RpcTls::start(server.address(), manner).unwrap();
        let port = tls.address().port();
        let ports = if version == "3" { format!("&mountport={mount}") } else { String::new() };
        let target = format!("nfs://127.0.0.1:{port}/plimsoll?version={version}&xprtsec=tls{ports}");
        let (code, said) = drive(folder.path(), &target, more);
        assert_eq!(code, Some(3), "{manner:?}: {said}");
        said
    };
    let believes = ["--tls-ca", "ca.pem"];
    let briefly = ["--tls-ca", "ca.pem", "--timeout", "3s"];
    for version in ["3", "4.1"] {
        for (manner, words) in [
            (Manner::Unaware, "does not offer RPC over TLS"),
            (Manner::Rejects, "auth_stat 1"),
            (Manner::Silent, "timed out during the TLS handshake"),
            (Manner::Stalls, "timed out during the TLS handshake"),
            (Manner::Ends, "closed the connection during the TLS handshake"),
            (Manner::Garbage, "RPC over TLS"),
        ] {
            let said = said(manner, version, if words.contains("timed") { &briefly } else { &believes });
            assert!(said.contains(words), "{version}, {manner:?}: {said}");
        }
        let said = said(Manner::Serves, version, &[]);
        assert!(said.contains("--tls-ca"), "an authority that this system does not know: {said}");
    }
}

/// Without a check of the certificate any server will do, and only if that was asked for.
#[test]
fn the_check_can_be_left_out() {
    let server = embedded();
    let tls = RpcTls::start(server.address(), Manner::Serves).unwrap();
    let folder = folder();
    let (port, mount) = (tls.address().port(), server.address().port());
    let target = format!("nfs://127.0.0.1:{port}/plimsoll?mountport={mount}&xprtsec=tls");
    let (code, said) = drive(folder.path(), &target, &["--tls-insecure", "--duration", "200ms"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
}

/// A capture of the network: TLS hides the operations, which the first lines say.
#[test]
fn a_capture_of_the_network_is_said_to_be_encrypted() {
    let server = embedded();
    let tls = RpcTls::start(server.address(), Manner::Serves).unwrap();
    let folder = folder();
    let (port, mount) = (tls.address().port(), server.address().port());
    let mut command = Command::new("tcpdump");
    command.args(["-i", "lo", "-U", "-B", "16384", "-Z", "root", "-w", "net.pcap"]);
    command.args(["tcp", "port", &port.to_string()]).current_dir(folder.path());
    let Ok(mut tcpdump) = Running::start(&mut command) else { return crate::skip("needs tcpdump") };
    let ended = tcpdump.wait_until(|running| running.said()[1].contains("listening on"));
    if ended.is_some() {
        return crate::skip(format_args!("needs permission to capture on lo: {}", tcpdump.said()[1]));
    }
    let target = format!("nfs://127.0.0.1:{port}/plimsoll?mountport={mount}&xprtsec=tls");
    let (code, said) = drive(folder.path(), &target, &["--tls-ca", "ca.pem", "--duration", "200ms"]);
    assert!(matches!(code, Some(0 | 4)), "{said}");
    // The run wrote 12 MiB of files; tcpdump may be late.
    let is_there = || fs::metadata(folder.path().join("net.pcap")).is_ok_and(|file| file.len() > 2 << 20);
    assert_eq!(tcpdump.wait_until(|_| is_there()), None, "{:?}", tcpdump.said());
    tcpdump.signal(Signal::INT);
    let _said = tcpdump.end();
    let ran = output_in(folder.path(), &["analyze", "net.pcap", "--json", "net.json"]);
    assert_eq!(ran.status.code(), Some(4), "no verdict: {}", String::from_utf8_lossy(&ran.stderr));
    let side = side_in(&folder.path().join("net.json"));
    let found = &side["rpc_tls"];
    assert!(found["connections"].as_u64() >= Some(1) && found["requests"].as_u64() > Some(0), "{found}");
    assert!(found["request_bytes"].as_u64() > Some(1 << 20), "it wrote files: {found}");
    assert_eq!(side["validity"]["verdict"], "invalid");
    assert!(side["unseen"]["share_missing"].as_f64() > Some(0.5), "{}", side["unseen"]);
    assert_eq!((&side["encrypted"], &side["unseen"]["encrypted"]), (&Value::Null, &0.into()), "those are of SMB");
    let screen = String::from_utf8(ran.stdout).unwrap();
    let words: Vec<&str> = screen.split_whitespace().take(120).collect();
    let first = words.join(" ");
    assert!(first.contains("RPC over TLS (RFC 9289)") && first.contains("--tap"), "{screen}");
    assert!(first.contains(&format!("to 127.0.0.1:{port}")), "{screen}");
}
