//! NetBench's load on Samba, by smbtorture.

use std::fs;
use std::time::Duration;

use super::arguments::{Arguments, Known};
use super::capture::Capture;
use super::folder::Folder;
use super::load;
use super::network::Network;
use super::running::Running;
use super::samba::Samba;
use crate::Outcome;

const KNOWN: Known = Known {
    numbers: &[("--clients", 4), ("--seconds", 10), ("--lines", 0), ("--rate", 0)],
    texts: &[("--load", "/usr/share/dbench/client.txt")],
    flags: &[],
    files: &["OUT.pcap"],
};
/// What a load generator gets beyond its time, to start and to clean up.
const GRACE: Duration = Duration::from_secs(120);

/// Records NetBench: every client is a load generator of its own with an address of its own, and a share of its own,
/// since every load generator begins and ends with the removal of all folders of clients.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, KNOWN)?;
    let file = arguments.text("--load");
    let load = fs::read_to_string(file).map_err(|error| format!("{file}: {error}; install dbench"))?;
    let (clients, seconds) = (arguments.number("--clients"), arguments.number("--seconds"));
    let lines = usize::try_from(arguments.number("--lines")).map_err(|error| error.to_string())?;
    let network = Network::open(clients)?;
    let folder = Folder::new()?;
    let samba = Samba::start(network, &folder, clients)?;
    let filter = format!("tcp port {}", samba.address.port());
    let capture = Capture::start(network, &folder, &filter, arguments.file(0))?;
    let load = folder.write("load.txt", load::shortened(&load, lines))?;
    let mut running = Vec::new();
    for client in 0..clients {
        let mut command = network.at_client(client, "smbtorture");
        command.arg(samba.share_of(client)).args(["-p", &samba.address.port().to_string(), "-U%", "-m", "NT1"]);
        command.args(["--option=clientminprotocol=NT1", "bench.nbench", "--num-progs=1"]);
        command.arg(format!("--loadfile={}", load.display())).args(["-t", &seconds.to_string()]);
        if arguments.number("--rate") > 0 {
            command.arg(format!("--option=torture:targetrate={}", arguments.number("--rate")));
        }
        command.current_dir(folder.path());
        let log = folder.path().join(format!("torture{client}.log"));
        running.push(Running::start(&format!("smbtorture {client}"), &mut command, &log)?);
    }
    for torture in &mut running {
        let (status, said) = torture.wait(Duration::from_secs(seconds).saturating_add(GRACE))?;
        if !status.success() {
            return Err(format!("smbtorture: {status}\n{said}"));
        }
        for line in said.lines().filter(|line| line.contains("Throughput") || line.starts_with('[')) {
            println!("record: {line}");
        }
    }
    capture.finish()
}
