//! Clients that cannot connect.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Unopened};

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, clients};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum number of connections to a server: clients may look for a service once or twice.
const LEAST: u64 = 3;

/// Ports whose service every file server has: at others a client only tries whether there is one (139 beside 445, 111).
const PORTS: [u16; 2] = [445, 2049];

/// The server to which most connections failed.
pub(super) fn unopened(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() || evidence.coverage.one_sided > 0 {
        return None;
    }
    let mut servers: HashMap<Endpoint, Vec<&Unopened>> = HashMap::new();
    let rows = evidence.coverage.unopened.iter().filter(|one| PORTS.contains(&one.server.port));
    rows.for_each(|one| servers.entry(one.server).or_default().push(one));
    let count = |rows: &[&Unopened]| -> u64 { rows.iter().map(|one| one.refused + one.unanswered).sum() };
    let is_used = |ip: &IpAddr| evidence.coverage.client_paths.iter().any(|path| path.client == *ip);
    // A client with other traffic of file servers: a scan of ports has none.
    servers.retain(|_, rows| count(rows) >= LEAST && rows.iter().any(|one| is_used(&one.client)));
    let (server, rows) = servers.into_iter().max_by_key(|(server, rows)| (count(rows), *server))?;
    let concerned: BTreeSet<IpAddr> = rows.iter().map(|one| one.client).collect();
    let (refused, all) = (rows.iter().map(|one| one.refused).sum::<u64>(), count(&rows));
    let wait_s = rows.iter().map(|one| one.wait_ns as f64).sum::<f64>() / 1e9;
    // A RST comes at once, but the client cannot work.
    let met =
        all as f64 / (all + evidence.coverage.client_paths.iter().map(|path| path.connections).sum::<u64>()) as f64;
    let share = (wait_s / (wait_s + waited_s)).max(met);
    if share < CAUSE_SHARE {
        return None;
    }
    let how = match (refused, all - refused) {
        (_, 0) => "the server refused each of them (RST)".to_owned(),
        (0, _) => {
            format!("the server did not answer, although TCP retransmitted the SYN for {} in all", duration(wait_s))
        }
        (refused, unanswered) => {
            format!("the server refused {refused} of them (RST) and did not answer the other {unanswered}")
        }
    };
    let text = format!(
        "Between {first} and {last}, {clients} could not open {connections} to {server}: {how}. Response times do not show this. \
        Check whether the file service runs on this server, and whether a firewall blocks the connections.",
        clients = clients::named(evidence, &concerned),
        connections = plural(all, "connection"),
        first = instant::second(rows.iter().map(|one| one.first_ns).min()?),
        last = instant::second(rows.iter().map(|one| one.last_ns).max()?),
    );
    Some(Found::new(Kind::Trouble, Rule::Unopened, None, text).explaining(share).inferred())
}
