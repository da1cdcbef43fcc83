//! A client that uses all slots of its NFSv4.1 sessions.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::SessionSlots;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::Rule;

/// Minimum number of a client's waits for slots.
const WAITS: u64 = 50;
/// Minimum fraction of a session's time in such waits. The sessions are from 2 slots on, which alone are no lack of them.
const TIME: f64 = 0.5;
/// Minimum fraction of these waits in all time waited. Two to 32 requests wait meanwhile.
const WAITING: f64 = 0.02;

/// The sessions of a client that slots limited.
struct Limited {
    client: IpAddr,
    sessions: u64,
    /// The fewest and the most slots that one of them has.
    slots: [u32; 2],
    waits: u64,
    wait_ns: u64,
    full_ns: u64,
    span_ns: u64,
}

/// The client that waited longest.
pub(super) fn exhausted(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies.filter(|_| evidence.findings.source.filters.is_empty())?;
    let least_ns = evidence.least_ns().max(WAITING * evidence.waited_ns());
    let mut limited = limited(&evidence.coverage.slots);
    limited.retain(|one| one.waits >= WAITS && one.wait_ns as f64 >= least_ns && one.wait_ns <= one.span_ns);
    let most = limited.iter().max_by_key(|one| (one.wait_ns, std::cmp::Reverse(one.client)))?;
    let others = limited.len() as u64 - 1;
    let time = |ns: u64| ns as f64 / most.span_ns.max(1) as f64;
    let own_ns = tallies.sum(|key| key.client == most.client).total().waited_ns as f64;
    let share = own_ns / evidence.waited_ns();
    let text = format!(
        "Client {client} ran out of slots: {slots} were in use for {share} of the time. {times}, the \
        client sent its next request as soon as a slot was free.{others} The number of slots limits how many requests a client may \
        have outstanding. Response times do not include the wait for a slot. Check the number of session slots on the client and on \
        the server.",
        client = most.client,
        slots = match (most.sessions, most.slots) {
            (1, [_, slots]) => format!("all {slots} slots of its NFSv4.1 session"),
            (more, [least, slots]) if least == slots => format!("all {slots} slots of each of {more} NFSv4.1 sessions"),
            (more, [least, slots]) => {
                format!("all slots of each of {more} NFSv4.1 sessions ({least} to {slots} slots)")
            }
        },
        share = percent(time(most.full_ns).min(1.0)),
        times = plural(most.waits, "time"),
        others = match others {
            0 => String::new(),
            others => format!(" The same is true of {}.", plural(others, "other client")),
        },
    );
    let found = Found::new(Kind::Explanation, Rule::SlotsExhausted, None, text);
    Some(found.explaining(time(most.wait_ns) * share.min(1.0)).inferred())
}

/// The clients with sessions that waited for slots for most of their time.
fn limited(sessions: &[SessionSlots]) -> Vec<Limited> {
    let mut clients: HashMap<IpAddr, Limited> = HashMap::new();
    for one in sessions {
        let Some(slots) = one.slots.filter(|_| one.waits > 0) else { continue };
        if (one.wait_ns as f64) < TIME * one.span_ns as f64 {
            continue;
        }
        let client = one.client;
        let none = Limited { client, sessions: 0, slots: [slots; 2], waits: 0, wait_ns: 0, full_ns: 0, span_ns: 0 };
        let all = clients.entry(one.client).or_insert(none);
        all.slots = [all.slots[0].min(slots), all.slots[1].max(slots)];
        all.sessions += 1;
        all.waits += one.waits;
        all.wait_ns = all.wait_ns.saturating_add(one.wait_ns);
        all.full_ns = all.full_ns.saturating_add(one.full_ns);
        all.span_ns = all.span_ns.saturating_add(one.span_ns);
    }
    clients.into_values().collect()
}
