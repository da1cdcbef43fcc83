//! The breakdown of `--by`.

use std::net::{IpAddr, SocketAddr};

use plimsoll_model::{Names, Outcome, Symbol};
use plimsoll_stats::{Bins, CompositeKey, Dimension, Key, KeyCell, KeyStats, MAX_KEY_BINS, Statistics};

use super::{SECOND, StatusName, rows};
use crate::findings::{Breakdown, BreakdownRow, BreakdownSeries};
use crate::instant;

/// Maximum number of rows in a breakdown; the rest is summed.
const MAX_ROWS: usize = 1000;

pub(super) fn breakdown(statistics: &Statistics, names: &Names, status_name: StatusName) -> Option<Breakdown> {
    let breakdown = statistics.breakdown()?;
    let all = breakdown.rows();
    let (shown, beyond) = all.split_at(all.len().min(MAX_ROWS));
    let mut others = breakdown.others().clone();
    beyond.iter().for_each(|(_, stats)| others.merge(stats));
    let stats = || shown.iter().map(|(_, stats)| *stats).chain([&others]);
    let waited_ns: u128 = stats().map(|stats| stats.waiting.ns()).sum();
    let share = |stats: &KeyStats| (waited_ns > 0).then(|| stats.waiting.ns() as f64 / waited_ns as f64);
    let mut frame = Bins::new(MAX_KEY_BINS);
    stats().for_each(|stats| frame.merge(&stats.series));
    let total = statistics.total();
    // A path does not contain its share if the share is a separate key.
    let has_share = breakdown.dimensions().contains(&Dimension::Share);
    let alone = |key: &Key| match *key {
        Key::Path(_, path) if has_share => Key::Path(Symbol::NONE, path),
        key => key,
    };
    let row = |(key, stats): &(CompositeKey, &KeyStats)| {
        let keys: Vec<_> = key.parts().iter().map(|key| Some(text(alone(key.as_ref()?), names, status_name))).collect();
        let series = series(&stats.series, &frame);
        BreakdownRow {
            key: in_one_line(&keys),
            keys,
            waited_share: share(stats),
            bytes_per_s: None,
            series,
            row: rows::of_key(stats, total),
        }
    };
    let labels = || breakdown.dimensions().iter().map(|dimension| dimension.label().to_owned());
    Some(Breakdown {
        by: labels().collect::<Vec<_>>().join(","),
        dimensions: labels().collect(),
        rows: shown.iter().map(row).collect(),
        first_keys: breakdown.first_keys(),
        others: others.count,
        others_waited_s: others.waiting.ns() as f64 / SECOND,
        others_waited_share: share(&others),
        start_ns: frame.start_ns(),
        bin_s: frame.width_ns() as f64 / SECOND,
        bins: frame.iter().len() as u64,
    })
}

/// Sets the rates over the measured time.
pub(super) fn set_rates(breakdown: &mut Breakdown, measured_s: Option<f64>) {
    for BreakdownRow { bytes_per_s, row, .. } in &mut breakdown.rows {
        *bytes_per_s = row.payload_bytes.zip(measured_s).map(|(bytes, seconds)| bytes as f64 / seconds);
    }
}

/// Writes names beside the addresses of clients and servers.
pub(super) fn name_hosts<'n>(breakdown: &mut Breakdown, name: impl Fn(IpAddr) -> Option<&'n str>) {
    let is_host = |dimension: &String| matches!(dimension.as_str(), "client" | "server");
    for row in &mut breakdown.rows {
        let named = |(key, dimension): (&Option<String>, &String)| {
            let key = key.as_deref()?;
            let ip = key.parse::<IpAddr>().ok().or_else(|| Some(key.parse::<SocketAddr>().ok()?.ip()));
            let name = ip.filter(|_| is_host(dimension)).and_then(&name);
            Some(name.map_or_else(|| key.to_owned(), |name| format!("{key} ({name})")))
        };
        row.key = in_one_line(&row.keys.iter().zip(&breakdown.dimensions).map(named).collect::<Vec<_>>());
    }
}

fn in_one_line(keys: &[Option<String>]) -> String {
    let text = |key: &Option<String>| match key.as_deref() {
        None => "(unknown)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(key) => key.to_owned(),
    };
    keys.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A key as text, unescaped; a symbol that `names` does not hold is empty.
fn text(key: Key, names: &Names, status_name: StatusName) -> String {
    match key {
        Key::Client(ip) => ip.to_string(),
        Key::Server(server) => server.to_string(),
        Key::Path(share, path) => match names.text(share) {
            Some(share) => format!("{share}: {}", names.text(path).unwrap_or_default()),
            None => names.text(path).unwrap_or_default().to_owned(),
        },
        Key::Share(_) | Key::User(_) => key.name(names).unwrap_or_default().to_owned(),
        Key::Connection(number, client, server) => format!("{number} {client} > {server}"),
        Key::Operation(operation) => operation.label().to_owned(),
        Key::Status(protocol, status) => rows::name_of(protocol, status, status_name),
        // Some calls are answered without a status (NULL).
        Key::Outcome(Outcome::Succeeded) => "none".to_owned(),
        Key::Outcome(Outcome::Unanswered) => Outcome::Unanswered.label().to_owned(),
        Key::Outcome(outcome) => format!("{}, no status", outcome.label()),
        Key::Protocol(protocol) => protocol.label().to_owned(),
        Key::Time(start_ns) => instant::second(start_ns),
    }
}

fn series(of: &Bins<KeyCell>, frame: &Bins<KeyCell>) -> BreakdownSeries {
    let (first_bin, cells) = of.placed_in(frame);
    let mean = |cell: &KeyCell| (cell.timed > 0).then(|| cell.response_sum_ns as f64 / cell.timed as f64 / SECOND);
    BreakdownSeries {
        first_bin: first_bin as u64,
        operations: cells.iter().map(|cell| cell.operations).collect(),
        errors: cells.iter().map(|cell| cell.errors).collect(),
        waited_s: cells.iter().map(|cell| cell.waited_ns as f64 / SECOND).collect(),
        response_mean_s: cells.iter().map(mean).collect(),
    }
}
