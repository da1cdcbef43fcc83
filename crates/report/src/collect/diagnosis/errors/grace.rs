//! Grace periods: which servers refused requests in one, of which clients, and when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::Protocol;
use plimsoll_stats::tallies::{ErrorRow, Refusal};

use super::super::super::counts::{plural, thousands};
use super::super::{Evidence, NAMED, clients};
use crate::instant;
use crate::text::duration;

/// The responses of a server.
#[derive(Clone, Copy)]
struct Responses {
    count: u64,
    first_ns: i64,
    last_ns: i64,
}

/// A sentence per server; `None` if the server or the client of some of these responses is not known.
pub(super) fn period(evidence: &Evidence<'_>, rows: &[&ErrorRow], refusals: &[Refusal]) -> Option<String> {
    let count: u64 = rows.iter().map(|row| row.count).sum();
    let is_of =
        |protocol: Protocol, status: u32| rows.iter().any(|row| row.protocol == protocol && row.status == status);
    let mut servers: BTreeMap<IpAddr, Responses> = BTreeMap::new();
    for row in evidence.tallies?.forgotten().iter().filter(|row| is_of(row.protocol, row.status)) {
        let none = Responses { count: 0, first_ns: i64::MAX, last_ns: i64::MIN };
        let all = servers.entry(row.server.ip).or_insert(none);
        all.count += row.count;
        all.first_ns = all.first_ns.min(row.first_ns);
        all.last_ns = all.last_ns.max(row.last_ns);
    }
    let refusals: Vec<&Refusal> = refusals.iter().filter(|row| is_of(row.protocol, row.status)).collect();
    let of_servers: u64 = servers.values().map(|all| all.count).sum();
    let of_clients: u64 = refusals.iter().map(|row| row.count).sum();
    if of_servers != count || of_clients != count {
        return None;
    }
    let mut servers: Vec<(IpAddr, Responses)> = servers.into_iter().collect();
    servers.sort_by_key(|(_, all)| Reverse(all.count));
    let of_server = |&(server, all): &(IpAddr, Responses)| {
        let own = refusals.iter().filter(|row| row.place.server.ip == server);
        let clients: BTreeSet<IpAddr> = own.map(|row| row.place.client).collect();
        let which = match count {
            1 => "this response".to_owned(),
            _ if count == all.count => "these responses".to_owned(),
            _ => format!("{} of these responses", thousands(all.count)),
        };
        let (whom, when) = (clients::named(evidence, &clients), when(all));
        format!(" Server {server} sent {which} to {whom}, {when}.")
    };
    let mut text: String = servers.iter().take(NAMED).map(of_server).collect();
    if let Some(more @ 1..) = servers.len().checked_sub(NAMED) {
        text.push_str(&format!(" {} sent the others.", plural(more as u64, "more server")));
    }
    Some(text)
}

/// From the first to the last one.
fn when(all: Responses) -> String {
    let length_ns = all.last_ns.abs_diff(all.first_ns);
    let at = |ns: i64| instant::end_of(ns, length_ns);
    match length_ns {
        0 => format!("at {}", at(all.first_ns)),
        _ => format!("from {} to {} ({})", at(all.first_ns), at(all.last_ns), duration(length_ns as f64 / 1e9)),
    }
}
