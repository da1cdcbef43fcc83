//! The sums of a watch, for a program that asks for them again and again.

use std::io::{self, Write};

use plimsoll_model::{Endpoint, Names};
use plimsoll_stats::live::{InterfaceState, LiveLosses, MAX_TOTAL_KEYS, Totals, Wait, WaitingNow};
use plimsoll_stats::{Breakdown, Dimension, Key, KeyStats};

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
            self.write_dimension(out, dimension, &self.rows_of(dimension, breakdown))?;
            if let Some(breakdown) = self.totals.from_intended(dimension) {
                let rows = self.rows_of(dimension, breakdown);
                let times: Vec<_> = rows.iter().map(|row| distribution(buckets(dimension), row)).collect();
                let name = format!("{}_response_time_from_intended_seconds", dimension.label());
                let intended = "From the intended start of the request to the last byte of the response.";
                histogram(out, &name, intended, &times, |times| Some(times))?;
            }
        }
        writeln!(out, "# EOF")
    }

    fn rows_of(&self, dimension: Dimension, breakdown: &Breakdown) -> Vec<Labelled<KeyStats>> {
        let keys = breakdown.rows().into_iter().map(|(key, stats)| {
            let key = key.parts().first().copied().flatten();
            let name = key.and_then(|key| self.name(key)).filter(|name| !name.is_empty());
            (name.unwrap_or_else(|| UNKNOWN.to_owned()), stats)
        });
        rows(dimension, keys, breakdown.others())
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

/// One row per label, because no series may appear twice: keys with the same label share one. The order of the keys, which changes, has no
/// effect on the sums, because a sum must never fall.
fn rows<'a>(
    dimension: Dimension,
    keys: impl Iterator<Item = (String, &'a KeyStats)>,
    others: &KeyStats,
) -> Vec<Labelled<KeyStats>> {
    let labels = |name: &str| labels(dimension, name);
    let row = |labels: String, of: KeyStats| Labelled { labels, time: String::new(), of };
    let (mut rows, mut others, other) = (Vec::<Labelled<KeyStats>>::new(), others.clone(), labels(OTHER));
    for (name, stats) in keys {
        let labels = labels(&name);
        match rows.iter_mut().find(|row| row.labels == labels) {
            _ if labels == other => others.merge(stats),
            Some(same) => same.of.merge(stats),
            None => rows.push(row(labels, stats.clone())),
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
mod tests;
