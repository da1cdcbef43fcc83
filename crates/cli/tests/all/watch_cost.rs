//! What a watch costs the server that it watches, on the same machine: throughput without and with it, A B B A.
//!
//! `PLIMSOLL_BINARY` is the program that is measured, `PLIMSOLL_WATCH_ROUNDS` the number of rounds.

use std::process::Command;
use std::time::Instant;

use plimsoll_stats::comparison::{Metric, repeats};
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::{Samba, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::{available, measured_program};

/// Rounds of four runs each, and the length of a run.
const ROUNDS: usize = 12;
const SECONDS: &str = "10s";
/// A difference as large is worth knowing.
const NOTABLE: f64 = 0.03;

/// A server under a load.
struct Watched {
    name: &'static str,
    port: u16,
    target: String,
    password: &'static str,
    workload: &'static str,
}

/// Operations per second of a run, and of a watch meanwhile the share of a processor that it took.
fn throughput(place: &Namespace, watched: &Watched, with_watch: bool) -> (f64, f64) {
    let watching = with_watch.then(|| {
        let mut command = Command::new(measured_program());
        command.args(["watch", "lo", "--lines", "--utc", "--json", "-", "--port", &watched.port.to_string()]);
        let mut watching = place.within(|| Running::start(&mut command)).unwrap();
        let is_ready = |running: &Running| running.said()[1].contains("capturing lo");
        assert_eq!(watching.wait_until(is_ready), None, "{:?}", watching.said());
        watching
    });
    let mut run = Command::new(measured_program());
    run.args(["run", watched.workload, "--target", &watched.target, "--clients", "4"]);
    run.args(["--warmup", "2s", "--duration", SECONDS]);
    let begun = Instant::now();
    run.args(["--quiet", "--json", "-"]).env("PLIMSOLL_PASSWORD", watched.password);
    let ended = place.within(|| output(&mut run));
    let took_ns = begun.elapsed().as_nanos() as f64;
    // The numbers may be invalid because the load generator has to wait for a processor, with and without a watch.
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let level: Value = crate::only_side(&ended.stdout)["levels"][0].take();
    let share = watching.map_or(0.0, |watching| {
        let used = crate::watch_capacity::used(watching.id()).0 as f64;
        watching.signal(Signal::INT);
        let ended = watching.end();
        let report = crate::only_side(&ended.stdout);
        let seen = report["operations"].as_array().unwrap().iter().filter_map(|row| row["count"].as_u64()).sum::<u64>();
        assert!(seen > 1_000, "the watch saw the load: {seen}");
        used / took_ns
    });
    (level["operations_per_s"].as_f64().unwrap(), share)
}

/// Measures what a watch costs this server, and says it.
fn measure(place: &Namespace, watched: &Watched) {
    let rounds = std::env::var("PLIMSOLL_WATCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let (mut pairs, mut shares) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let runs = [false, true, true, false].map(|with_watch| throughput(place, watched, with_watch));
        let [a, b, c, d] = runs.map(|(throughput, _)| throughput);
        println!("cost {}: round {round}: {a:.0} {b:.0} {c:.0} {d:.0} operations/s", watched.name);
        pairs.extend([((a + d) / 2.0, (b + c) / 2.0)]);
        shares.extend([runs[1].1, runs[2].1]);
    }
    let found = repeats::paired(Metric::Throughput, &pairs, 0.0).unwrap();
    let interval = found.relative_interval.unwrap();
    let percent = |share: f64| share * 100.0;
    println!(
        "cost {}: with a watch {:+.2} % throughput (95 % interval {:+.2} to {:+.2} %, {rounds} rounds): {}; the watch took {:.1} % of a processor; program {}",
        watched.name,
        percent(found.relative.unwrap()),
        percent(interval.low),
        percent(interval.high),
        if interval.low > -NOTABLE {
            "less than 3 %"
        } else if interval.high < 0.0 {
            "a cost"
        } else {
            "not known to 3 %"
        },
        percent(shares.iter().sum::<f64>() / shares.len() as f64),
        measured_program().display()
    );
}

/// States the difference. Any is a true answer, so nothing is asserted but that the watch saw the load.
#[test]
#[ignore = "long proof: cargo xtask verify \"watch cost\""]
fn the_cost_to_the_watched_is_measured_in_turns() {
    let Some(place) = available(Namespace::new()) else { return };
    let _alone = crate::alone();
    match place.within(|| Samba::start(&[])) {
        Ok(samba) => {
            let port = samba.address().port();
            let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
            let (password, workload) = (Samba::PASSWORD, "netbench");
            measure(&place, &Watched { name: "Samba, NetBench", port, target, password, workload });
        }
        Err(reason) => crate::skip(reason),
    }
    // In a process of its own, as a server is.
    let mut serve = Command::new(measured_program());
    let mut serving = place.within(|| Running::start(serve.args(["serve", "nfs", "--listen", "127.0.0.1:0"]))).unwrap();
    let target = serving.first_line();
    let port = target.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
    measure(&place, &Watched { name: "embedded NFS, small operations", port, target, password: "", workload: "mixed" });
}
