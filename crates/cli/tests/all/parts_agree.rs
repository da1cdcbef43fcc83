//! Four processes that drive parts of a load measure the distribution of response times that one process measures.
//!
//! On an otherwise idle machine. Whether parts ask for the same operations is in `parts.rs`; that their statistics are
//! equal bit for bit, under a virtual clock, in plimsoll-experiment. `PLIMSOLL_BINARY` is the program that is measured.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::{Scratch, delaying_proxy};
use rustix::process::Signal;
use serde_json::Value;

use crate::{exports, measured_program};

/// Each of as many clients as there are parts has a connection; iterations per second of all.
const LOAD: [&str; 6] =
    ["random-read", "--set=size=1MiB", "--clients=4", "--depth=32", "--rate=2000", "--arrivals=poisson"];
const LASTS: [&str; 2] = ["--warmup=1s", "--duration=20s"];
const ROUNDS: usize = 4;
/// Much longer than this machine takes to wake a thread.
const DELAY: Duration = Duration::from_millis(20);
/// The largest distance between the two distribution functions.
const ALLOWED: f64 = 0.01;

fn plimsoll(folder: &Path) -> Command {
    let mut command = Command::new(measured_program());
    command.current_dir(folder);
    command
}

fn run(folder: &Path, url: &str, name: &str) -> Command {
    let mut command = plimsoll(folder);
    command.arg("run").args(LOAD).args(LASTS).args(["--target", url, "--quiet", "--record", name]);
    command.args(["--record-transactions", "none"]);
    command
}

fn ended(command: &mut Command) {
    let output = output(command);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Records the load of one process.
fn one_process(folder: &Path, url: &str, name: &str) {
    ended(run(folder, url, name).args(["--threads", "4"]));
}

/// Records the same load of four processes.
fn four_processes(folder: &Path, url: &str, name: &str) {
    let brief = ["--warmup", "0s", "--duration", "100ms", "--target", url, "--quiet"];
    let ahead = crate::parts::ahead(|| ended(plimsoll(folder).arg("run").args(LOAD).args(brief)));
    let start = humantime::format_rfc3339_millis(SystemTime::now() + ahead).to_string();
    let parts = [1, 2, 3, 4].map(|part| format!("{name}-{part}"));
    let running: Vec<Running> = (1..)
        .zip(&parts)
        .map(|(number, part)| {
            let mut command = run(folder, url, part);
            command.args(["--threads", "1", "--part", &format!("{number}/4"), "--start-at", &start]);
            Running::start(command.args(["--clock-bound", "1ms"])).unwrap()
        })
        .collect();
    for part in running {
        let ended = part.end_within(Duration::from_secs(120));
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    ended(plimsoll(folder).arg("merge").args(&parts).args(["--record", name, "--quiet"]));
}

/// Response times of a recording.
fn times(folder: &Path, name: &str) -> Histogram<u64> {
    let log = format!("{name}.hlog");
    ended(plimsoll(folder).args(["report", name, "--quiet", "--export", &log]));
    exports::read_log(&std::fs::read(folder.join(log)).unwrap()).0.remove("").unwrap()
}

/// The largest distance between two distribution functions (Kolmogorov and Smirnov), at the ends of cells.
fn distance(one: &Histogram<u64>, other: &Histogram<u64>) -> f64 {
    let below = |of: &Histogram<u64>, value: u64| of.count_between(0, value) as f64 / of.len() as f64;
    let ends = one.iter_recorded().chain(other.iter_recorded()).map(|cell| cell.value_iterated_to());
    ends.map(|end| (below(one, end) - below(other, end)).abs()).fold(0.0, f64::max)
}

/// The throughput of one process with its interval, and that of another recording.
fn throughput(folder: &Path, one: &str, other: &str) -> ([f64; 3], f64) {
    let compared = output(plimsoll(folder).args(["compare", one, other, "--json", "-", "--quiet"]));
    let report: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let metrics = report["comparison"]["levels"][0]["rows"][0]["metrics"].as_array().unwrap();
    let row = metrics.iter().find(|metric| metric["metric"] == "throughput").unwrap();
    let number = |at: usize, name: &str| row["estimates"][at][name].as_f64().unwrap();
    (["value", "low", "high"].map(|name| number(0, name)), number(1, "value"))
}

/// Runs of one process, of one process again, and of four, in turns: the distances of one process to four and to itself.
fn measure(folder: &Path, url: &str, what: &str) -> (f64, f64) {
    let mut pooled = [(); 3].map(|()| Histogram::<u64>::new(3).unwrap());
    for round in 0..ROUNDS {
        let names = ["one", "again", "parts"].map(|name| format!("{what}-{name}-{round}").replace(' ', "-"));
        for turn in 0..3 {
            // No kind of run always follows the same other one.
            match (turn + round) % 3 {
                2 => four_processes(folder, url, &names[2]),
                kind => one_process(folder, url, &names[kind]),
            }
        }
        let [one, again, parts] = names.each_ref().map(|name| times(folder, name));
        let (whole, of_parts) = throughput(folder, &names[0], &names[2]);
        let [value, low, high] = whole;
        println!(
            "distributions, {what}, round {round}: one to parts {:.4}, one to itself {:.4}; throughput {value:.1} ({low:.1} to \
             {high:.1}), parts {of_parts:.1}",
            distance(&one, &parts),
            distance(&one, &again)
        );
        assert!(low <= of_parts && of_parts <= high, "{what}: throughput");
        pooled.iter_mut().zip([one, again, parts]).for_each(|(all, part)| all.add(part).unwrap());
    }
    let [one, again, parts] = &pooled;
    let (to_parts, to_itself) = (distance(one, parts), distance(one, again));
    // What two samples of one distribution exceed in one of a hundred cases.
    let by_chance = 1.628 * (1.0 / one.len() as f64 + 1.0 / parts.len() as f64).sqrt();
    println!(
        "distributions, {what}, all rounds: one to parts {to_parts:.4}, one to itself {to_itself:.4}, by chance below {by_chance:.4} \
         ({} and {} response times)",
        one.len(),
        parts.len()
    );
    (to_parts, to_itself)
}

#[test]
#[ignore = "long proof: cargo xtask verify \"distributions\""]
fn four_processes_measure_the_distribution_of_one() {
    let _alone = crate::alone();
    let scratch = Scratch::new("parts-agree");
    let folder = scratch.path();
    let mut server = Running::start(plimsoll(folder).args(["serve", "nfs", "--listen", "127.0.0.1:0"])).unwrap();
    let url = server.first_line().trim().to_owned();
    let port = url.split(['/', '?', ':', '=']).find_map(|word| word.parse::<u16>().ok()).unwrap();
    let proxy = delaying_proxy::start(([127, 0, 0, 1], port).into(), DELAY).unwrap().port();
    let delayed = url.replace(&port.to_string(), &proxy.to_string());
    // The file set is made once.
    one_process(folder, &delayed, "first");
    measure(folder, &url, "in memory");
    let (to_parts, _) = measure(folder, &delayed, "delayed by 20 ms");
    assert!(to_parts < ALLOWED, "{to_parts}");
    server.signal(Signal::INT);
}

#[test]
fn the_distance_is_that_of_kolmogorov_and_smirnov() {
    let sample = |values: &[u64]| {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    };
    let one = sample(&[1, 2, 3, 4]);
    assert_eq!(distance(&one, &sample(&[1, 1, 2, 2, 3, 3, 4, 4])), 0.0);
    assert_eq!(distance(&one, &sample(&[3, 4, 5, 6])), 0.5);
    assert_eq!(distance(&one, &sample(&[10, 20])), 1.0);
}
