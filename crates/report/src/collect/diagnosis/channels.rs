//! Sessions with connections that carry nothing, or much less than others.

use super::super::counts::{plural, thousands};
use super::{Evidence, Found, Kind, NAMED};
use crate::findings::{Channel, Rule, Session};
use crate::text::significant;

/// Minimum number of requests of a session for a statement.
const REQUESTS_LEAST: u64 = 1_000;
/// Minimum mean number of outstanding requests for a statement: one at a time needs only one connection.
const DEPTH_LEAST: f64 = 1.0;
/// Busiest over least busy connection, and requests outstanding, from which on connections are called unequal.
const BALANCE_LEAST: f64 = 3.0;
const UNEQUAL_DEPTH_LEAST: f64 = 2.0;

/// The statement about the busiest of these sessions.
pub(super) fn channels(evidence: &Evidence<'_>) -> Option<Found> {
    let sessions = &evidence.findings.channels.as_ref()?.sessions;
    let said: Vec<(&Session, String)> =
        sessions.iter().filter_map(|session| Some((session, sentence(session)?))).collect();
    let (session, sentence) = said.first()?;
    let user = session.user.as_deref().map_or_else(String::new, |user| format!(" of user {user}"));
    let others = said.len() as u64 - 1;
    let more =
        if others == 0 { String::new() } else { format!(" The same is true of {}.", plural(others, "other session")) };
    let text = format!("Session {}{user}: {sentence}{more}", session.id);
    Some(Found::new(Kind::Remark, Rule::UnevenChannels, None, text))
}

fn sentence(session: &Session) -> Option<String> {
    let requests: u64 = session.channels.iter().map(|channel| channel.requests).sum();
    let depth: f64 = session.channels.iter().filter_map(|channel| channel.depth_mean).sum();
    if requests < REQUESTS_LEAST || depth < DEPTH_LEAST {
        return None;
    }
    let outstanding = format!("although the session had {} requests outstanding on average", significant(depth));
    let idle: Vec<&Channel> = session.channels.iter().filter(|channel| channel.is_idle).collect();
    let count = session.channels.len();
    if !idle.is_empty() {
        let names: Vec<&str> = idle.iter().take(NAMED).map(|channel| channel.client.as_str()).collect();
        let more = idle.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let verb = if idle.len() == 1 { "carries" } else { "carry" };
        return Some(format!(
            "{idle} of its {count} connections {verb} almost no requests ({names}{more}), {outstanding}.",
            idle = idle.len(),
            names = names.join(", ")
        ));
    }
    let balance = session.balance.filter(|balance| *balance >= BALANCE_LEAST && depth >= UNEQUAL_DEPTH_LEAST)?;
    let busiest = session.channels.iter().max_by_key(|channel| channel.requests)?;
    Some(format!(
        "the busiest of its {count} connections ({connection}, {requests} requests) carries {times} times as many requests as the \
        least busy one, {outstanding}.",
        connection = busiest.client,
        requests = thousands(busiest.requests),
        times = significant(balance)
    ))
}
