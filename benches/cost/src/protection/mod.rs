//! What signing, encryption, TLS and Kerberos cost: one client, the same operations with each protection in turn, on the same servers.

mod relay;
mod table;
mod targets;

use std::error::Error;
use std::time::Duration;

use plimsoll_drive::connect;
use plimsoll_model::{Group, Names, Sink, Transaction};

use crate::operation::Case;
use crate::plimsoll::{Extent, drive};
use table::{Round, Table};
use targets::{Protected, Targets};

/// Length of the measured phase of one run.
const MEASURED: Duration = Duration::from_millis(400);

/// An operation on both protocols, and the depths at which it is measured.
const CELLS: [(&str, [Case; 2], usize); 3] = [
    ("Get attributes, depth 1", [Case::SmbGetattr, Case::NfsGetattr], 1),
    ("Read 64 KiB, depth 1", [Case::SmbRead64k, Case::NfsRead64k], 1),
    ("Read 1 MiB, depth 1", [Case::SmbRead1m, Case::NfsRead1m], 1),
];

/// Runs everything `rounds` times, in turns, and prints a table for each operation.
pub fn run(rounds: usize) -> Result<(), Box<dyn Error>> {
    let targets = Targets::start()?;
    let rows = targets.rows()?;
    println!("One client on one connection, {rounds} rounds of {} ms per row, in turns.", MEASURED.as_millis());
    println!("Medians of the rounds; ratios to the row \"none\" of the same round: median (lowest to highest).");
    for (title, cases, depth) in CELLS {
        let mut table = Table::new(&rows);
        for round in 0..rounds {
            // Every other round goes through them backwards, so that a slow change of the machine hits all alike.
            let order: Vec<usize> = (0..rows.len()).collect();
            let order: Vec<usize> = if round % 2 == 0 { order } else { order.into_iter().rev().collect() };
            for index in order {
                let Some(row) = rows.get(index) else { continue };
                let case = if row.is_smb { cases[0] } else { cases[1] };
                let ran = one(&targets, row, case, depth);
                table.add(index, ran.map_err(|error| format!("{}, {title}: {error}", row.name))?);
            }
        }
        println!("\n## {title}\n");
        table.print(cases[0].length());
    }
    Ok(())
}

fn one(targets: &Targets, row: &Protected, case: Case, depth: usize) -> Result<Round, Box<dyn Error>> {
    let mut names = Names::default();
    let server = connect::open(&row.target, &row.options, &mut names)?;
    let measured_ns = u64::try_from(MEASURED.as_nanos())?;
    let extent = Extent { depth, slot_operations: u64::MAX, measured_ns: Some(measured_ns) };
    let before = targets.server_cpu(row)?;
    let (times, measured) = drive::<Times>(case, &*server, names, &extent)?;
    let after = targets.server_cpu(row)?;
    let facts = server.facts();
    if let Some(missing) = row.facts.iter().find(|fact| !facts.iter().any(|found| found.starts_with(**fact))) {
        return Err(format!("it was to be {missing}, and is {facts:?}").into());
    }
    let mut response_ns = times.measured_ns;
    response_ns.sort_unstable();
    let server_cpu = after.zip(before).map(|(after, before)| after - before);
    Ok(Round { measured, response_ns, server_cpu, all: times.all })
}

/// Response times of the operations.
#[derive(Default)]
struct Times {
    /// Those of the measured phase, ns.
    measured_ns: Vec<u64>,
    /// The number of all operations, with those before it.
    all: u64,
}

impl Sink for Times {
    fn transaction(&mut self, transaction: &Transaction, _: &Names) {
        let row = transaction.procedure.row();
        if row.group == Group::Session || row.group == Group::OpenClose || !transaction.counted {
            return;
        }
        self.all += 1;
        let time = transaction.timeline.response_time().and_then(|ns| u64::try_from(ns).ok());
        self.measured_ns.extend(time.filter(|_| transaction.level.is_some()));
    }
}
