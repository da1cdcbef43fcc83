//! `cargo xtask starved`: the verdicts of runs on a quiet machine, and of runs whose processor a real-time thread takes most of.
//!
//! A server of ours has one processor, the load generator (one thread) another. The *hog* is a thread of this program: SCHED_FIFO on the
//! generator's processor, busy for 8.5 ms of every 10 ms. It ends with each run, at the latest after [`HOG_ENDS`], and with this program,
//! however that ends. No quiet run may be invalid, and no starved one valid.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use crate::bench::binary;

/// The processors of the generator (and the hog), and of the server.
const GENERATOR: &str = "0";
const SERVER: &str = "1";
/// Period of the hog.
const PERIOD: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_micros(8_500);
/// No run of these takes as long.
const HOG_ENDS: Duration = Duration::from_secs(60);
/// Above all normal threads is enough.
const PRIORITY: i32 = 1;
/// The loads: their names and flags.
const LOADS: [(&str, &[&str]); 3] = [
    ("closed", &["--clients", "2"]),
    ("rate", &["--clients", "2", "--rate", "500"]),
    ("users", &["--users", "50", "--every", "100ms"]),
];
const FIXED: [&str; 12] =
    ["run", "getattr", "--threads", "1", "--warmup", "500ms", "--duration", "3s", "-q", "--json", "-", "--target"];

/// `runs` runs of each kind.
pub(crate) fn run(runs: u32) -> Outcome {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        return Err("needs two processors: one for the generator, one for the server".to_owned());
    }
    let plimsoll = binary::plimsoll()?;
    let server = Server::start(&plimsoll)?;
    println!("{:<8} {:<8} {:>6} {:>8} {:>8}   op/s", "Load", "Machine", "Valid", "Partial", "Invalid");
    let mut wrong = 0;
    for (load, flags) in LOADS {
        for starved in [false, true] {
            let (mut counts, mut rates) = ([0_u32; 3], Vec::new());
            for _ in 0..runs {
                let (verdict, rate) = one(&plimsoll, &server.target, flags, starved)?;
                *counts.get_mut(verdict).ok_or("no such verdict")? += 1;
                rates.push(rate);
            }
            let [valid, partial, invalid] = counts;
            wrong += if starved { valid } else { invalid };
            rates.sort_by(f64::total_cmp);
            let range = [rates.first(), rates.last()].map(|rate| rate.copied().unwrap_or(0.0));
            let machine = if starved { "starved" } else { "quiet" };
            println!(
                "{load:<8} {machine:<8} {valid:>6} {partial:>8} {invalid:>8}   {:.0} to {:.0}",
                range[0], range[1]
            );
        }
    }
    if wrong == 0 {
        Ok(())
    } else {
        Err(format!("{wrong} runs have the wrong verdict: quiet and invalid, or starved and valid"))
    }
}

/// One run: its verdict (0 valid, 1 partial, 2 invalid), and its operations per second.
fn one(plimsoll: &Path, target: &str, flags: &[&str], starved: bool) -> Result<(usize, f64), String> {
    let _hog = if starved { Some(Hog::start()?) } else { None };
    let mut command = on(GENERATOR, plimsoll);
    let output = command.args(FIXED).arg(target).args(flags).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("taskset: {error}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", said()))?;
    let verdict = report.pointer("/sides/0/validity/verdict").and_then(Value::as_str).unwrap_or_default();
    let place = ["valid", "partial", "invalid"].iter().position(|known| *known == verdict);
    let rate = report.pointer("/sides/0/levels/0/operations_per_s").and_then(Value::as_f64);
    Ok((place.ok_or_else(said)?, rate.ok_or_else(said)?))
}

fn on(processor: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", processor]).arg(program);
    command
}

/// The server; it ends with this value.
struct Server {
    child: Child,
    target: String,
}

impl Server {
    fn start(plimsoll: &Path) -> Result<Self, String> {
        use std::io::BufRead;
        let mut command = on(SERVER, plimsoll);
        command.args(["serve", "nfs", "--listen", "127.0.0.1:0", "--threads", "1"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| format!("taskset: {error}"))?;
        let mut target = String::new();
        let read = child.stdout.take().map(|out| std::io::BufReader::new(out).read_line(&mut target));
        let server = Self { child, target: target.trim().to_owned() };
        match read {
            Some(Ok(count)) if count > 0 => Ok(server),
            _ => Err("the server does not say where it listens".to_owned()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A real-time thread on the generator's processor; it ends with this value.
struct Hog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hog {
    fn start() -> Result<Self, String> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let (say, hear) = sync_channel(1);
        let work = move || {
            let ready = settle();
            let begun = Instant::now();
            let goes_on = ready.is_ok();
            // The starting thread waits for it.
            let heard = say.send(ready).is_ok();
            while goes_on && heard && !seen.load(Relaxed) && begun.elapsed() < HOG_ENDS {
                let from = Instant::now();
                while from.elapsed() < BUSY {
                    std::hint::spin_loop();
                }
                std::thread::sleep(PERIOD.saturating_sub(from.elapsed()));
            }
        };
        let thread = std::thread::Builder::new().name("hog".to_owned()).spawn(work);
        let hog = Self { over, thread: Some(thread.map_err(|error| error.to_string())?) };
        let ready = hear.recv().map_err(|error| error.to_string())?;
        ready.map_err(|error| format!("a real-time thread needs root: {error}"))?;
        Ok(hog)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        // It holds nothing that a panic could have broken.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Binds the calling thread to the generator's processor and gives it a real-time policy.
fn settle() -> std::io::Result<()> {
    // SAFETY: all zeros is a valid set of processors, which is numbers only.
    let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: processor 0 is within the set.
    unsafe { libc::CPU_SET(0, &mut only) };
    // SAFETY: the pointer is to a complete set that outlives the call; 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const only) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let priority = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the pointer is to a complete `sched_param` that outlives the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}
