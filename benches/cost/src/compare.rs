//! All clients in turns, and the table.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, Stdio};

use crate::libnfs;
use crate::measured::Measured;
use crate::operation::{Case, FILE, Protection, SIZE};
use crate::own_server::OwnServer;
use crate::plimsoll;
use crate::servers::Servers;

/// Costs of one operation at one depth: a client's name and its rounds, and the server's time while Plimsoll ran.
#[derive(Default)]
struct Costs {
    clients: BTreeMap<&'static str, Vec<f64>>,
    server: Vec<f64>,
}

/// Bytes that a record of TLS 1.3 adds to its data: header, content type, and the tag of its cipher (RFC 8446 5.2).
const RECORD: u64 = 5 + 1 + 16;

/// Runs all clients with these operations `rounds` times, in turns, and prints the table.
pub fn run(servers: &Servers, operations: &[Case], rounds: usize) -> Result<(), Box<dyn Error>> {
    let libnfs = libnfs::build(servers.folder())?;
    println!("Processor time of the client, µs an operation (median of {rounds} rounds in turns), user and system.");
    println!();
    println!("| operation | depth | plimsoll | by hand | echo | smb2 crate | libnfs | libnfs, no delay | server |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut promises = Vec::new();
    for &operation in operations {
        for depth in operation.depths() {
            let mut costs = Costs::default();
            for _ in 0..rounds {
                round(servers, libnfs.as_deref(), operation, depth, &mut costs)?;
            }
            println!("{}", costs.row(operation, depth));
            promises.extend(costs.promises(operation, depth));
        }
    }
    println!();
    println!("| operation | depth | beside | plimsoll | by hand | at most | |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    promises.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn round(
    servers: &Servers,
    libnfs: Option<&std::path::Path>,
    operation: Case,
    depth: usize,
    costs: &mut Costs,
) -> Result<(), Box<dyn Error>> {
    let count = operation.count(depth);
    let (number, deep) = (count.to_string(), depth.to_string());
    let own = |program: &str, rest: &[&str]| -> Result<Measured, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["client", program, operation.name(), &deep, &number]).args(rest);
        measure(command.envs(servers.environment(operation)?.iter().cloned()))
    };
    let before = servers.cpu(operation)?;
    let target = servers.target(operation)?;
    let own_client = own("plimsoll", &[&target])?;
    let server = (servers.cpu(operation)? - before).as_secs_f64() * 1e6;
    // The server did the client's warm-up, too.
    let total = plimsoll::total(count, depth);
    costs.server.push(server / total as f64);
    costs.add("plimsoll", &own_client);
    costs.add("by hand", &own("by-hand", &[&target])?);
    // The other programs have one connection.
    if operation.channels() > 1 {
        return Ok(());
    }
    // Each message is in a separate TLS record. Plimsoll reports the sizes before encryption.
    let record = if operation.protection() == Protection::Tls { RECORD } else { 0 };
    let [request, answer] = [own_client.request, own_client.answer].map(|bytes| (bytes + record).to_string());
    let echo = OwnServer::start(&["echo-server", &request, &answer])?;
    costs.add("echo", &own("echo", &[echo.address(), &request, &answer])?);
    drop(echo);
    if operation.is_smb() {
        let address = servers.smb_address().to_string();
        costs.add("smb2", &own("smb2", &[&address, servers.share(), servers.user(), servers.password()])?);
    } else if let Some(libnfs) = libnfs.filter(|_| operation.is_in_libnfs()) {
        let what = if operation.length() > 0 { "read" } else { "getattr" };
        for (name, manner) in [("libnfs", "as-is"), ("libnfs, no delay", "no-delay")] {
            let mut command = Command::new(libnfs);
            command.args([&servers.libnfs_url(), what, &number, &deep, &operation.length().to_string(), FILE, manner]);
            costs.add(name, &measure(&mut command)?);
        }
    }
    Ok(())
}

/// Runs a client program, and reads its result.
pub fn measure(command: &mut Command) -> Result<Measured, Box<dyn Error>> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let line = String::from_utf8_lossy(&output.stdout);
    let measured = Measured::parse(line.trim()).filter(|_| output.status.success());
    measured.ok_or_else(|| format!("{:?}: {} {line}", command.get_program(), output.status).into())
}

impl Costs {
    fn add(&mut self, client: &'static str, measured: &Measured) {
        self.clients.entry(client).or_default().push(measured.cost_us());
    }

    /// A client's cost of an operation, µs.
    fn of(&self, client: &str) -> Option<f64> {
        self.clients.get(client).map(|rounds| median(rounds))
    }

    fn row(&self, operation: Case, depth: usize) -> String {
        let show = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |us| format!("{us:.2}"));
        let columns = ["plimsoll", "by hand", "echo", "smb2", "libnfs", "libnfs, no delay"];
        let columns = columns.map(|client| show(self.of(client)));
        format!("| {} | {depth} | {} | {:.2} |", operation.name(), columns.join(" | "), median(&self.server))
    }

    /// The median of the rounds' ratios: what happens to a round happens to both.
    fn ratio(&self, client: &str, others: &[f64]) -> f64 {
        let own = self.clients.get(client).map_or(&[][..], Vec::as_slice);
        let ratios: Vec<f64> = own.iter().zip(others).map(|(own, other)| own / other).collect();
        median(&ratios)
    }

    /// Each target, and related ratios without a target: the ratio, that of the same requests sent by hand, its limit, and whether it is
    /// met.
    fn promises(&self, operation: Case, depth: usize) -> Vec<String> {
        let line = |name: &str, others: &[f64], limit: Option<f64>| {
            let (ratio, by_hand) = (self.ratio("plimsoll", others), self.ratio("by hand", others));
            let target = match limit {
                Some(limit) if ratio <= limit => format!("{limit} | met"),
                Some(limit) => format!("{limit} | MISSED"),
                None => "– | not promised".to_owned(),
            };
            format!("| {} | {depth} | {name} | {ratio:.2} | {by_hand:.2} | {target} |", operation.name())
        };
        let is_protected = operation.protection() != Protection::None;
        let limits: &[(&str, Option<f64>)] = if is_protected {
            &[("by hand", None)]
        } else if depth == 1 {
            &[("echo", Some(1.25)), ("by hand", None)]
        } else {
            &[("smb2", Some(0.5)), ("libnfs", Some(0.8)), ("libnfs, no delay", None), ("by hand", None)]
        };
        let clients =
            limits.iter().filter_map(|&(name, limit)| self.clients.get(name).map(|others| line(name, others, limit)));
        clients.chain([line("server", &self.server, (!is_protected).then_some(1.0))]).collect()
    }
}

/// The middle one.
pub fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The content of the read file.
pub fn content() -> Vec<u8> {
    (0..SIZE).map(|at| ((at * 31) >> 3) as u8).collect()
}
