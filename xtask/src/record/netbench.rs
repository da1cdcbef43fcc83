//! NetBench's load on Samba, by smbtorture.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::capture::Capture;
use super::folder::Folder;
use super::load;
use super::network::Network;
use super::running::Running;
use super::samba::Samba;
use crate::Outcome;

/// How much NetBench.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Capture to write
    output: PathBuf,
    /// Number of clients, each with a separate address
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// Duration in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number of lines to use from the start of the load file, without those that fill the disk; clients repeat these
    /// lines. 0: the whole file
    #[arg(long, default_value_t = 0)]
    lines: usize,
    /// Target throughput per client, MB/s; 0: no limit
    #[arg(long, default_value_t = 0)]
    rate: u64,
    /// Load file of dbench
    #[arg(long, default_value = "/usr/share/dbench/client.txt")]
    load: PathBuf,
}

/// Additional time of a load generator, to start and to clean up.
const GRACE: Duration = Duration::from_secs(120);

/// Records NetBench: every client is a separate load generator with a separate address and a separate share, because every load generator
/// removes all clients' folders at its start and end.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let &Arguments { clients, seconds, rate, .. } = arguments;
    let load = fs::read_to_string(&arguments.load)
        .map_err(|error| format!("{}: {error}; install dbench", arguments.load.display()))?;
    let network = Network::open(clients)?;
    let folder = Folder::new()?;
    let samba = Samba::start(network, &folder, clients)?;
    let filter = format!("tcp port {}", samba.address.port());
    let capture = Capture::start(network, &folder, &filter, &arguments.output)?;
    let load = folder.write("load.txt", load::shortened(&load, arguments.lines))?;
    let mut running = Vec::new();
    for client in 0..clients {
        let mut command = network.at_client(client, "smbtorture");
        command.arg(samba.share_of(client)).args(["-p", &samba.address.port().to_string(), "-U%", "-m", "NT1"]);
        command.args(["--option=clientminprotocol=NT1", "bench.nbench", "--num-progs=1"]);
        command.arg(format!("--loadfile={}", load.display())).args(["-t", &seconds.to_string()]);
        if rate > 0 {
            command.arg(format!("--option=torture:targetrate={rate}"));
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
