//! Requests for a name that exists already, repeated again and again: probably a lock file that no program deletes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::StatusFamily::{self, Dos, Errno, Nfs, Nt};
use plimsoll_model::{Operation, Protocol, Symbol};
use plimsoll_stats::tallies::{InARow, RefusedPath};

use super::super::super::counts::{plural, thousands};
use super::super::{Evidence, Found, Kind, NAMED, operations};
use super::seconds;
use crate::findings::Rule;
use crate::instant;

/// Statuses of names that exist already.
const TAKEN: [(StatusFamily, u32); 4] = [
    (Nt, 0xC000_0035),  // OBJECT_NAME_COLLISION
    (Dos, 0x0050_0001), // ERRDOS, ERRfilexists
    (Nfs, 17),          // EXIST
    (Errno, 17),
];
/// Operations that make a lock file. A directory is often made again without need.
const MAKE: [Operation; 3] = [Operation::Create, Operation::Open, Operation::Link];
/// Minimum number of a client's refused requests in a row.
const IN_A_ROW: u64 = 20;
/// Minimum time from the first to the last of them, ns: shorter ones wait for a file that is removed.
const LASTING_NS: u64 = 5_000_000_000;
/// Minimum fraction among the requests for the same operation.
const AMONG: f64 = 0.1;

/// The same name, and how it was refused.
type Name = (Symbol, Symbol, Operation, Protocol, u32);

/// The name with most such requests.
pub(in crate::collect::diagnosis) fn retries(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies?;
    let lasts = |row: &InARow| row.count >= IN_A_ROW && row.span_ns.1.abs_diff(row.span_ns.0) >= LASTING_NS;
    let is_one = |row: &RefusedPath| {
        let is_taken = |family| TAKEN.contains(&(family, row.status));
        StatusFamily::of(row.protocol, row.status).is_some_and(is_taken)
            && MAKE.contains(&row.operation)
            && lasts(&row.in_a_row)
    };
    let mut names: BTreeMap<Name, Vec<RefusedPath>> = BTreeMap::new();
    for row in tallies.refused_paths().into_iter().filter(is_one) {
        names.entry((row.share, row.path, row.operation, row.protocol, row.status)).or_default().push(row);
    }
    let count_of = |rows: &[RefusedPath]| rows.iter().map(|row| row.in_a_row.count).sum::<u64>();
    let ((share, path, operation, protocol, status), mut rows) =
        names.into_iter().max_by_key(|(_, rows)| count_of(rows))?;
    let (count, clients) = (count_of(&rows), rows.iter().map(|row| row.client).collect::<BTreeSet<IpAddr>>());
    // Clients that also carry on with such requests do not wait for this name.
    let of_them = tallies.refusals().into_iter().filter(|row| {
        clients.contains(&row.place.client)
            && (row.place.share, row.operation, row.protocol, row.status) == (share, operation, protocol, status)
    });
    let later: u64 = of_them.map(|row| row.later).sum();
    let all = operations::by_operation(&evidence.findings.operations);
    let asked = all.iter().find(|one| one.label == operation.label()).map_or(0, |one| one.count);
    if (count as f64) < AMONG * asked as f64 || later > count {
        return None;
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.in_a_row.count));
    let first_ns = rows.iter().map(|row| row.in_a_row.span_ns.0).min()?;
    let last_ns = rows.iter().map(|row| row.in_a_row.span_ns.1).max()?;
    let lasted_ns: f64 = rows.iter().map(|row| row.in_a_row.span_ns.1.abs_diff(row.in_a_row.span_ns.0) as f64).sum();
    let text = format!(
        "Clients try again and again to create a file that already exists: {requests} for {path}{on} got {status}, from {first} to {last} \
        and without a success in between. {who}, one every {interval} on average. This file is probably a lock file that no program \
        deletes: check which program created it, and whether that program still runs. Response times do not include the pauses between \
        these requests.",
        requests = plural(count, &format!("{} request", operation.label())),
        path = evidence.names.text(path)?,
        on = evidence.names.text(share).map_or_else(String::new, |name| format!(" on share {name}")),
        status = (evidence.status_name)(protocol, status).map_or_else(|| format!("{status:#x}"), str::to_owned),
        first = instant::second(first_ns),
        last = instant::second(last_ns),
        who = who(&rows),
        interval = seconds(lasted_ns / (count - rows.len() as u64).max(1) as f64),
    );
    let met = count as f64 / all.iter().map(|one| one.count).sum::<u64>().max(1) as f64;
    let paused = lasted_ns / (lasted_ns + evidence.waited_ns()).max(1.0);
    let found = Found::new(Kind::Trouble, Rule::ErrorStatuses, None, text).explaining(met.max(paused));
    Some(found.look(operation.label(), "path").inferred())
}

/// The clients, each with its number.
fn who(rows: &[RefusedPath]) -> String {
    let named = rows.iter().take(NAMED);
    let named: Vec<String> =
        named.map(|row| format!("client {} sent {}", row.client, thousands(row.in_a_row.count))).collect();
    let more = match rows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", {more} more clients the others"),
    };
    let named = format!("{}{more}", named.join(", "));
    named.replacen("client", "Client", 1)
}
