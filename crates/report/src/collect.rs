//! Findings from statistics and coverage.

mod answers;
mod breakdown;
mod channels;
mod client_paths;
pub mod clients;
pub mod comparison;
mod counts;
pub mod curves;
mod delegations;
mod depth;
mod diagnosis;
mod drill_down;
mod encrypted;
mod file_io;
pub mod history;
mod input;
mod interference;
mod lease_breaks;
mod level;
mod links;
mod losses;
pub(crate) mod missing;
pub mod repeats;
mod rows;
mod rpc_tls;
pub mod run;
mod share_words;
mod single;
pub mod sizes;
mod slots;
mod status_name;
mod table;
mod units;
mod validity;

pub(crate) use counts::{are, plural, thousands};
pub use rows::times_of;
pub(crate) use share_words::percent;
pub use status_name::StatusName;
pub use table::TableFacts;

use crate::findings::Overhead;
use crate::findings::*;
use std::net::IpAddr;
use units::SECOND;

use plimsoll_model::{Coverage, Names, Reason};
use plimsoll_stats::{HEAT_EDGES_NS, Statistics, Waiting};

impl Findings {
    /// Everything a report shows of one analysis. `names` must be the set that the transactions' symbols are from.
    pub fn collect(
        statistics: &Statistics,
        coverage: &Coverage,
        names: &Names,
        source: Source,
        status_name: StatusName,
    ) -> Findings {
        let context = single::Context { names, status_name, last_ns: coverage.last_ns };
        let operations = rows::operations(statistics, status_name);
        // The packets include the traffic that a filter left out.
        let packets_count = coverage.packets.total > 0 && source.filters.is_empty();
        let overhead = Overhead::of(&operations)
            .map(|own| if packets_count { own.with_packets(coverage.packets.wire_bytes) } else { own });
        let mut findings = Findings {
            letter: letter(0),
            name: source.inputs.join(", "),
            kind: Kind::Capture,
            source,
            headline: statistics.headline().into(),
            validity: Validity::default(),
            diagnosis: Diagnosis::default(),
            span: span(coverage),
            packets: coverage.packets,
            clock: Clock {
                granularity_s: coverage.clock.estimate_ns.map(|ns| ns as f64 / SECOND),
                at_most: coverage.clock.at_most,
                backward_steps: coverage.clock.backward_steps,
            },
            unseen: unseen(coverage),
            resent: resent(coverage),
            operations,
            groups: rows::groups(statistics),
            long_lived: rows::long_lived(statistics, status_name),
            members: rows::members(statistics, status_name),
            breakdown: breakdown::breakdown(statistics, names, status_name),
            overhead,
            queue_depth: depth::queue_depth(statistics),
            io: file_io::file_io(statistics),
            slowest: statistics.slowest().map(|t| single::slow(t, &context)).collect(),
            unanswered: statistics.unanswered().map(|t| single::slow(t, &context)).collect(),
            series: series(statistics),
            heat_maps: heat_maps(statistics),
            anomalies: anomalies(coverage),
            warnings: Vec::new(),
            one_way: coverage.one_way,
            connections: coverage.connections,
            client_paths: client_paths::client_paths(coverage),
            client_paths_left_out: coverage.client_paths.len().saturating_sub(MOST_PATHS) as u64,
            encrypted: encrypted::encrypted(coverage),
            rpc_tls: rpc_tls::rpc_tls(coverage),
            lease_breaks: lease_breaks::lease_breaks(coverage, names),
            delegations: delegations::delegations(coverage),
            slots: slots::slots(coverage),
            channels: channels::channels(statistics, names, None),
            run: None,
            levels: Vec::new(),
            curves: Vec::new(),
            sizes: Vec::new(),
            repeats: Vec::new(),
            interference: Vec::new(),
        };
        findings.set_rates();
        findings.validity = validity::judge(statistics, coverage, &findings);
        findings.warnings = validity::warnings(&findings, coverage);
        let evidence = diagnosis::Evidence {
            findings: &findings,
            waiting: waiting(statistics),
            tallies: statistics.tallies(),
            coverage,
            names,
            status_name,
        };
        let (diagnosis, unanswered) = diagnosis::diagnose(&evidence);
        findings.diagnosis = diagnosis;
        findings.and(unanswered)
    }
}

impl Findings {
    /// Sets the rates of `--by`, which are over the time of the whole.
    fn set_rates(&mut self) {
        let measured_s = self.measured_s();
        if let Some(breakdown) = &mut self.breakdown {
            breakdown::set_rates(breakdown, measured_s);
        }
    }

    /// The same with names of hosts beside the addresses of `--by`; `keys` stay addresses.
    #[must_use]
    pub fn with_host_names<'n>(mut self, name: impl Fn(IpAddr) -> Option<&'n str>) -> Findings {
        if let Some(breakdown) = &mut self.breakdown {
            breakdown::name_hosts(breakdown, name);
        }
        self
    }

    /// The same with more reasons against its numbers.
    #[must_use]
    pub fn and(self, more: impl IntoIterator<Item = Reason>) -> Findings {
        let others = self.validity.each_reason().map(|(verdict, text)| Reason { verdict, text: text.to_owned() });
        let validity = Validity::of(others.chain(more));
        Findings { validity, ..self }
    }
}

/// How long clients waited, over all operations.
fn waiting(statistics: &Statistics) -> Waiting {
    let mut all = Waiting::default();
    statistics.operations().for_each(|(_, row)| all.merge(row.waiting()));
    all
}

fn span(coverage: &Coverage) -> Span {
    let elapsed = coverage.last_ns.zip(coverage.first_ns).and_then(|(last, first)| last.checked_sub(first));
    Span {
        first_ns: coverage.first_ns,
        last_ns: coverage.last_ns,
        elapsed_s: elapsed.map(|elapsed| elapsed as f64 / SECOND),
        between_files_s: input::between_files_ns(coverage) as f64 / SECOND,
    }
}

fn unseen(coverage: &Coverage) -> Unseen {
    let u = &coverage.unseen;
    let share = coverage.share_missing();
    let one_sided = |one: &plimsoll_model::OneSided| OneSidedConnection {
        from: one.from.to_string(),
        to: one.to.to_string(),
        requests: one.requests,
        responses: one.responses,
    };
    Unseen {
        paired: u.paired,
        requests_after_gap: u.requests_after_gap,
        responses_after_gap: u.responses_after_gap,
        requests_after_cut: u.requests_after_cut,
        responses_after_cut: u.responses_after_cut,
        requests_one_sided: u.requests_one_sided,
        responses_one_sided: u.responses_one_sided,
        requests_waiting: u.requests_waiting,
        responses_before_start: u.responses_before_start,
        requests_unexplained: u.requests_unexplained,
        responses_unexplained: u.responses_unexplained,
        encrypted: u.encrypted,
        compressed: u.compressed,
        missing: u.missing.operations,
        share_missing: share.map(|share| share.share),
        share_missing_low: share.map(|share| share.low),
        share_missing_high: share.map(|share| share.high),
        one_sided: coverage.one_sided,
        one_sided_connections: coverage.one_sided_named.iter().map(one_sided).collect(),
    }
}

/// In a run no packets were captured, so retransmissions are unknown.
fn resent(coverage: &Coverage) -> Resent {
    if coverage.packets.total == 0 {
        return Resent::default();
    }
    let r = &coverage.resent;
    Resent {
        operations: Some(r.operations),
        wait_s: Some(r.wait_ns as f64 / SECOND),
        brief_operations: Some(r.brief_operations),
        brief_wait_s: Some(r.brief_wait_ns as f64 / SECOND),
        unknown: Some(r.unknown),
    }
}

fn series(statistics: &Statistics) -> Series {
    let bins = statistics.series();
    Series {
        start_ns: bins.start_ns(),
        bin_s: bins.width_ns() as f64 / SECOND,
        operations: bins.iter().map(|cell| cell.operations).collect(),
        errors: bins.iter().map(|cell| cell.errors).collect(),
        read_bytes: bins.iter().map(|cell| cell.read_bytes).collect(),
        write_bytes: bins.iter().map(|cell| cell.write_bytes).collect(),
        payload_unknown: bins.iter().map(|cell| cell.payload_unknown).collect(),
        response_mean_s: bins.iter().map(|cell| cell.response_mean_ns().map(|ns| ns / SECOND)).collect(),
    }
}

/// Only the latency rows in use, and their edges: an empty map tells nothing and 82 rows are long.
fn heat_maps(statistics: &Statistics) -> Vec<HeatMap> {
    let maps = statistics.heat_maps();
    let used = || maps.iter().flat_map(|map| &map.cells).map(|&(_, row, _)| row);
    let (Some(lowest), Some(highest)) = (used().min(), used().max()) else { return Vec::new() };
    let mut edges_s: Vec<f64> =
        HEAT_EDGES_NS.iter().skip(lowest).take(highest - lowest + 1).map(|&ns| ns as f64 / SECOND).collect();
    // The last row has no end: ten times its beginning is used.
    let end = HEAT_EDGES_NS.get(highest + 1).copied().unwrap_or_else(|| HEAT_EDGES_NS[HEAT_EDGES_NS.len() - 1] * 10);
    edges_s.push(end as f64 / SECOND);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    maps.iter()
        .map(|map| HeatMap {
            group: map.group.map_or_else(|| "All".to_owned(), |key| key.label().to_owned()),
            start_ns: map.start_ns,
            column_s: map.column_ns as f64 / SECOND,
            columns: number(map.columns),
            edges_s: edges_s.clone(),
            cells: map.cells.iter().map(|&(column, row, n)| (number(column), number(row - lowest), n)).collect(),
        })
        .collect()
}

fn anomalies(coverage: &Coverage) -> Vec<AnomalyCount> {
    let count = |(kind, count): (plimsoll_model::Anomaly, u64)| AnomalyCount {
        kind: kind.label().to_owned(),
        count,
        text: kind.text().to_owned(),
    };
    coverage.anomalies.iter().map(count).collect()
}
