//! A server that restarted under its clients.

use plimsoll_model::{Protocol, Restart};
use plimsoll_stats::tallies::Forgotten;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, NAMED};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum number of connections closed together, without a status that shows a restart: servers also close single idle connections.
const LEAST: u64 = 2;
/// Maximum time from the restart to a status that shows it, ns: with most servers grace periods last for 90 s.
const AFTER_NS: i64 = 120_000_000_000;
/// NFS STALE. A server also sends it if somebody has removed the file.
const STALE: u32 = 70;

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
    let of_status = |one: &&Found| one.is_of_statuses() && one.kind == Kind::Trouble;
    let statuses = statuses.iter().filter(of_status).map(|one| one.explains * (1.0 + f64::EPSILON));
    let beyond = if rows.is_empty() { 0.0 } else { statuses.fold(0.0, f64::max) };
    let explains = (away_s / (away_s + waited_s)).max(beyond);
    Some(Found::new(Kind::Trouble, Rule::Restart, None, text).explaining(explains).inferred())
}

/// The statuses that show it: of this server, for state that it had before.
fn forgotten<'e>(evidence: &Evidence<'e>, restart: &Restart) -> Vec<&'e Forgotten> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    let is_of = |row: &&Forgotten| {
        // The lock manager of a server has its own port.
        let is_server =
            row.server == restart.server || (row.protocol == Protocol::Nlm && row.server.ip == restart.server.ip);
        let is_after = (0..=AFTER_NS).contains(&row.first_ns.saturating_sub(restart.closed_ns.0));
        is_server && is_after && !row.is_by_client && is_from_before(row, restart)
    };
    tallies.forgotten().iter().filter(is_of).collect()
}

/// Whether the server had before what these requests name. A single closed connection is weak evidence: then it must be certain.
fn is_from_before(row: &Forgotten, restart: &Restart) -> bool {
    let are_several = restart.connections >= LEAST;
    match row.protocol {
        Protocol::Smb1 | Protocol::Smb2 => row.made_ns.map_or(are_several, |made_ns| made_ns < restart.closed_ns.0),
        _ => are_several || row.status != STALE,
    }
}

fn then(evidence: &Evidence<'_>, rows: &[&Forgotten]) -> String {
    let mut names: Vec<(String, u64)> = Vec::new();
    for row in rows {
        let known = (evidence.status_name)(row.protocol, row.status);
        let name = known.map_or_else(|| format!("{:#x}", row.status), str::to_owned);
        match names.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += row.count,
            None => names.push((name, row.count)),
        }
    }
    let count: u64 = names.iter().map(|(_, count)| count).sum();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<&str> = names.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(" After that, {} got {}.", plural(count, "request"), named.join(", ")),
    }
}
