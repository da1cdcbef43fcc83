//! The HTTP server of a watch: Prometheus, every query of the dashboard, and misbehaving clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, Command};
use std::time::{Duration, Instant};

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::{LIMIT, Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::{Scratch, free_port};
use rustix::process::Signal;
use serde_json::Value;

use crate::plimsoll;

const DASHBOARD: &str = include_str!("../../../../docs/plimsoll-watch-grafana.json");

/// The address of a watch, from its output.
fn address(watching: &mut Running, before: &str) -> SocketAddr {
    let ended = watching.wait_until(|running| running.said()[1].contains(before));
    assert_eq!(ended, None, "{:?}", watching.said());
    let said = watching.said()[1].clone();
    let behind = said.split(before).nth(1).unwrap();
    let shown = behind.split('/').next().unwrap();
    // An address of all interfaces is shown with the name of this machine.
    let port = || shown.rsplit(':').next().unwrap().parse().unwrap();
    shown.parse().unwrap_or_else(|_| ([0, 0, 0, 0], port()).into())
}

/// A watch of a pipe that goes on.
fn watch_a_pipe(metrics: &[&str]) -> (Running, ChildStdin, SocketAddr) {
    let mut command = plimsoll();
    command.args(["watch", "-", "--metrics"]).args(metrics);
    let (mut watching, mut pipe) = Running::start_fed(&mut command).unwrap();
    pipe.write_all(&crate::watch::capture(2)).unwrap();
    let address = address(&mut watching, "metrics at http://");
    (watching, pipe, address)
}

/// Sends bytes, and reads all that comes back.
fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // A server that refuses a request may close the connection before it has read all of it; its answer came before.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    // A reset ends an answer as well.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, target: &str) -> String {
    exchange(address, format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())
}

#[test]
fn clients_that_misbehave_are_refused_and_others_are_answered() {
    let (watching, pipe, address) = watch_a_pipe(&["127.0.0.1:0"]);
    let long = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let with = |line: &str, headers: &str| format!("{line}\r\n{headers}\r\n\r\n");
    let host = format!("Host: {address}");
    for (request, status) in [
        (with("GET /metrics HTTP/1.1", &host), "200"),
        (with("GET / HTTP/1.1", &host), "404"),
        (with("GET /../../etc/passwd HTTP/1.1", &host), "404"),
        (with("POST /metrics HTTP/1.1", &host), "405"),
        (with("DELETE /metrics HTTP/1.1", &host), "405"),
        (with("GET /metrics HTTP/1.1", "X: y"), "400"),
        (with("\u{0}\u{1}", "X: y"), "400"),
        (with("GET /metrics HTTP/1.1", "Host: rebound.example"), "403"),
        (with("GET /metrics HTTP/1.1", &format!("{host}\r\nOrigin: http://other.example")), "403"),
        (long, "431"),
    ] {
        let answer = exchange(address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.80}: {answer:.200}");
    }
    let head = exchange(address, format!("HEAD /metrics HTTP/1.1\r\n{host}\r\n\r\n").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(get(address, "/metrics").ends_with("# EOF\n"));
    drop(pipe);
    let ended = watching.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

/// More connections than are served, which send nothing: they are closed in time, and the server answers again.
#[test]
fn a_flood_of_connections_ends_and_the_watch_goes_on() {
    let (watching, _pipe, address) = watch_a_pipe(&["127.0.0.1:0"]);
    let flood: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let closed = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_))
    };
    assert!(flood.iter().all(closed), "connections that say nothing are closed");
    let mut last = String::new();
    let begun = Instant::now();
    while !last.ends_with("# EOF\n") {
        assert!(begun.elapsed() < LIMIT, "{last:.300}");
        std::thread::sleep(Duration::from_millis(100));
        last = get(address, "/metrics");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", watching.id())).unwrap();
    let number = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(number("Threads:") < 80, "{status}");
}

#[test]
fn an_address_that_others_reach_must_be_asked_for() {
    for (arguments, says) in [
        (&["--metrics", "0.0.0.0:0"][..], "--allow-remote"),
        (&["--metrics", "nonsense"], "expected HOST:PORT"),
        (&["--allow-remote"], "--metrics"),
    ] {
        let ended = output(plimsoll().args(["watch", "-"]).args(arguments));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.code() == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
    let (watching, _pipe, address) = watch_a_pipe(&["0.0.0.0:0", "--allow-remote"]);
    assert!(!watching.said()[1].contains("http://0.0.0.0:"), "no other machine can open this: {:?}", watching.said());
    let answer =
        exchange(([127, 0, 0, 1], address.port()).into(), b"GET /metrics HTTP/1.1\r\nHost: watch.example\r\n\r\n");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}

/// The requests of all clients in the metrics of a watch.
fn requests_of_clients(watch: SocketAddr) -> f64 {
    let metrics = get(watch, "/metrics");
    let counts = metrics.lines().filter(|line| line.starts_with("plimsoll_client_requests_total{"));
    counts.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// A Prometheus that collects from a watch every second.
struct Prometheus {
    _running: Running,
    address: SocketAddr,
}

impl Prometheus {
    fn start(folder: &Path, watch: SocketAddr) -> Option<Self> {
        // No connection gets this port by itself.
        let address = SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
        let file = folder.join("prometheus.yml");
        let job = format!("  - job_name: plimsoll\n    static_configs: [{{targets: ['{watch}']}}]\n");
        let global = "global: {scrape_interval: 1s, scrape_timeout: 1s}\n";
        std::fs::write(&file, format!("{global}scrape_configs:\n{job}")).unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address={address}"));
        command.arg("--enable-feature=exemplar-storage");
        let Ok(mut running) = Running::start(&mut command) else {
            crate::skip("needs prometheus (Debian: prometheus)");
            return None;
        };
        let ended =
            running.wait_until(|_| TcpStream::connect(address).is_ok() && get(address, "/-/ready").contains(" 200 "));
        assert_eq!(ended, None, "{:?}", running.said());
        Some(Self { _running: running, address })
    }

    /// The values that a query has now.
    fn query(&self, query: &str) -> Vec<f64> {
        let data = self.ask("query?query=", query);
        let values = data["result"].as_array().unwrap().iter();
        values.map(|sample| sample["value"][1].as_str().unwrap().parse().unwrap()).collect()
    }

    /// The frames that the buckets of a histogram name.
    fn frames(&self, buckets: &str) -> Vec<u64> {
        let data = self.ask("query_exemplars?start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z&query=", buckets);
        let series = data.as_array().unwrap().iter().flat_map(|series| series["exemplars"].as_array().unwrap());
        series.map(|exemplar| exemplar["labels"]["frame"].as_str().unwrap().parse().unwrap()).collect()
    }

    fn ask(&self, path: &str, query: &str) -> Value {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let target = format!("/api/v1/{path}{encoded}");
        let request = format!("GET {target} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        let answer = exchange(self.address, request.as_bytes());
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        assert_eq!(body["status"], "success", "{query}: {body}");
        body["data"].take()
    }
}

/// Every query of the dashboard, as Grafana would send it.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let filled = targets.map(|target| {
        let query = target["expr"].as_str().unwrap();
        query.replace("$__rate_interval", "3m").replace("$__range", "3m").replace("$instance", ".*")
    });
    filled.collect()
}

#[test]
fn panels_state_the_error_of_percentiles_and_show_a_downtime() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let asks = |panel: &Value, text: &str| panel["targets"].to_string().contains(text);
    for panel in panels.iter().filter(|panel| asks(panel, "histogram_quantile")) {
        // By how many buckets a power of two has: crates/recording/src/export/openmetrics/live.rs
        let coarse = asks(panel, "plimsoll_client_") || asks(panel, "plimsoll_share_");
        let error = if coarse { "off by less than 50 %" } else { "off by less than 25 %" };
        assert!(panel["description"].as_str().is_some_and(|text| text.contains(error)), "{panel:#}");
    }
    let losses =
        panels.iter().find(|panel| asks(panel, "plimsoll_capture_lost_packets_total") && panel["type"] == "stat");
    let losses = losses.unwrap();
    assert!(asks(losses, "plimsoll_capture_interface_downs_total") && asks(losses, "plimsoll_capture_interface_up"));
}

/// On a separate loopback: on the machine's, servers of other tests may ask a portmapper between the numbers that are compared.
#[test]
fn prometheus_collects_a_watched_run_and_answers_every_query_of_the_dashboard() {
    let Some(place) = crate::available(Namespace::new()) else { return };
    let _alone = crate::alone();
    place.within(collect_a_watched_run);
}

fn collect_a_watched_run() {
    let scratch = Scratch::new("watch-metrics");
    let server = Embedded::start(Kind::Smb, Options::default()).unwrap();
    let report = scratch.path().join("watch.json").display().to_string();
    let mut command = plimsoll();
    command.args(["watch", "lo", "--port", &server.address().port().to_string(), "--json", &report]);
    let mut watching = Running::start(command.args(["--metrics", "127.0.0.1:0"])).unwrap();
    let address = address(&mut watching, "metrics at http://");
    let Some(prometheus) = Prometheus::start(scratch.path(), address) else { return };
    let mut load = plimsoll();
    load.args(["run", "mixed", "--target", &server.target(), "--seed", "7", "--clients", "2", "--warmup", "0s"]);
    let ended = output(load.args(["--duration", "6s", "--think", "5ms", "--quiet"]));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    // No more packets come, so Prometheus soon has the final numbers of the watch. Only a watch that reads its packets answers.
    let total = "sum(plimsoll_client_requests_total)";
    let mut requests = vec![0.0];
    for _ in 0..60 {
        let before = std::mem::replace(&mut requests, prometheus.query(total));
        if requests == before && requests == [requests_of_clients(address)] {
            break;
        }
        std::thread::sleep(Duration::from_millis(2_500));
    }
    for query in queries() {
        let values = prometheus.query(&query);
        assert!(!values.is_empty(), "{query}: no value");
        assert!(values.iter().all(|value| value.is_finite()), "{query}: {values:?}");
    }
    assert!(prometheus.query("sum(rate(plimsoll_server_requests_total[3m]))")[0] > 0.0);
    let frames = prometheus.frames("plimsoll_operation_response_time_seconds_bucket");
    assert!(!frames.is_empty() && frames.iter().all(|&frame| frame > 0), "{frames:?}");
    let answered = "sum(plimsoll_share_response_time_seconds_count)";
    let times = prometheus.query(answered);
    watching.signal(Signal::INT);
    let ended = watching.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    let report = crate::only_side(&std::fs::read(&report).unwrap());
    let operations = report["operations"].as_array().unwrap();
    let sum = |of: &dyn Fn(&Value) -> u64| {
        operations.iter().filter(|row| row["parent"].is_null()).map(of).sum::<u64>() as f64
    };
    assert_eq!(requests, [sum(&|row| row["count"].as_u64().unwrap())], "as the report counts them");
    assert_eq!(times, [sum(&|row| row["response_time"]["count"].as_u64().unwrap_or(0))]);
}
