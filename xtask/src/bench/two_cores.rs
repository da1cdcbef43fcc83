//! `plimsoll analyze --threads 2` on two cores beside tshark, in the turns of the comparison.
//!
//! tshark has one thread, so a second core does not make it faster, and it stays on the core of the comparison. Processor times of one
//! and of two cores are not comparable: this table compares elapsed times.

use std::ffi::OsStr;
use std::path::Path;

use super::comparison::promise;
use super::measured::{Bench, Taken, median, quartiles};

/// The project's target on two cores: tshark's elapsed time is this multiple of Plimsoll's.
const TIMES_TSHARK: f64 = 90.0;

/// One run with two threads; `None` on a machine with one core.
pub(crate) fn analyze(bench: &Bench, plimsoll: &Path, capture: &Path) -> Result<Option<Taken>, String> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Ok(None);
    }
    let arguments = ["analyze", "--quiet", "--threads", "2"].map(OsStr::new);
    let (taken, _) = bench.run_on_all_cores(plimsoll, &[arguments.as_slice(), &[capture.as_os_str()]].concat())?;
    Ok(Some(taken))
}

/// Prints the table of both programs' rounds.
pub(crate) fn print(two_threads: &[Taken], tshark: &[Taken]) {
    println!(
        "\ntwo cores: plimsoll with two threads may use all cores, tshark uses one, so only elapsed times (wall) compare"
    );
    println!("{:<21} {:>9} {:>9}", "", "wall, s", "CPU, s");
    for (name, all) in [("plimsoll, 2 threads", two_threads), ("tshark", tshark)] {
        let [wall, cpu] = [|taken: &Taken| taken.wall_s, |taken: &Taken| taken.cpu_s]
            .map(|of| median(all.iter().map(of).collect()).unwrap_or(f64::NAN));
        println!("{name:<21} {wall:>9.3} {cpu:>9.3}");
    }
    // Of the same round: what else the machine does is much the same for both.
    let times: Vec<f64> = tshark.iter().zip(two_threads).map(|(tshark, two)| tshark.wall_s / two.wall_s).collect();
    let [low, high] = quartiles(&times).unwrap_or([f64::NAN; 2]);
    let times = median(times).unwrap_or(f64::NAN);
    promise(&format!("{times:.1} × tshark by elapsed time (quartiles {low:.1}, {high:.1})"), TIMES_TSHARK, times);
}
