//! `plimsoll analyze` with one thread and with two, in turns, on all cores.

use std::ffi::OsStr;
use std::path::Path;

use super::binary;
use super::comparison::{describe, promise, read_once};
use super::inputs;
use super::measured::{Bench, Taken, median, quartiles};
use crate::Outcome;

/// What the project promises of two cores: so many times the speed of one, on each kind of traffic.
const TIMES: f64 = 1.8;

/// Compares, in so many rounds of four runs: one, two, two and one thread.
pub(crate) fn run(rounds: usize) -> Outcome {
    let plimsoll = binary::plimsoll()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("\nthreads: {rounds} rounds of four runs in turns, {cores} cores, which no other work should use");
    for traffic in [inputs::op_dense()?, inputs::bulk()?].into_iter().flatten() {
        let capture = traffic.captures()?.long;
        read_once(&capture)?;
        compare(&Bench::new()?, traffic.name, &capture, &plimsoll, rounds)?;
    }
    Ok(())
}

fn compare(bench: &Bench, name: &str, capture: &Path, plimsoll: &Path, rounds: usize) -> Outcome {
    let (mut one, mut two): (Vec<Taken>, Vec<Taken>) = (Vec::new(), Vec::new());
    let analyze = |threads: &str| {
        let arguments = ["analyze", "--quiet", "--threads", threads].map(OsStr::new);
        let arguments = [arguments.as_slice(), &[capture.as_os_str()]].concat();
        bench.run_on_all_cores(plimsoll, &arguments).map(|(taken, _)| taken)
    };
    for _ in 0..rounds {
        one.push(analyze("1")?);
        two.push(analyze("2")?);
        two.push(analyze("2")?);
        one.push(analyze("1")?);
    }
    println!("\n{name}: {}", describe(capture));
    println!("{:<12} {:>9} {:>9}", "", "wall, s", "CPU, s");
    for (name, all) in [("one thread", &one), ("two threads", &two)] {
        let [wall, cpu] = [|taken: &Taken| taken.wall_s, |taken: &Taken| taken.cpu_s]
            .map(|of| median(all.iter().map(of).collect()).unwrap_or(f64::NAN));
        println!("{name:<12} {wall:>9.3} {cpu:>9.3}");
    }
    // Of neighbours: what else the machine does is much the same for both.
    let times: Vec<f64> = one.iter().zip(&two).map(|(one, two)| one.wall_s / two.wall_s).collect();
    let [low, high] = quartiles(&times).unwrap_or([f64::NAN; 2]);
    let times = median(times).unwrap_or(f64::NAN);
    promise(&format!("{times:.2} × one thread (quartiles {low:.2}, {high:.2})"), TIMES, times);
    Ok(())
}
