//! A server's Prometheus node_exporter or windows_exporter.

use anyhow::Context;

use super::counters::Counters;
use super::{PATIENCE, Source};

/// Maximum size of a page of metrics, bytes; enough for machines with hundreds of disks.
const LARGEST: u64 = 16 << 20;

/// A sum over a page: the names of a metric, and values of a label (or their beginnings) that exclude a line.
struct Metric {
    names: [&'static str; 2],
    label: &'static str,
    without: &'static [&'static str],
}

/// Only whole disks: partitions and stacked devices would be counted twice.
const fn disk(node: &'static str, windows: &'static str) -> Metric {
    Metric { names: [node, windows], label: "device", without: &["dm-", "md", "loop"] }
}

const fn network(node: &'static str, windows: &'static str) -> Metric {
    let without = &["lo", "veth", "docker", "br", "virbr", "vnet", "tap", "tun", "bond"];
    Metric { names: [node, windows], label: "device", without }
}

/// CPU time except idle. (On Windows, privileged time includes deferred calls and interrupts.)
const CPU: Metric = Metric {
    names: ["node_cpu_seconds_total", "windows_cpu_time_total"],
    label: "mode",
    without: &["idle", "iowait", "dpc", "interrupt"],
};
const DISK_READ: Metric = disk("node_disk_read_bytes_total", "windows_physical_disk_read_bytes_total");
const DISK_WRITTEN: Metric = disk("node_disk_written_bytes_total", "windows_physical_disk_write_bytes_total");
const DISK_READ_TIME: Metric =
    disk("node_disk_read_time_seconds_total", "windows_physical_disk_read_latency_seconds_total");
const DISK_READS: Metric = disk("node_disk_reads_completed_total", "windows_physical_disk_reads_total");
const DISK_WRITES: Metric = disk("node_disk_writes_completed_total", "windows_physical_disk_writes_total");
const RECEIVED: Metric = network("node_network_receive_bytes_total", "windows_net_bytes_received_total");
const SENT: Metric = network("node_network_transmit_bytes_total", "windows_net_bytes_sent_total");

/// An exporter behind a URL.
pub(super) struct Exporter {
    url: String,
    agent: ureq::Agent,
}

impl Exporter {
    pub(super) fn new(url: &str) -> Self {
        let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        Self { url: url.to_owned(), agent }
    }
}

impl Source for Exporter {
    fn read(&mut self) -> anyhow::Result<Counters> {
        let mut answer = self.agent.get(&self.url).call()?;
        let page = answer.body_mut().with_config().limit(LARGEST).read_to_string()?;
        let counters = counters(&page);
        counters.cpu_s.context("no metric node_cpu_seconds_total or windows_cpu_time_total; check the URL")?;
        Ok(counters)
    }
}

fn counters(page: &str) -> Counters {
    Counters {
        cpu_s: CPU.sum(page),
        disk_read_bytes: DISK_READ.sum(page),
        disk_write_bytes: DISK_WRITTEN.sum(page),
        received_bytes: RECEIVED.sum(page),
        sent_bytes: SENT.sum(page),
        machine_read_bytes: DISK_READ.sum(page),
        machine_read_s: DISK_READ_TIME.sum(page),
        machine_reads: DISK_READS.sum(page),
        machine_write_bytes: DISK_WRITTEN.sum(page),
        machine_writes: DISK_WRITES.sum(page),
    }
}

impl Metric {
    /// The sum over its lines; `None` without lines, or if one is invalid.
    fn sum(&self, page: &str) -> Option<f64> {
        page.lines().filter_map(|line| self.value(line)).reduce(|a, b| Some(a? + b?))?
    }

    /// Parses `name{label="value",…} number [time]`; `None` if the line belongs to another metric.
    fn value(&self, line: &str) -> Option<Option<f64>> {
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(end);
        if !self.names.contains(&name) {
            return None;
        }
        let (labels, rest) = match rest.strip_prefix('{') {
            // Values may hold anything in quotes; numbers hold no brace.
            Some(rest) => rest.rsplit_once('}')?,
            None => ("", rest),
        };
        let left_out = |value: &&str| {
            let start = format!("{}=\"{value}", self.label);
            let mut at = labels.match_indices(&start).map(|(at, _)| at);
            at.any(|at| at == 0 || labels.get(at - 1..at) == Some(","))
        };
        let wanted = !self.without.iter().any(left_out);
        wanted.then(|| {
            rest.split_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    const NODE: &str = "# HELP node_cpu_seconds_total Seconds\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1000.5\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.5\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 2.25\n\
        node_disk_read_bytes_total{device=\"sda\"} 4096\n\
        node_disk_read_bytes_total{device=\"dm-0\"} 4096\n\
        node_disk_read_time_seconds_total{device=\"sda\"} 1.5\n\
        node_disk_reads_completed_total{device=\"sda\"} 12\n\
        node_disk_writes_completed_total{device=\"sda\"} 3\n\
        node_disk_written_bytes_total{device=\"sda\"} 1e+06\n\
        node_network_receive_bytes_total{device=\"lo\"} 99\n\
        node_network_receive_bytes_total{device=\"eth0\"} 7 1700000000000\n\
        node_network_transmit_bytes_total{device=\"eth0\"} 8\n";

    #[test]
    fn a_page_of_either_exporter_is_added_up() {
        let found = counters(NODE);
        assert_eq!(
            (found.cpu_s, found.disk_read_bytes, found.disk_write_bytes),
            (Some(12.75), Some(4096.0), Some(1e6))
        );
        assert_eq!((found.received_bytes, found.sent_bytes), (Some(7.0), Some(8.0)));
        assert_eq!((found.machine_read_bytes, found.machine_read_s), (Some(4096.0), Some(1.5)));
        assert_eq!((found.machine_reads, found.machine_writes), (Some(12.0), Some(3.0)));
        let windows = "windows_cpu_time_total{core=\"0,0\",mode=\"dpc\"} 1\nwindows_cpu_time_total{core=\"0,0\",mode=\"user\"} 3\nwindows_net_bytes_sent_total{nic=\"a}b\"} 5\n";
        let found = counters(windows);
        assert_eq!((found.cpu_s, found.sent_bytes, found.received_bytes), (Some(3.0), Some(5.0), None));
    }

    #[test]
    fn nonsense_is_no_number() {
        for line in [
            "node_cpu_seconds_total",
            "node_cpu_seconds_total{",
            "node_cpu_seconds_total{} x",
            "node_cpu_seconds_total -1",
        ] {
            assert_eq!(counters(line).cpu_s, None, "{line}");
        }
    }

    #[test]
    fn a_page_comes_over_http() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"GET /metrics HTTP/1.1"));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", NODE.len());
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(NODE.as_bytes()).unwrap();
        });
        let found = Exporter::new(&format!("http://{address}/metrics")).read().unwrap();
        assert_eq!(found.cpu_s, Some(12.75));
        server.join().unwrap();
    }
}
