//! Connections that were opened late.

use plimsoll_model::ClientPath;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED};
use crate::findings::Rule;
use crate::text::duration;

/// Minimum number of such connections: a single lost packet is no cause.
const LEAST: u64 = 3;

/// The clients whose SYNs, or the answers to them, were sent again.
pub(super) fn late(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() {
        return None;
    }
    let all = &evidence.coverage.client_paths;
    let mut paths: Vec<&ClientPath> = all.iter().filter(|path| path.late_handshakes > 0).collect();
    paths.sort_by_key(|path| (std::cmp::Reverse(path.late_handshake_ns), path.client));
    let count: u64 = paths.iter().map(|path| path.late_handshakes).sum();
    let sum_s = paths.iter().map(|path| path.late_handshake_ns as f64).sum::<f64>() / 1e9;
    let share = sum_s / (sum_s + waited_s);
    if count < LEAST || share < CAUSE_SHARE || sum_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| path.client.to_string()).collect();
    let more = if paths.len() > NAMED { format!(" and {} more", paths.len() - NAMED) } else { String::new() };
    let text = format!(
        "{who} {named}{more} opened {count} of {connections} late: the handshake took {mean} on average ({sum} in all), because TCP \
        retransmitted the SYN or the SYN-ACK.{others} Response times do not include this time. Packets were lost, or the server did \
        not accept connections in time.",
        who = if paths.len() == 1 { "Client" } else { "Clients" },
        named = named.join(", "),
        connections = plural(paths.iter().map(|path| path.connections).sum(), "connection"),
        mean = duration(sum_s / count as f64),
        sum = duration(sum_s),
        others = others(all, paths.len()),
    );
    Some(Found::new(Kind::Trouble, Rule::LateHandshakes, None, text).explaining(share).inferred())
}

/// That the handshakes of the other clients were not late, where there are any to compare with.
fn others(all: &[ClientPath], late: usize) -> String {
    let connected = all.iter().filter(|path| path.late_handshakes == 0 && path.handshakes > 0).count();
    match connected {
        0 => String::new(),
        1 if late + 1 == all.len() => " The other client had no late connections.".to_owned(),
        1 => " One other client had no late connections.".to_owned(),
        more if more + late == all.len() => format!(" The {more} other clients had no late connections."),
        more => format!(" {more} other clients had no late connections."),
    }
}
