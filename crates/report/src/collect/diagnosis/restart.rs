//! A server that restarted under its clients.

use plimsoll_model::{Restart, StatusFamily};
use plimsoll_stats::tallies::ErrorRow;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, NAMED};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

use StatusFamily::{Nfs, Nlm, Nt};

/// Minimum number of connections closed together, without a status that shows a restart: servers also close single idle connections.
const LEAST: u64 = 2;
/// Maximum time from the restart to a status that shows it, ns: with most servers grace periods last for 90 s.
const AFTER_NS: i64 = 120_000_000_000;

/// Statuses for state that a server has lost, or cannot grant yet.
const FORGOTTEN: [(StatusFamily, u32); 9] = [
    (Nfs, 10_013),     // GRACE
    (Nfs, 10_022),     // STALE_CLIENTID
    (Nfs, 10_023),     // STALE_STATEID
    (Nfs, 10_052),     // BADSESSION
    (Nfs, 10_078),     // DEADSESSION
    (Nfs, 70),         // STALE
    (Nlm, 4),          // DENIED_GRACE_PERIOD
    (Nt, 0xC000_0203), // USER_SESSION_DELETED
    (Nt, 0xC000_00C9), // NETWORK_NAME_DELETED
];

/// The restart that kept clients waiting longest; before the statuses that followed from it.
pub(super) fn restart(evidence: &Evidence<'_>, waited_s: f64, statuses: &[Found]) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() {
        return None;
    }
    let is_one = |restart: &&Restart| restart.connections >= LEAST || !forgotten(evidence, restart).is_empty();
    let most = evidence.coverage.restarts.iter().filter(is_one).max_by_key(|restart| restart.away_ns)?;
    let rows = forgotten(evidence, most);
    let away_s = most.away_ns as f64 / 1e9;
    if rows.is_empty() && away_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let (from_ns, to_ns) = most.closed_ns;
    let (least, longest) = (most.back_after_ns.0 as f64 / 1e9, most.back_after_ns.1 as f64 / 1e9);
    let after = match most.back {
        1 => format!("{} later", duration(longest)),
        _ => format!("{} to {} later", duration(least), duration(longest)),
    };
    let text = format!(
        "Server {server} or its file service restarted: at {at}, it closed {connections} of {clients} within {within}. {back} \
        connected again, {after}. Response times do not include this time.{then}",
        server = most.server,
        at = instant::second(from_ns),
        connections = plural(most.connections, "connection"),
        clients = plural(most.clients, "client"),
        within = duration(to_ns.abs_diff(from_ns) as f64 / 1e9),
        back = plural(most.back, "client"),
        then = then(evidence, &rows),
    );
    // The server lost this state because it restarted.
    let of_status = |one: &&Found| one.statement.rule == Rule::ErrorStatuses && one.kind == Kind::Trouble;
    let statuses = statuses.iter().filter(of_status).map(|one| one.explains * (1.0 + f64::EPSILON));
    let beyond = if rows.is_empty() { 0.0 } else { statuses.fold(0.0, f64::max) };
    let explains = (away_s / (away_s + waited_s)).max(beyond);
    Some(Found::new(Kind::Trouble, Rule::Restart, None, text).explaining(explains).inferred())
}

/// The statuses that show it, most frequent first.
fn forgotten<'e>(evidence: &Evidence<'e>, restart: &Restart) -> Vec<&'e ErrorRow> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    let is_of = |row: &&ErrorRow| {
        let is_known =
            StatusFamily::of(row.protocol, row.status).is_some_and(|family| FORGOTTEN.contains(&(family, row.status)));
        is_known && (0..=AFTER_NS).contains(&row.first_ns.saturating_sub(restart.closed_ns.0))
    };
    let mut rows: Vec<&ErrorRow> = tallies.errors().rows().iter().filter(is_of).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn then(evidence: &Evidence<'_>, rows: &[&ErrorRow]) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let known = (evidence.status_name)(row.protocol, row.status);
        let name = known.map_or_else(|| format!("{:#x}", row.status), str::to_owned);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(NAMED);
    let count = rows.iter().map(|row| row.count).sum();
    if names.is_empty() {
        String::new()
    } else {
        format!(" After that, {} got {}.", plural(count, "request"), names.join(", "))
    }
}
