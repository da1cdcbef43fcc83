//! Compares Plimsoll with other programs, on the same captures and the same core, alternately. `two_cores.rs` adds runs with two threads.
//!
//! The limits apply to CPU time: with all input in the page cache it is the program's use of its core, and other work on the machine does
//! not change it. Wall time is shown too.

use std::ffi::OsStr;
use std::path::Path;

use super::binary;
use super::inputs::{self, Captures};
use super::measured::{Bench, Taken, median};
use super::programs::Program;
use super::two_cores;
use crate::Outcome;

/// The project's target: this multiple of the operations per second of each, on op-dense traffic.
const TIMES_TSHARK: f64 = 50.0;
const TIMES_NFSTRACE: f64 = 10.0;
/// The target on bulk traffic: this fraction of the rate of a loop over a memory map.
const SHARE_OF_WALK: f64 = 0.60;
/// Memory on a capture ten times as long, KiB at most, and how much more than on the short one is measuring error.
const PEAK_KIB: u64 = 64 << 10;
const PEAK_ERROR_KIB: u64 = 1 << 10;

/// Compares in `rounds` rounds, and prints the tables.
pub(crate) fn run(rounds: usize) -> Outcome {
    let plimsoll = binary::plimsoll()?;
    let (Some(op_dense), Some(bulk)) = (inputs::op_dense()?, inputs::bulk()?) else {
        println!("no comparison: it is made of ../shared/captures or of captures in captures/, and there are none");
        return Ok(());
    };
    let bench = Bench::new()?;
    println!("\ncomparison: {rounds} rounds in turns, medians, {}", bench.describe());
    let dense = op_dense.captures()?;
    operations(&bench, op_dense.name, &dense, &plimsoll, rounds)?;
    let bulky = bulk.captures()?;
    walk(&bench, bulk.name, &bulky, &plimsoll, rounds)?;
    memory(&bench, &plimsoll, &[(op_dense.name, &dense), (bulk.name, &bulky)])
}

/// One program's times in all rounds.
#[derive(Default)]
struct Rounds(Vec<Taken>);

impl Rounds {
    fn wall_s(&self) -> f64 {
        median(self.0.iter().map(|taken| taken.wall_s).collect()).unwrap_or(f64::NAN)
    }

    fn cpu_s(&self) -> f64 {
        median(self.0.iter().map(|taken| taken.cpu_s).collect()).unwrap_or(f64::NAN)
    }

    fn peak_kib(&self) -> Option<u64> {
        self.0.iter().filter_map(|taken| taken.peak_kib).max()
    }
}

/// Operations per second compared with the other programs'.
fn operations(bench: &Bench, name: &str, captures: &Captures, plimsoll: &Path, rounds: usize) -> Outcome {
    let programs = Program::all(plimsoll);
    let mut taken: Vec<(Rounds, u64)> = programs.iter().map(|_| (Rounds::default(), 0)).collect();
    let mut two_threads = Vec::new();
    read_once(&captures.long)?;
    for round in 0..rounds {
        two_threads.extend(two_cores::analyze(bench, plimsoll, &captures.long)?);
        for (program, (all, found)) in programs.iter().zip(&mut taken) {
            let (one, said) = program.run(bench, &captures.long)?;
            println!("round {}: {} {:.2} s", round + 1, program.name(), one.wall_s);
            all.0.push(one);
            if round == 0 {
                *found = program.operations(bench, &captures.long, &said)?;
            }
        }
    }
    println!("\n{name}: {}", describe(&captures.long));
    println!(
        "{:<10} {:>11} {:>9} {:>9} {:>15} {:>10} {:>12} {:>12}",
        "", "operations", "wall, s", "CPU, s", "per CPU second", "peak, MiB", "ratio, wall", "ratio, CPU"
    );
    let Some((ours, ours_found)) = taken.first() else { return Ok(()) };
    // Of rates, not of times: a program that found fewer operations did less.
    let ratio = |found: u64, ours_s: f64, s: f64| (*ours_found as f64 / ours_s) / (found as f64 / s);
    let mut verdicts = Vec::new();
    for (program, (all, found)) in programs.iter().zip(&taken) {
        let (wall, cpu) = (all.wall_s(), all.cpu_s());
        let (by_wall, by_cpu) = (ratio(*found, ours.wall_s(), wall), ratio(*found, ours.cpu_s(), cpu));
        println!(
            "{:<10} {found:>11} {wall:>9.3} {cpu:>9.3} {:>15.0} {:>10} {by_wall:>12.1} {by_cpu:>12.1}",
            program.name(),
            *found as f64 / cpu,
            mib(all.peak_kib()),
        );
        match program {
            Program::Plimsoll(_) => {}
            Program::Tshark(_) => verdicts.push(("tshark", TIMES_TSHARK, by_cpu)),
            Program::Nfstrace(..) => verdicts.push(("nfstrace", TIMES_NFSTRACE, by_cpu)),
        }
    }
    for (name, promised, times) in verdicts {
        promise(&format!("{times:.1} × {name}"), promised, times);
    }
    let tshark = programs.iter().zip(&taken).find(|(program, _)| matches!(program, Program::Tshark(_)));
    match tshark {
        Some((_, (all, _))) if !two_threads.is_empty() => two_cores::print(&two_threads, &all.0),
        Some(_) => println!("not compared on two cores: this machine has one"),
        None => {}
    }
    Ok(())
}

/// The rate on large packets compared with a loop over a memory map.
fn walk(bench: &Bench, name: &str, captures: &Captures, plimsoll: &Path, rounds: usize) -> Outcome {
    let walker = binary::build("xtask", "xtask")?;
    let capture = captures.long.as_os_str();
    let program = Program::Plimsoll(plimsoll.to_owned());
    read_once(&captures.long)?;
    let (mut ours, mut loops) = (Rounds::default(), Rounds::default());
    // Runs are short, so there are more of them in the same time.
    for _ in 0..rounds.saturating_mul(3) {
        ours.0.push(program.run(bench, &captures.long)?.0);
        loops.0.push(bench.run(&walker, &[OsStr::new("walk"), capture])?.0);
    }
    let bytes = std::fs::metadata(&captures.long).map_err(|error| error.to_string())?.len() as f64;
    println!("\n{name}: {}", describe(&captures.long));
    println!("{:<10} {:>9} {:>9} {:>15} {:>10}", "", "wall, s", "CPU, s", "MB a CPU second", "peak, MiB");
    for (name, all) in [("plimsoll", &ours), ("map walk", &loops)] {
        let (wall, cpu) = (all.wall_s(), all.cpu_s());
        println!("{name:<10} {wall:>9.3} {cpu:>9.3} {:>15.0} {:>10}", bytes / cpu / 1e6, mib(all.peak_kib()));
    }
    let [by_wall, by_cpu] = [loops.wall_s() / ours.wall_s(), loops.cpu_s() / ours.cpu_s()];
    let share = format!("{:.0} % of the loop's rate ({:.0} % by wall)", by_cpu * 100.0, by_wall * 100.0);
    promise(&share, SHARE_OF_WALK, by_cpu);
    Ok(())
}

/// Peak memory on captures, and on ones ten times as long.
fn memory(bench: &Bench, plimsoll: &Path, captures: &[(&str, &Captures)]) -> Outcome {
    let program = Program::Plimsoll(plimsoll.to_owned());
    println!("\nmemory");
    println!("{:<10} {:>12} {:>16} {:>18}", "", "peak, MiB", "ten times, MiB", "a table too, MiB");
    for (name, captures) in captures {
        let (short, _) = program.run(bench, &captures.short)?;
        let (long, _) = program.run(bench, &captures.long)?;
        let table = ["analyze", "--quiet", "--transactions", "table.parquet"].map(OsStr::new);
        let (tabled, _) = bench.run(plimsoll, &[table.as_slice(), &[captures.long.as_os_str()]].concat())?;
        let [short, long, tabled] = [short, long, tabled].map(|taken| taken.peak_kib);
        println!("{name:<10} {:>12} {:>16} {:>18}", mib(short), mib(long), mib(tabled));
        if let (Some(short), Some(long)) = (short, long) {
            let is_met = long <= PEAK_KIB && long <= short + PEAK_ERROR_KIB;
            println!("  {}: 64 MiB at most, and no more than the short one took", verdict(is_met));
        }
    }
    Ok(())
}

/// Brings a file into the page cache, so that the first program is not the one that waits for the disk.
pub(crate) fn read_once(path: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = std::fs::File::open(path).map_err(failed)?;
    std::io::copy(&mut file, &mut std::io::sink()).map_err(failed)?;
    Ok(())
}

pub(crate) fn promise(what: &str, promised: f64, measured: f64) {
    let wanted = if promised < 1.0 { format!("{:.0} %", promised * 100.0) } else { format!("{promised} ×") };
    println!("  {}: {what} (promised: {wanted})", verdict(measured >= promised));
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

pub(crate) fn describe(path: &Path) -> String {
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    format!("{}, {:.0} MB", path.file_name().unwrap_or_default().to_string_lossy(), bytes as f64 / 1e6)
}

fn mib(kib: Option<u64>) -> String {
    kib.map_or_else(|| "?".to_owned(), |kib| format!("{:.1}", kib as f64 / 1024.0))
}
