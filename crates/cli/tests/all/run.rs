//! `plimsoll run` against real servers, beside tcpdump.

use std::collections::HashMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::ganesha::Excused;
use crate::{alone, available, ganesha, skip};
use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use serde_json::Value;

/// Workloads that come with the program, and whose requests are compared with the wire.
const COMPARED: [&str; 2] = ["mixed", "metadata"];
/// Other workloads that come with the program.
const OTHERS: &[&str] = &["laddis", "stream-read", "stream-write", "random-read", "getattr"];

/// Short, for there are many workloads and servers, and long enough for whole iterations: one of `stream-write` is a new file of 16 MiB on
/// the machine's disk.
fn load(workload: &str) -> [&'static str; 6] {
    let (clients, duration) = if workload == "stream-write" { ("1", "1500ms") } else { ("3", "400ms") };
    ["--warmup", "100ms", "--clients", clients, "--duration", duration]
}

fn plimsoll(arguments: &[&str]) -> Output {
    output(crate::plimsoll().args(arguments).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// Runs a workload; the report. The machine may be too busy for a valid one: errors are what counts here.
fn run(workload: &str, target: &str, more: &[&str]) -> Value {
    let fixed = ["run", workload, "--target", target, "--json", "-", "-q"];
    let output = plimsoll(&[&fixed[..], &load(workload), more].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{workload} on {target}: {said}");
    let report: Value = crate::only_side(&output.stdout);
    for level in report["levels"].as_array().unwrap() {
        let excused = if target.starts_with("nfs://") { ganesha::lists_of_what_went(level) } else { 0 };
        assert_eq!(level["errors"], excused, "{workload} on {target}: {level:#}");
        if excused > 0 {
            println!("excused listings of {workload}: {excused}");
        }
        let failed: u64 =
            level["failures"].as_array().unwrap().iter().map(|cause| cause["count"].as_u64().unwrap()).sum();
        // Of such a listing the operation, or operation and request, may have begun before the measured phase.
        let excused = excused + if target.starts_with("nfs://") { ganesha::lists_outside(level) } else { 0 };
        assert!(failed <= excused, "{workload} on {target}: {}", level["failures"]);
        assert!(level["count"].as_u64().unwrap() > 0, "{workload} on {target} did nothing");
    }
    report
}

/// The same response time leads everywhere: its maximum ends the percentile curves, and the slowest operations are its.
fn leads(report: &Value, headline: &str) {
    assert_eq!((&report["headline"], &report["levels"][0]["headline"]), (&headline.into(), &headline.into()));
    let rows = ["operations", "groups"].map(|rows| report[rows].as_array().unwrap());
    for row in rows.into_iter().flatten().filter(|row| row["answered"].as_u64() > Some(0)) {
        assert_eq!(row["headline"], headline);
        let curve = row["percentiles"].as_array().unwrap();
        let leading = if row[headline].is_null() { &row["response_time"] } else { &row[headline] };
        assert_eq!(curve[curve.len() - 1]["value_s"], leading["max_s"], "{row:#}");
    }
    let slowest = &report["slowest"][0][format!("{headline}_s")];
    let row = report["operations"].as_array().unwrap().iter().map(|row| row[headline]["max_s"].as_f64().unwrap_or(0.0));
    assert_eq!(slowest.as_f64().unwrap(), row.fold(0.0, f64::max));
}

/// tcpdump of one port of loopback.
struct Dump {
    running: Running,
    address: SocketAddr,
    file: PathBuf,
}

impl Dump {
    fn start(address: SocketAddr, file: &Path) -> Option<Self> {
        let mut command = Command::new("tcpdump");
        // In its immediate mode the buffer reserves 64 KiB for each packet, and on a busy machine a thousand are not enough.
        command.args(["-i", "lo", "-U", "-B", "65536", "-s", "0", "-w"]).arg(file);
        command.args(["tcp", "port", &address.port().to_string()]);
        let mut running = Running::start(&mut command).ok()?;
        let ended = running.wait_until(|running| running.said()[1].contains("listening"));
        ended.is_none().then(|| Self { running, address, file: file.to_owned() })
    }

    /// Ends the tap when all earlier packets are in the file: then the ports of a last connection are, which comes after all others.
    fn stop(mut self) {
        let last = TcpStream::connect(self.address).unwrap();
        let ports = [last.local_addr().unwrap().port(), self.address.port()].map(u16::to_be_bytes).concat();
        let ended = self.running.wait_until(|_| tail(&self.file).windows(4).any(|four| four == ports));
        assert_eq!(ended, None, "tcpdump ended by itself");
        self.running.signal(rustix::process::Signal::INT);
        let _ = self.running.end();
    }
}

/// The last few packets of a file.
fn tail(file: &Path) -> Vec<u8> {
    let mut file = std::fs::File::open(file).unwrap();
    let from = file.metadata().unwrap().len().saturating_sub(4096);
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut last)).unwrap();
    last
}

/// Rows of a transactions table, by what names a request on the wire; with the row's instants in ns.
type Rows = HashMap<(String, String, String), HashMap<String, String>>;

fn rows(csv: &Path) -> Rows {
    let text = std::fs::read_to_string(csv).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        // No field of these servers holds a comma.
        let row: HashMap<String, String> =
            names.iter().map(|name| (*name).to_owned()).zip(line.split(',').map(str::to_owned)).collect();
        assert_eq!(row.len(), names.len(), "{line}");
        ((row["client"].clone(), row["id"].clone(), row["compound_position"].clone()), row)
    };
    lines.map(row).collect()
}

/// A workload beside tcpdump: the same requests, one for one, and never slower on the wire than in the client. Returns their number (0
/// without tcpdump) and the excused listings of the runs.
fn beside_tcpdump(workload: &str, target: &str, address: SocketAddr) -> (usize, Excused) {
    let scratch = Scratch::new("tcpdump");
    let [capture, client, wire] = ["a.pcap", "client.csv", "wire.csv"].map(|name| scratch.path().join(name));
    // Creates its files first, so that their creation is not in the table.
    let excused = Excused::of(&run(workload, target, &[]));
    let Some(dump) = Dump::start(address, &capture) else {
        skip("needs tcpdump, and root to start it");
        return (0, excused);
    };
    let compared = run(workload, target, &["--transactions", client.to_str().unwrap(), "--rate", "500"]);
    dump.stop();
    if target.starts_with("nfs://") {
        let version = if target.contains("version=4") { 4 } else { 3 };
        tshark_reads_everything(&capture, address.port(), version);
    }
    (same_requests(workload, &capture, &client, &wire), excused.and(Excused::of(&compared)))
}

/// The same beside the program's own tap.
fn beside_the_tap(workload: &str, target: &str, port: u16, rate: &str) {
    let scratch = Scratch::new("tap");
    let [capture, client, wire] = ["a.pcapng", "client.csv", "wire.csv"].map(|name| scratch.path().join(name));
    run(workload, target, &[]);
    let kept = ["--transactions", client.to_str().unwrap(), "--tap", capture.to_str().unwrap(), "--rate", rate];
    run(workload, target, &kept);
    tshark_reads_everything(&capture, port, 4);
    same_requests(workload, &capture, &client, &wire);
}

/// What the client says of its requests is what `analyze` says of the capture. Returns how many there are.
fn same_requests(workload: &str, capture: &Path, client: &Path, wire: &Path) -> usize {
    let analyzed = plimsoll(&["analyze", capture.to_str().unwrap(), "-q", "--transactions", wire.to_str().unwrap()]);
    assert_eq!(analyzed.status.code(), Some(0), "{}", String::from_utf8_lossy(&analyzed.stderr));
    let (client, wire) = (rows(client), rows(wire));
    assert!(client.len() > 50, "{workload} did little: {}", client.len());
    for (key, row) in &client {
        let seen = wire.get(key).unwrap_or_else(|| panic!("{workload}: not on the wire: {row:?}"));
        for column in ["procedure", "status", "outcome", "payload_bytes", "request_bytes", "response_bytes"] {
            assert_eq!(row[column], seen[column], "{workload}: {column} of {row:?}");
        }
        // Response time and service time.
        for (from, to) in [("request_first_ns", "response_last_ns"), ("request_last_ns", "response_first_ns")] {
            let took = |row: &HashMap<String, String>| {
                let at = |name: &str| row[name].parse::<i64>().unwrap();
                at(to) - at(from)
            };
            assert!(
                took(seen) <= took(row),
                "{workload}: {from} to {to} slower on the wire than in the client: {row:?} {seen:?}"
            );
        }
    }
    // On the wire there are also the connections on which the files were verified.
    let clients: std::collections::HashSet<&String> = client.keys().map(|(client, _, _)| client).collect();
    let unknown = wire.keys().filter(|(client, _, _)| clients.contains(client)).count();
    assert_eq!(unknown, client.len(), "{workload}: requests on the wire that the client does not know of");
    client.len()
}

/// tshark finds the messages of an NFS version in a capture, and none that is malformed.
fn tshark_reads_everything(capture: &Path, port: u16, version: u32) {
    let read = |filter: &str| {
        let mut command = Command::new("tshark");
        command.args(["-n", "-d", &format!("tcp.port=={port},rpc"), "-Y", filter]);
        command.args(["-T", "fields", "-e", "frame.number", "-r"]).arg(capture);
        String::from_utf8(output(&mut command).stdout).unwrap()
    };
    if Command::new("tshark").arg("--version").output().is_err() {
        return skip("needs tshark");
    }
    // Compounds with a PUTFH, or calls and answers of any procedure but NULL.
    let messages = if version == 4 { "nfs.opcode == 22" } else { "nfs.procedure_v3 > 0" };
    assert!(read(messages).lines().count() > 50, "few messages of NFS {version}");
    assert_eq!(read("_ws.malformed || _ws.expert.message contains \"alformed\""), "");
}

/// With `PLIMSOLL_EXACT=1` all of `OTHERS`. Otherwise only the first: crates/drive/tests/all/workloads.rs runs them on the same targets,
/// without the command.
fn others() -> &'static [&'static str] {
    if std::env::var_os("PLIMSOLL_EXACT").is_some() { OTHERS } else { &OTHERS[..1] }
}

#[test]
fn workloads_on_samba() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    for workload in COMPARED {
        beside_tcpdump(workload, &target, samba.address());
    }
    for workload in others() {
        run(workload, &target, &[]);
    }
    for demanded in ["--signing", "--encryption"] {
        run("mixed", &target, &[demanded]);
    }
    run(&server_copies(&Scratch::new("copies"), false), &target, &[]);
    let whole = run("getattr", &target, &["--remove-files", "--depth", "4"]);
    assert!(whole["run"]["facts"].to_string().contains("SMB 3.1.1"));
    let left = std::fs::read_dir(samba.folder(Share::Data).unwrap()).unwrap();
    assert!(left.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains("getattr")).count() == 0);
}

#[test]
fn workloads_on_ganesha() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let target = ganesha.target(Export::Data);
    for workload in COMPARED {
        beside_tcpdump(workload, &target, ganesha.address());
    }
    for workload in others() {
        run(workload, &target, &[]);
    }
    run("random-read", &target, &["--connections", "2", "--depth", "4"]);
}

#[test]
fn workloads_on_a_mounted_directory() {
    let _alone = alone();
    let scratch = Scratch::new("directory");
    let target = format!("file://{}", scratch.path().display());
    for workload in COMPARED.iter().chain(others()) {
        run(workload, &target, &[]);
    }
}

#[test]
fn every_workload_on_ganesha_in_version_4() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    // The proof "another Ganesha" runs every workload in every version.
    let some = ["stream-write", "laddis"].map(str::to_owned);
    for (version, workloads) in [("4.0", &some[..]), ("4.1", &some[..]), ("4.2", &workloads_for_nfs()[..])] {
        let target = ganesha.target_of(Export::Data, version);
        for workload in workloads.iter().filter(|name| !COMPARED.contains(&name.as_str())) {
            let report = run(workload, &target, &[]);
            let facts = report["run"]["facts"].to_string();
            let slots = if version == "4.0" { "no slots" } else { "slots per session" };
            assert!(facts.contains(&format!("NFS {version}")) && facts.contains(slots), "{facts}");
        }
        run("random-read", &target, &["--connections", "2", "--depth", "4"]);
        for workload in COMPARED {
            beside_tcpdump(workload, &target, ganesha.address());
        }
    }
    // More simultaneous requests than slots: waits are reported.
    let narrow = format!("{}&slots=2", ganesha.target_of(Export::Data, "4.1"));
    let report = run("random-read", &narrow, &["--depth", "8"]);
    let facts = report["run"]["facts"].to_string();
    assert!(facts.contains("2 slots per session") && facts.contains("waits for a slot: "), "{facts}");
}

/// Workloads with steps that only SMB has.
const ONLY_SMB: [&str; 2] = ["home-folders", "home-folders-2008"];

/// The names of the workloads that come with the program and run on NFS.
fn workloads_for_nfs() -> Vec<String> {
    let shipped = plimsoll_workload::BUILTINS.iter().map(|builtin| builtin.name);
    let workloads: Vec<String> = shipped.filter(|name| !ONLY_SMB.contains(name)).map(str::to_owned).collect();
    assert!(COMPARED.iter().chain(OTHERS).all(|known| workloads.iter().any(|name| name == known)), "{workloads:?}");
    workloads
}

/// The version of NFS-Ganesha in Debian 12.
const DEBIAN_12: &str = "4.3";

#[test]
#[ignore = "long proof: cargo xtask verify \"Ganesha of Debian 12\""]
fn every_workload_on_ganesha_of_debian_12() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    assert_eq!(ganesha.version(), DEBIAN_12, "this proof is for the Ganesha of Debian 12, without PLIMSOLL_GANESHA");
    every_workload_on(&ganesha);
}

/// With another version, whose packages were unpacked (`dpkg -x`) into the folder `PLIMSOLL_GANESHA`.
#[test]
#[ignore = "long proof: cargo xtask verify \"another Ganesha\""]
fn every_workload_on_another_ganesha() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    assert_ne!(ganesha.version(), DEBIAN_12, "this proof needs PLIMSOLL_GANESHA: see CONTRIBUTING.md, Tests");
    every_workload_on(&ganesha);
}

/// Every workload for NFS in every version. Prints what was compared, and how many failed listings were excused.
fn every_workload_on(ganesha: &Ganesha) {
    let workloads = workloads_for_nfs();
    for version in ["3", "4.0", "4.1", "4.2"] {
        let target = match version {
            "3" => ganesha.target(Export::Data),
            _ => ganesha.target_of(Export::Data, version),
        };
        let (mut requests, mut rows, mut excused) = (0, 0, Excused::default());
        for workload in &workloads {
            let report = run(workload, &target, &[]);
            let facts = report["run"]["facts"].to_string();
            assert!(facts.contains(&format!("NFS {version}")), "{facts}");
            requests += report["levels"][0]["count"].as_u64().unwrap();
            excused = excused.and(Excused::of(&report));
        }
        run("random-read", &target, &["--connections", "2", "--depth", "4"]);
        for workload in ["mixed", "metadata", "random-read"] {
            let (compared, failed) = beside_tcpdump(workload, &target, ganesha.address());
            assert!(compared > 0, "needs tcpdump");
            rows += compared;
            excused = excused.and(failed);
        }
        println!(
            "Ganesha {}, NFS {version}: {} workloads, {requests} operations, no error but {} excused listings ({} \
             outside the measured phases); {rows} rows of the client equal those of tcpdump",
            ganesha.version(),
            workloads.len(),
            excused.measured,
            excused.outside
        );
    }
}

/// With `PLIMSOLL_EXACT=1` (the proof "workloads") every workload for NFS, otherwise `OTHERS`.
#[test]
fn every_workload_on_the_embedded_nfs_server_in_version_4() {
    let _alone = alone();
    let exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    let workloads = if exact { workloads_for_nfs() } else { OTHERS.iter().map(|&name| name.to_owned()).collect() };
    for (minor, version) in [(1, "4.1"), (2, "4.2")] {
        for workload in &workloads {
            let report = run(workload, &format!("embedded:nfs?version={version}"), &[]);
            let facts = report["run"]["facts"].to_string();
            assert!(facts.contains(&format!("NFS {version}")) && facts.contains("64 slots per session"), "{facts}");
        }
        let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
        let target = server.target_of_4(minor, None);
        run("random-read", &target, &["--connections", "2", "--depth", "4"]);
        for workload in COMPARED {
            beside_the_tap(workload, &target, server.address().port(), "500");
            beside_tcpdump(workload, &target, server.address());
        }
    }
    let narrow = run("random-read", "embedded:nfs?version=4.1&slots=2", &["--depth", "8"]);
    let facts = narrow["run"]["facts"].to_string();
    assert!(facts.contains("2 slots per session") && facts.contains("waits for a slot: "), "{facts}");
}

/// Copies on the server; with `added` also the other operations that NFS has from 4.2 on.
fn server_copies(scratch: &Scratch, added: bool) -> String {
    let files = "[files]\ncount = 20\ndirectories = 2\ndepth = 1\nsize = \"96KiB\"\n";
    let iteration = |name: &str, on: &str, steps: &str| {
        format!("[[iterations]]\nname = \"{name}\"\non = \"{on}\"\nsteps = [{steps}]\n")
    };
    let ranges = if added {
        r#""clone", { allocate = { offset = "1MiB", length = "1MiB" } }, { deallocate = { offset = "128KiB", length = "512KiB" } },
        { seek-hole = "5B" }, { seek-data = "200KiB" }, { read = { size = "512KiB", whole = true, plus = true } },"#
    } else {
        ""
    };
    let own =
        format!(r#""create", {{ write = {{ size = "64KiB", count = 16 }} }}, "copy", {ranges} "close", "remove""#);
    let iterations = [iteration("set", "file", "\"copy\""), iteration("own", "own", &own)].concat();
    let path = scratch.path().join(if added { "added.toml" } else { "copies.toml" });
    std::fs::write(
        &path,
        format!("name = \"copies\"\ndescription = \"\"\n{files}[script]\nverify = \"100%\"\n{iterations}"),
    )
    .unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn operations_of_nfs_4_2_are_on_the_wire_as_the_client_says() {
    let _alone = alone();
    let scratch = Scratch::new("added");
    let (copies, added) = (server_copies(&scratch, false), server_copies(&scratch, true));
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let target = server.target_of_4(2, None);
    // Each iteration is a dozen requests and 5 MiB: all that are due must end before the drain does, also on a slow machine.
    beside_the_tap(&added, &target, server.address().port(), "40");
    let report = run(&added, &target, &[]);
    let names: Vec<_> =
        report["operations"].as_array().unwrap().iter().map(|row| row["procedure"].as_str().unwrap()).collect();
    for name in ["COPY", "CLONE", "ALLOCATE", "DEALLOCATE", "SEEK", "READ_PLUS"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // A server of NFS 3 to 4.1 is not asked; SMB and mounted paths have the copy alone.
    let directory = format!("file://{}", scratch.folder("set").display());
    run(&copies, &directory, &[]);
    for (workload, target, says) in [
        (&added, "embedded:nfs?version=4.1", "only from version 4.2 on, but the target has version 4.1"),
        (&copies, "embedded:nfs", "step `copy`, which NFS has only from version 4.2 on, but the target has version 3"),
        (&added, directory.as_str(), "step `clone`, which only NFS 4.2 has; give an nfs:// target with version=4.2"),
    ] {
        let output = plimsoll(&["run", workload, "--target", target, "--duration", "100ms"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(says), "{said}");
    }
}

#[test]
fn what_a_link_leads_to_is_not_swept() {
    let _alone = alone();
    let scratch = Scratch::new("links");
    let target = format!("file://{}", scratch.folder("set").display());
    let thesis = scratch.folder("home").join("thesis.txt");
    std::fs::write(&thesis, "years of work").unwrap();
    run("mixed", &target, &[]);
    let set = std::fs::read_dir(scratch.folder("set")).unwrap().next().unwrap().unwrap().path();
    // Remains of a killed run: verifying removes them.
    let left = set.join("d1/own-d-0-1-2-3-0");
    std::os::unix::fs::symlink(scratch.folder("home"), &left).unwrap();
    run("mixed", &target, &[]);
    assert!(left.symlink_metadata().is_err(), "the link goes");
    assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "years of work", "and nothing else");
}

#[test]
fn a_workload_of_nothing_but_null_has_numbers() {
    let _alone = alone();
    for target in ["embedded:nfs", "embedded:smb"] {
        let report = run("null", target, &[]);
        let level = &report["levels"][0];
        assert!(level["operations_per_s"].as_f64() > Some(0.0), "{target}");
        assert!(level["response_time"]["count"].as_u64() > Some(0), "{target}");
    }
}

#[test]
fn several_levels_are_in_one_report() {
    let _alone = alone();
    let report = run("getattr", "embedded:nfs", &["--levels", "1,3"]);
    leads(&report, "response_time");
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(
        levels.iter().map(|level| level["load_name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["1 client", "3 clients"]
    );
    assert_eq!(report["run"]["workload"], "getattr");
    let rated = run("getattr", "embedded:smb", &["--rate", "200", "--arrivals", "poisson"]);
    assert_eq!(rated["levels"][0]["asked_per_s"], 200.0);
    assert!(rated["levels"][0]["response_time_from_intended"]["count"].as_u64().unwrap() > 10);
    leads(&rated, "response_time_from_intended");
}

#[test]
fn no_cpu_idle_is_a_term_of_the_run() {
    let _alone = alone();
    let rated =
        ["run", "getattr", "--target", "embedded:nfs", "--rate", "200", "--duration", "300ms", "--json", "-", "-q"];
    let facts = |more: &[&str]| {
        let output = plimsoll(&[&rated, more].concat());
        let facts = &crate::only_side(&output.stdout)["run"]["facts"];
        if facts.is_null() { Err(String::from_utf8(output.stderr).unwrap()) } else { Ok(facts.to_string()) }
    };
    assert!(!facts(&[]).unwrap().contains("no CPU idle states"));
    match facts(&["--no-cpu-idle"]) {
        Ok(facts) => assert!(facts.contains(", no CPU idle states\""), "a comparison must see it: {facts}"),
        // A container with less processor time than processors.
        Err(said) => {
            assert!(said.contains("a control group limits the CPU time"), "{said}");
            skip("processor time is limited here");
        }
    }
}

#[test]
fn the_demonstration_shows_both_protocols() {
    let _alone = alone();
    let scratch = Scratch::new("demo");
    let page = scratch.path().join("demo.html");
    let output = plimsoll(&["demo", "--html", page.to_str().unwrap(), "--json", "-", "-q"]);
    let report: Value = crate::only_side(&output.stdout);
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 6);
    assert!(levels.iter().all(|level| level["errors"] == 0 && level["count"].as_u64() > Some(0)), "{levels:#?}");
    let named = |name: &str| report["operations"].as_array().unwrap().iter().any(|row| row["protocol"] == name);
    assert!(named("SMB2") && named("NFS3"));
    assert!(std::fs::read_to_string(&page).unwrap().contains("NFS, 16 clients"));
}

#[test]
fn what_makes_no_sense_is_usage_and_what_is_not_there_is_not() {
    let code = |arguments: &[&str]| plimsoll(&[&["run"], arguments].concat()).status.code();
    assert_eq!(code(&["nothing-like-it"]), Some(2));
    assert_eq!(code(&["mixed", "--levels", "1.5"]), Some(2));
    assert_eq!(code(&["mixed", "--target", "ftp://host/"]), Some(2));
    assert_eq!(code(&["mixed", "--clients", "0"]), Some(2));
    // Port 1 of loopback has no listener.
    assert_eq!(code(&["mixed", "--target", "smb://u@127.0.0.1:1/share"]), Some(3));
    assert_eq!(code(&["mixed", "--target", "nfs://127.0.0.1:1/export"]), Some(3));
}
