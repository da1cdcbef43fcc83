//! The server's own numbers beside the client's: a process on this machine, and an exporter.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use serde_json::Value;

use crate::available;

/// `plimsoll serve nfs` in a separate process, and its URL.
fn serve() -> (Running, String) {
    let mut server = Running::start(crate::plimsoll().args(["serve", "nfs", "--listen", "127.0.0.1:0"])).unwrap();
    let url = server.first_line();
    (server, url)
}

fn run(url: &str, flags: [&str; 2], scratch: &Scratch) -> (Value, String) {
    let file = scratch.path().join("report.json");
    // Enough requests that a server counts them in processor time, which the system tells in steps of 10 ms.
    let load = ["--think", "500us", "--duration", "2s", "--warmup", "1s"];
    let mut command = crate::plimsoll();
    command.args(["run", "getattr", "--target", url, "--full"]).args(load).arg("--json").arg(&file).args(flags);
    let output = output(&mut command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Whether the run is valid depends on other work of the machine.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
    let json = crate::only_side(&std::fs::read(&file).unwrap());
    (json["levels"][0].clone(), text)
}

#[test]
fn a_process_on_this_machine() {
    let scratch = Scratch::new("server-pid");
    let (served, url) = serve();
    let (level, text) = run(&url, ["--server-pid", &served.id().to_string()], &scratch);
    let server = &level["server"];
    let (cores, cost) = (server["cores_busy"].as_f64().unwrap(), server["cpu_per_operation_s"].as_f64().unwrap());
    assert!(cores > 0.0 && cores < 64.0, "{server}");
    // Processor time a second is operations per second times processor time an operation.
    let rate = level["operations_per_s"].as_f64().unwrap();
    assert!((cores / (cost * rate) - 1.0).abs() < 0.05, "{server} at {rate}/s");
    assert!(server["sent_bytes_per_s"].is_null() && server["why_missing"].is_null(), "{server}");
    assert!(text.contains("Server-side metrics") && text.contains("and its children"), "{text}");
}

/// Answers each request with a page whose counters grow by a core, 1 MB/s read and 2 MB/s sent.
fn exporter() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let begun = std::time::Instant::now();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 2048];
            let mut length = 0;
            while !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut request[length..]) {
                    Ok(more @ 1..) => length += more,
                    _ => break,
                }
            }
            let seconds = begun.elapsed().as_secs_f64();
            let page = format!(
                "node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {}\nnode_disk_read_bytes_total{{device=\"sda\"}} {}\n\
                 node_network_transmit_bytes_total{{device=\"eth0\"}} {}\n",
                100.0 + seconds,
                seconds * 1e6,
                seconds * 2e6
            );
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", page.len());
            // Whoever waited too long for the page is gone.
            let _ = stream.write_all((head + &page).as_bytes());
        }
    });
    url
}

#[test]
fn an_exporter() {
    let scratch = Scratch::new("server-metrics");
    let (_served, url) = serve();
    let (level, _) = run(&url, ["--server-metrics", &exporter()], &scratch);
    let server = &level["server"];
    // However old a page is: what stands on it grows together.
    let number = |name: &str| server[name].as_f64().unwrap();
    let cores = number("cores_busy");
    assert!(cores > 0.0, "{server}");
    let near = |name: &str, a_core: f64| (number(name) / cores / a_core - 1.0).abs() < 1e-6;
    assert!(near("disk_read_bytes_per_s", 1e6) && near("sent_bytes_per_s", 2e6), "{server}");
    assert!(server["received_bytes_per_s"].is_null(), "{server}");
}

#[test]
fn nothing_to_look_at_is_said_before_the_run() {
    for (flags, says, code) in [
        (["--server-pid", "4294967295"], "process 4294967295", 3),
        (["--server-metrics", "http://127.0.0.1:1/metrics"], "127.0.0.1:1", 3),
        (["--server-metrics", "ftp://x/"], "http://host:port/metrics", 2),
    ] {
        let output = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["run", "getattr"]).args(flags));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && told.contains(says), "{flags:?}: {told}");
    }
}

/// Samba counts as many reads as the clients sent: no other client uses it, and only the warm-up and the drain lie outside of the phase.
#[test]
fn a_server_with_counters() {
    let Some(samba) = available(Samba::start(&["smbd profiling level = on"])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let scratch = Scratch::new("server-counters");
    let (report, table) = (scratch.path().join("report.json"), scratch.path().join("all.csv"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", "random-read", "--target", &target, "--levels", "1,2"]);
    command.args(["--duration", "500ms", "--warmup", "100ms", "--full"]);
    command.arg("--samba-conf").arg(samba.configuration()).arg("--json").arg(&report).arg("--transactions").arg(&table);
    let output = output(command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
    let json = crate::only_side(&std::fs::read(&report).unwrap());
    let counted = |level: &Value| -> u64 {
        let counters = &level["counters"];
        assert!(counters["why_missing"].is_null(), "{counters}");
        let all = counters["counters"].as_array().unwrap();
        let read = all.iter().find(|one| one["name"] == "smb2_read").unwrap();
        let (mean, waiting) = (read["mean_s"].as_f64().unwrap(), read["waiting_mean_s"].as_f64().unwrap());
        assert!(mean > 0.0 && (0.0..=mean).contains(&waiting), "{read}");
        read["count"].as_u64().unwrap()
    };
    let of_levels: Vec<u64> = json["levels"].as_array().unwrap().iter().map(counted).collect();
    let rows = std::fs::read_to_string(&table).unwrap();
    let sent = rows.lines().filter(|line| line.split(',').nth(1) == Some("READ")).count() as u64;
    assert_eq!((of_levels.len(), of_levels.iter().sum::<u64>()), (2, sent), "{of_levels:?}");
    assert!(text.contains("The server's own counters") && text.contains("smb2_read"), "{text}");
    search_with_counters(&target, ["--samba-conf", samba.configuration().to_str().unwrap()], "smb2_read");
}

#[test]
fn a_search_with_counters_of_ganesha() {
    let Some(ganesha) = available(Ganesha::start_counting()) else { return };
    search_with_counters(&ganesha.target(Export::Data), ["--ganesha-bus", ganesha.bus().unwrap()], "READ");
}

/// Each run of a search has the server's counters; the table in the terminal adds up the runs with the same load.
fn search_with_counters(target: &str, flags: [&str; 2], name: &str) {
    let scratch = Scratch::new("search-counters");
    let report = scratch.path().join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["capacity", "random-read", "--target", target, "--most", "2", "--runs", "3", "--hold", "p50 < 20s"]);
    command.args(["--duration", "600ms", "--warmup", "0s", "--full"]).args(flags).arg("--json").arg(&report);
    let output = output(command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
    let json = crate::only_side(&std::fs::read(&report).unwrap());
    let levels = json["levels"].as_array().unwrap();
    let mut sums = std::collections::BTreeMap::<&str, u64>::new();
    for level in levels {
        let counters = level["counters"]["counters"].as_array().unwrap();
        let read = counters.iter().find(|one| one["name"] == name).unwrap()["count"].as_u64().unwrap();
        let rows = level["operations"].as_array().unwrap().iter().filter(|row| row["procedure"] == "READ");
        let sent: u64 = rows.map(|row| row["count"].as_u64().unwrap()).sum();
        // Each of the two clients may send one more before and after the measured phase.
        assert!(sent > 0 && (sent..=sent + 4).contains(&read), "{sent} sent, {read} counted: {level}");
        *sums.entry(level["load_name"].as_str().unwrap()).or_default() += read;
    }
    assert_eq!(levels.len(), 3, "{text}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for (level, sum) in sums {
        let expected: Vec<&str> = level.split_whitespace().chain([name]).collect();
        let found: Vec<_> = lines.iter().filter(|line| line.starts_with(&expected)).collect();
        assert!(found.len() == 1 && found[0][expected.len()] == sum.to_string(), "{level} {sum}: {text}");
    }
}

/// A server that cannot be asked ends the run before anything is measured.
#[test]
fn a_server_without_counters() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output =
        output(command.args(["run", "getattr", "--target", "embedded:smb", "--samba-conf", "/nowhere/smb.conf"]));
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}
