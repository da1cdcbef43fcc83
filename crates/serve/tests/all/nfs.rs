//! The NFS server, with libnfs's programs as clients.

use std::path::Path;
use std::process::Output;

use crate::client::{bytes, must, needs, run, scratch};
use plimsoll_serve::{Embedded, Kind, Options};

const TOOLS: [&str; 3] = ["nfs-ls", "nfs-cp", "nfs-cat"];

fn server(options: Options) -> Embedded {
    Embedded::start(Kind::Nfs, options).unwrap()
}

fn url(server: &Embedded, path: &str) -> String {
    let port = server.address().port();
    format!("nfs://127.0.0.1/plimsoll/{path}?nfsport={port}&mountport={port}&version=3")
}

fn put(server: &Embedded, from: &Path, to: &str) -> Output {
    run("nfs-cp", &[from.to_str().unwrap(), &url(server, to)])
}

fn get(server: &Embedded, from: &str) -> Vec<u8> {
    must(run("nfs-cat", &[&url(server, from)])).stdout
}

#[test]
fn what_libnfs_writes_it_reads_back() {
    if !needs(&TOOLS) {
        return;
    }
    let server = server(Options::default());
    let scratch = scratch("nfs-back");
    for (number, length) in [0, 1, 4095, 65_536, 65_537, 1 << 20, (9 << 20) + 13].into_iter().enumerate() {
        let content = bytes(number as u64, length);
        let from = scratch.join(format!("{number}"));
        std::fs::write(&from, &content).unwrap();
        must(put(&server, &from, &format!("file{number}")));
        assert!(get(&server, &format!("file{number}")) == content, "{length} bytes");
    }
    let listed = String::from_utf8(must(run("nfs-ls", &[&url(&server, "")])).stdout).unwrap();
    for number in 0..7 {
        assert!(listed.contains(&format!("file{number}")), "{listed}");
    }
    assert!(listed.contains("9437197"), "sizes are told: {listed}");
}

#[test]
fn a_full_and_a_read_only_server_refuse() {
    if !needs(&TOOLS) {
        return;
    }
    let scratch = scratch("nfs-full");
    let from = scratch.join("big");
    std::fs::write(&from, bytes(1, 4 << 20)).unwrap();
    let small = server(Options { size: 1 << 20, ..Options::default() });
    refused(&put(&small, &from, "big"), "write");
    let closed = server(Options { read_only: true, ..Options::default() });
    refused(&put(&closed, &from, "big"), "NFS3ERR_ROFS");
}

/// It failed at that step, as the program says on the way out.
fn refused(output: &Output, step: &str) {
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && told.contains(step), "{told}");
}

#[test]
fn many_clients_at_once() {
    if !needs(&TOOLS) {
        return;
    }
    let server = server(Options::default());
    let scratch = scratch("nfs-many");
    std::thread::scope(|scope| {
        for number in 0..64_u64 {
            let (server, scratch) = (&server, &scratch);
            scope.spawn(move || {
                let content = bytes(number, 100_000 + number as usize);
                let from = scratch.join(format!("{number}"));
                std::fs::write(&from, &content).unwrap();
                must(put(server, &from, &format!("many{number}")));
                assert!(get(server, &format!("many{number}")) == content, "{number}");
            });
        }
    });
}
