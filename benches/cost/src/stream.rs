//! A cached file read in pieces of 1 MiB: Plimsoll compared with smbclient and nfs-cat, which discard the data.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::compare;
use crate::measured::{Measured, children};
use crate::operation::{BIG_FILE, BIG_SIZE, Case};
use crate::servers::Servers;

/// Reads that Plimsoll has outstanding: one on its way while the next is being read. With more, the server's buffers leave its
/// cache: 3,300 MB/s with two, 2,900 with four, 2,450 with eight.
const DEPTH: usize = 2;
/// Bytes in the units of the table.
const MB: f64 = 1e6;
const GIB: f64 = (1u64 << 30) as f64;

/// The data that a program moved, and its cost.
#[derive(Clone, Copy)]
struct Moved {
    rate: f64,
    cpu_ms: f64,
}

impl Moved {
    fn new(bytes: u64, elapsed: Duration, cpu: Duration) -> Self {
        let bytes = bytes as f64;
        Self { rate: bytes / MB / elapsed.as_secs_f64(), cpu_ms: cpu.as_secs_f64() * 1e3 * GIB / bytes }
    }
}

/// Runs everything `rounds` times, in turns, and prints the table.
pub fn run(servers: &Servers, rounds: usize) -> Result<(), Box<dyn Error>> {
    servers.add_big_file()?;
    println!();
    println!(
        "Reads of 1 MiB from a cached file of 1 GiB (median of {rounds} rounds in turns). Of the others, what they"
    );
    println!("take to log on and leave is subtracted.");
    println!();
    println!("| protocol | program | MB/s | CPU, ms a GiB | promises |");
    println!("| --- | --- | --- | --- | --- |");
    for (operation, other) in [(Case::SmbStream, "smbclient"), (Case::NfsStream, "nfs-cat")] {
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            own.push(ours(servers, operation)?);
            theirs.push(reader(servers, operation)?);
        }
        let (own, theirs) = (median(&own), median(&theirs));
        let protocol = if operation.is_smb() { "SMB" } else { "NFS" };
        let verdict = |is_met: bool| if is_met { "met" } else { "missed" };
        let (rate, cost) = (own.rate / theirs.rate, own.cpu_ms / theirs.cpu_ms);
        println!(
            "| {protocol} | plimsoll | {:.0} | {:.0} | {rate:.2} × the rate (≥ 1: {}); {cost:.2} × the CPU (< 1: {}) |",
            own.rate,
            own.cpu_ms,
            verdict(rate >= 1.0),
            verdict(cost < 1.0),
        );
        println!("| {protocol} | {other} | {:.0} | {:.0} | |", theirs.rate, theirs.cpu_ms);
    }
    Ok(())
}

fn ours(servers: &Servers, operation: Case) -> Result<Moved, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let count = BIG_SIZE >> 20;
    let (count, depth) = (count.to_string(), DEPTH.to_string());
    command.args(["client", "plimsoll", operation.name(), &depth, &count, &servers.target(operation)?]);
    let Measured { operations, cpu, elapsed, .. } = compare::measure(&mut command)?;
    Ok(Moved::new(operations << 20, elapsed, cpu))
}

/// The other program, with the file and without it.
fn reader(servers: &Servers, operation: Case) -> Result<Moved, Box<dyn Error>> {
    let command = |read: bool| {
        if operation.is_smb() {
            let port = servers.smb_address().port().to_string();
            let mut command = Command::new("smbclient");
            command.args(["-p", &port, "-N", &format!("//127.0.0.1/{}", servers.share()), "-c"]);
            command.arg(if read { format!("get {BIG_FILE} /dev/null") } else { "exit".to_owned() });
            command
        } else {
            let mut command = Command::new("nfs-cat");
            command.arg(servers.libnfs_file(if read { BIG_FILE } else { EMPTY }));
            command
        }
    };
    let (elapsed, cpu) = timed(command(true))?;
    let (to_log_on, to_log_on_cpu) = timed(command(false))?;
    Ok(Moved::new(BIG_SIZE, elapsed.saturating_sub(to_log_on), cpu.saturating_sub(to_log_on_cpu)))
}

/// An empty file, to see what all but the reading takes.
pub const EMPTY: &str = "empty.bin";

/// Wall-clock and processor time of a program that prints nothing that anybody wants.
fn timed(mut command: Command) -> Result<(Duration, Duration), Box<dyn Error>> {
    let (began, before) = (Instant::now(), children());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok((began.elapsed(), children() - before))
}

fn median(of: &[Moved]) -> Moved {
    let middle = |of: Vec<f64>| compare::median(&of);
    Moved {
        rate: middle(of.iter().map(|moved| moved.rate).collect()),
        cpu_ms: middle(of.iter().map(|moved| moved.cpu_ms).collect()),
    }
}
