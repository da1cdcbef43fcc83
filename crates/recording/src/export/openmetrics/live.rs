//! The sums of a watch, for a program that asks for them again and again.

use std::collections::HashSet;
use std::io::{self, Write};

use plimsoll_model::{Endpoint, Names};
use plimsoll_stats::live::{InterfaceState, LiveLosses, MAX_TOTAL_KEYS, Totals, Wait, WaitingNow};
use plimsoll_stats::{Dimension, Key, KeyStats};

use super::format::{Buckets, Distribution, Labelled, counter, family, histogram, label};

/// The label of all keys without separate sums.
const OTHER: &str = "other";
/// The label of requests whose key the capture does not have.
const UNKNOWN: &str = "unknown";

/// Metrics of a watch.
#[derive(Debug)]
pub struct LiveMetrics<'a> {
    /// Name and version of the program.
    pub tool: &'a str,
    /// The input.
    pub input: &'a str,
    /// The filters in force, as the user wrote them; empty without any.
    pub filters: &'a str,
    /// Sums since the watch began.
    pub totals: &'a Totals,
    /// The names in them.
    pub names: &'a Names,
    /// Losses of the capture; `None` without a capture.
    pub losses: Option<LiveLosses>,
    /// The requests without a response at an instant, ns since the Unix epoch; `None` if unknown.
    pub waiting: Option<(&'a WaitingNow, i64)>,
    /// Outputs that grow during the watch, and whether they failed.
    pub outputs: &'a [(&'a str, bool)],
}

impl LiveMetrics<'_> {
    /// Writes OpenMetrics text.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        family(out, "watch", "info", "Program that writes these metrics, and its input.")?;
        let mut labels = String::new();
        label(&mut labels, "tool", self.tool);
        label(&mut labels, "input", self.input);
        label(&mut labels, "filters", self.filters);
        writeln!(out, "plimsoll_watch_info{{{labels}}} 1")?;
        if let Some(losses) = self.losses {
            write_losses(out, losses)?;
        }
        if !self.outputs.is_empty() {
            let help = "1 if an output of the watch can no longer be written, so that it is incomplete.";
            family(out, "watch_output_failed", "gauge", help)?;
        }
        for (name, failed) in self.outputs {
            writeln!(out, "plimsoll_watch_output_failed{{output=\"{name}\"}} {}", u8::from(*failed))?;
        }
        if let Some((waiting, now_ns)) = self.waiting {
            self.write_waiting(out, waiting, now_ns)?;
        }
        for (dimension, breakdown) in self.totals.by() {
            let keys = breakdown.rows().into_iter().map(|(key, stats)| {
                let key = key.parts().first().copied().flatten();
                (
                    key.and_then(|key| self.name(key))
                        .filter(|name| !name.is_empty())
                        .unwrap_or_else(|| UNKNOWN.to_owned()),
                    stats,
                )
            });
            self.write_dimension(out, dimension, &rows(dimension, keys, breakdown.others()))?;
        }
        writeln!(out, "# EOF")
    }

    /// The requests that wait, by server: of each server with sums, and of further ones as long as there is room.
    fn write_waiting(&self, out: &mut impl Write, waiting: &WaitingNow, now_ns: i64) -> io::Result<()> {
        let sums = self.totals.by().find(|(dimension, _)| *dimension == Dimension::Server);
        let keys = sums.iter().flat_map(|(_, breakdown)| breakdown.rows()).filter_map(|(key, _)| {
            match key.parts().first().copied().flatten() {
                Some(Key::Server(server)) => Some(server),
                _ => None,
            }
        });
        let mut servers: Vec<Endpoint> = keys.collect();
        let further = waiting.servers().into_iter().filter(|server| !servers.contains(server)).collect::<Vec<_>>();
        servers.extend(further.into_iter().take(MAX_TOTAL_KEYS.saturating_sub(servers.len())));
        let others = waiting.others(|server| !servers.contains(&server));
        let named = servers.iter().map(|server| (server.to_string(), waiting.of(*server)));
        let rows: Vec<(String, Option<Wait>)> =
            named.chain(others.map(|others| (OTHER.to_owned(), Some(others)))).collect();
        let requests = "Requests that wait for a response now.";
        gauge(out, "server_waiting_requests", requests, &rows, |wait| wait.requests as f64)?;
        let oldest = "How long the oldest request without a response has waited so far; 0 without such a request.";
        let age_s = |wait: Wait| now_ns.saturating_sub(wait.since_ns).max(0) as f64 / 1e9;
        gauge(out, "server_oldest_wait_seconds", oldest, &rows, age_s)
    }

    fn write_dimension(
        &self,
        out: &mut impl Write,
        dimension: Dimension,
        rows: &[Labelled<KeyStats>],
    ) -> io::Result<()> {
        let name = |of: &str| format!("{}_{of}", dimension.label());
        let requests = "Requests, including requests without a response.";
        counter(out, &name("requests"), requests, rows, |row| Some(row.count))?;
        counter(out, &name("errors"), "Requests refused or failed.", rows, |row| Some(row.refused + row.failed))?;
        counter(out, &name("unanswered"), "Requests without a response.", rows, |row| Some(row.unanswered))?;
        let moved = "File data read and written; a lower bound if packets are missing or truncated.";
        counter(out, &name("payload_bytes"), moved, rows, |row| row.payload.at_least())?;
        let waited = "Time that clients waited for responses; a message with several requests counts once.";
        counter(out, &name("waited_seconds"), waited, rows, |row| Some(row.waiting.ns() as f64 / 1e9))?;
        let response = "From the first byte of the request to the last byte of the response.";
        let distribution = |row: &Labelled<KeyStats>| distribution(buckets(dimension), row);
        let mut times: Vec<Labelled<Distribution>> = rows.iter().map(distribution).collect();
        if dimension == Dimension::Operation {
            for (operation, exemplars) in self.totals.exemplars().iter() {
                let its = labels(dimension, operation.label());
                times = times
                    .into_iter()
                    .map(|row| {
                        if row.labels == its {
                            Labelled { of: row.of.with_exemplars(exemplars.iter().flatten()), ..row }
                        } else {
                            row
                        }
                    })
                    .collect();
            }
        }
        histogram(out, &name("response_time_seconds"), response, &times, |times| Some(times))
    }

    fn name(&self, key: Key) -> Option<String> {
        Some(match key {
            Key::Client(ip) => ip.to_string(),
            Key::Server(server) => server.to_string(),
            Key::Operation(operation) => operation.label().to_owned(),
            _ => key.name(self.names)?.to_owned(),
        })
    }
}

/// A number per server.
fn gauge(
    out: &mut impl Write,
    name: &str,
    help: &str,
    rows: &[(String, Option<Wait>)],
    of: impl Fn(Wait) -> f64,
) -> io::Result<()> {
    family(out, name, "gauge", help)?;
    rows.iter().try_for_each(|(server, wait)| {
        writeln!(out, "plimsoll_{name}{{{}}} {}", labels(Dimension::Server, server), wait.map_or(0.0, &of))
    })
}

fn write_losses(out: &mut impl Write, losses: LiveLosses) -> io::Result<()> {
    let LiveLosses { kernel, freezes, interface, interface_unknown, reported, downs, state } = losses;
    let row = |by: &str, of: u64| Labelled { labels: format!("by=\"{by}\""), time: String::new(), of };
    let lost = match state {
        InterfaceState::NoInterface => vec![row("unknown", reported)],
        _ if interface_unknown => vec![row("kernel", kernel)],
        _ => vec![row("kernel", kernel), row("interface", interface)],
    };
    counter(out, "capture_lost_packets", "Packets that the capture lost.", &lost, |&lost| Some(lost))?;
    for (name, help, number) in [
        ("capture_freezes", "Number of times that the packet buffer was full.", freezes),
        ("capture_interface_downs", "Number of times that the interface went down.", downs),
    ] {
        family(out, name, "counter", help)?;
        writeln!(out, "plimsoll_{name}_total {number}")?;
    }
    if state != InterfaceState::NoInterface {
        family(out, "capture_interface_up", "gauge", "1 while the interface is up, 0 while it is down.")?;
        writeln!(out, "plimsoll_capture_interface_up {}", u8::from(state == InterfaceState::Up))?;
    }
    Ok(())
}

fn labels(dimension: Dimension, name: &str) -> String {
    let mut labels = String::new();
    label(&mut labels, dimension.label(), name);
    labels
}

/// One row per key. A key with the same labels as an earlier row counts among the others, because no series may appear twice.
fn rows<'a>(
    dimension: Dimension,
    keys: impl Iterator<Item = (String, &'a KeyStats)>,
    others: &KeyStats,
) -> Vec<Labelled<KeyStats>> {
    let labels = |name: &str| labels(dimension, name);
    let row = |labels: String, of: KeyStats| Labelled { labels, time: String::new(), of };
    let (mut rows, mut others, other) = (Vec::new(), others.clone(), labels(OTHER));
    let mut taken = HashSet::from([other.clone()]);
    for (name, stats) in keys {
        let labels = labels(&name);
        if taken.insert(labels.clone()) {
            rows.push(row(labels, stats.clone()));
        } else {
            others.merge(stats);
        }
    }
    if others.count > 0 {
        rows.push(row(other, others));
    }
    rows
}

/// A monitoring program stores each bucket as a time series. There are few servers and operations, but often many clients and shares.
fn buckets(dimension: Dimension) -> Buckets {
    match dimension {
        Dimension::Server | Dimension::Operation => Buckets::FOUR,
        _ => Buckets::TWO,
    }
}

fn distribution(buckets: Buckets, row: &Labelled<KeyStats>) -> Labelled<Distribution> {
    let of = Distribution::new(buckets, row.of.histogram.iter(), &row.of.response);
    Labelled { labels: row.labels.clone(), time: row.time.clone(), of }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Procedure, Protocol, Sink as _};
    use plimsoll_testkit::transaction;

    fn text(totals: &Totals, names: &Names) -> String {
        text_of(totals, names, &WaitingNow::default())
    }

    fn text_of(totals: &Totals, names: &Names, waiting: &WaitingNow) -> String {
        let state = InterfaceState::Up;
        text_with(totals, names, waiting, LiveLosses { kernel: 7, freezes: 2, state, ..LiveLosses::default() })
    }

    fn text_with(totals: &Totals, names: &Names, waiting: &WaitingNow, losses: LiveLosses) -> String {
        let mut out = Vec::new();
        let metrics = LiveMetrics {
            tool: "plimsoll",
            input: "interface eth0",
            filters: "--client 10.0.0.3",
            totals,
            names,
            losses: Some(losses),
            waiting: Some((waiting, 20_000_000_000)),
            outputs: &[("save", true), ("record", false)],
        };
        metrics.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn totals(names: &mut Names, shares: &[&str]) -> Totals {
        let mut totals = Totals::default();
        for (number, share) in shares.iter().enumerate() {
            let mut t = transaction(Procedure::of(Protocol::Smb2, 8), number as i64 * 1_000_000, 3_000_000);
            t.share = names.intern(share);
            totals.transaction(&t, names);
        }
        totals
    }

    #[test]
    fn sums_losses_and_distributions_have_their_labels() {
        let mut names = Names::default();
        let totals = totals(&mut names, &["\\\\server\\data", "\\\\server\\data", "", "x\"} 1\n# EOF\n"]);
        let text = text(&totals, &names);
        for line in [
            "plimsoll_watch_info{tool=\"plimsoll\",input=\"interface eth0\",filters=\"--client 10.0.0.3\"} 1",
            "plimsoll_capture_lost_packets_total{by=\"kernel\"} 7",
            "plimsoll_capture_freezes_total 2",
            "plimsoll_watch_output_failed{output=\"save\"} 1",
            "plimsoll_watch_output_failed{output=\"record\"} 0",
            "plimsoll_share_requests_total{share=\"\\\\\\\\server\\\\data\"} 2",
            "plimsoll_share_requests_total{share=\"unknown\"} 1",
            "plimsoll_share_requests_total{share=\"x\\\"} 1\\n# EOF\\n\"} 1",
            "plimsoll_operation_waited_seconds_total{operation=\"read\"} 0.012",
            "plimsoll_share_response_time_seconds_bucket{share=\"unknown\",le=\"0.002097151\"} 0",
            "plimsoll_share_response_time_seconds_bucket{share=\"unknown\",le=\"0.004194303\"} 1",
            "plimsoll_share_response_time_seconds_sum{share=\"unknown\"} 0.003",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n") && text.matches("\n# EOF\n").count() == 1);
    }

    #[test]
    fn who_lost_packets_and_whether_the_interface_is_up_is_said_as_far_as_it_is_known() {
        let said = |losses, name: &str| {
            let text = text_with(&Totals::default(), &Names::default(), &WaitingNow::default(), losses);
            text.lines().filter_map(|line| line.strip_prefix(name).map(str::to_owned)).collect::<Vec<_>>()
        };
        let of = |state| LiveLosses { kernel: 7, interface: 1, reported: 3, state, ..LiveLosses::default() };
        let [pipe, up, down] = [InterfaceState::NoInterface, InterfaceState::Up, InterfaceState::DownSince(1)].map(of);
        let is_up = |losses| said(losses, "plimsoll_capture_interface_up ").concat();
        assert_eq!([pipe, up, down].map(is_up), ["", "1", "0"]);
        let lost = "plimsoll_capture_lost_packets_total";
        assert_eq!(said(pipe, lost), ["{by=\"unknown\"} 3"]);
        assert_eq!(said(up, lost), ["{by=\"kernel\"} 7", "{by=\"interface\"} 1"]);
        assert_eq!(said(LiveLosses { interface_unknown: true, ..up }, lost), ["{by=\"kernel\"} 7"]);
    }

    #[test]
    fn buckets_of_operations_have_the_frame_of_their_latest_request() {
        let (mut totals, names) = (Totals::default(), Names::default());
        for (frame, response_ns) in [(7, 3_000_000), (8, 500), (9, 3_100_000), (0, 3_200_000), (10, 2_000_000_000_000)]
        {
            let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 1_500_000_000, response_ns);
            t.frames.request_first = std::num::NonZeroU64::new(frame);
            totals.transaction(&t, &names);
        }
        let text = text(&totals, &names);
        for line in [
            "bucket{operation=\"read\",le=\"1.023e-06\"} 1 # {frame=\"8\"} 0.0000005 1.500000000",
            "bucket{operation=\"read\",le=\"2.047e-06\"} 1",
            "bucket{operation=\"read\",le=\"0.003145727\"} 3 # {frame=\"9\"} 0.0031 1.500000000",
            "bucket{operation=\"read\",le=\"0.003670015\"} 4",
            "bucket{operation=\"read\",le=\"0.004194303\"} 4",
            "bucket{operation=\"read\",le=\"+Inf\"} 5 # {frame=\"10\"} 2000 1.500000000",
        ] {
            let line = format!("plimsoll_operation_response_time_seconds_{line}");
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(
            !text.contains("plimsoll_client_response_time_seconds_bucket{client=\"10.0.0.1\",le=\"1.023e-06\"} 1 #")
        );
    }

    #[test]
    fn servers_have_the_requests_that_wait_now_and_the_age_of_the_oldest() {
        let mut names = Names::default();
        let (totals, mut waiting) = (totals(&mut names, &["a"]), WaitingNow::default());
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 8_000_000_000, 1);
        t.timeline.request_first = Some(8_000_000_000);
        let known = t.server;
        waiting.add(&t);
        t.timeline.request_first = Some(18_000_000_000);
        waiting.add(&t);
        t.server.port = 4450;
        waiting.add(&t);
        for server in 0..250_u16 {
            t.server.port = 10_000 + server;
            waiting.add(&t);
        }
        let text = text_of(&totals, &names, &waiting);
        let other = Endpoint { port: 4450, ..known };
        for line in [
            format!("plimsoll_server_waiting_requests{{server=\"{known}\"}} 2"),
            format!("plimsoll_server_oldest_wait_seconds{{server=\"{known}\"}} 12"),
            format!("plimsoll_server_oldest_wait_seconds{{server=\"{other}\"}} 2"),
            "plimsoll_server_waiting_requests{server=\"other\"} 152".to_owned(),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        let idle = text_of(&totals, &names, &WaitingNow::default());
        assert!(idle.contains(&format!("plimsoll_server_waiting_requests{{server=\"{known}\"}} 0\n")), "{idle}");
    }

    /// The largest text that there can be, but for operations and longer names.
    #[test]
    fn a_scrape_of_the_most_keys_stays_small() {
        let (mut names, mut totals) = (Names::default(), Totals::default());
        for number in 0..u16::try_from(2 * MAX_TOTAL_KEYS).unwrap() {
            let mut t = transaction(Procedure::of(Protocol::Smb2, 8 + number % 2), 1, 3_000_000);
            (t.server.port, t.client.ip) = (number, std::net::Ipv4Addr::from(0x0a00_0000 + u32::from(number)).into());
            t.share = names.intern(&format!("\\\\fileserver.example\\departments-{number}"));
            totals.transaction(&t, &names);
        }
        let text = text(&totals, &names);
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(text.len() < 4_000_000 && series < 40_000, "{} bytes, {series} series", text.len());
        let buckets =
            |of: &str| text.lines().filter(|line| line.contains("_seconds_bucket{") && line.contains(of)).count();
        assert_eq!([buckets("{operation=\"read\","), buckets("{client=\"10.0.0.7\",")], [122, 62]);
    }

    /// Names that give the same label, reserved names, and too many names.
    #[test]
    fn no_series_appears_twice_and_there_are_at_most_so_many() {
        let mut names = Names::default();
        let many: Vec<String> = (0..200).map(|number| format!("share{number}")).collect();
        let mut shares = vec!["other", "unknown", "", "a\u{0}", "a\\u{0}"];
        shares.extend(many.iter().map(String::as_str));
        let text = text(&totals(&mut names, &shares), &names);
        let mut seen = HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(seen.insert(line.rsplit_once(' ').unwrap().0), "twice: {line}");
        }
        let counts = |line: &str| line.starts_with("plimsoll_share_requests_total");
        let rows: Vec<&str> = text.lines().filter(|line| counts(line)).collect();
        let sum: u64 = rows.iter().map(|row| row.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!((rows.len() <= 101, sum), (true, shares.len() as u64), "{rows:#?}");
    }
}
