//! A client that uses all slots of its NFSv4.1 sessions.

use plimsoll_model::SlotWaits;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::Rule;

/// Minimum number of a client's waits for slots.
const WAITS: u64 = 50;
/// Minimum fraction of the time of its sessions in such waits. They are from 2 slots on, which alone are no lack of them.
const TIME: f64 = 0.5;
/// Minimum fraction of these waits in all time waited. Two to 32 requests wait meanwhile.
const WAITING: f64 = 0.02;

/// The client that waited longest.
pub(super) fn exhausted(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies.filter(|_| evidence.findings.source.filters.is_empty())?;
    let time = |one: &SlotWaits| one.wait_ns as f64 / one.sessions_ns.max(1) as f64;
    let least_ns = evidence.least_ns().max(WAITING * evidence.waited_ns());
    let is_much =
        |one: &&SlotWaits| one.waits >= WAITS && one.wait_ns as f64 >= least_ns && (TIME..=1.0).contains(&time(one));
    let slots = &evidence.coverage.slots;
    let most = slots.iter().filter(is_much).max_by_key(|one| one.wait_ns)?;
    let others = slots.iter().filter(is_much).count() as u64 - 1;
    let own_ns = tallies.sum(|key| key.client == most.client).total().waited_ns as f64;
    let share = own_ns / evidence.waited_ns();
    let text = format!(
        "Client {client} ran out of slots: all {slots} slots of {sessions} were in use for {share} of the time. {times}, the \
        client sent its next request as soon as a slot was free.{others} The number of slots limits how many requests a client may \
        have outstanding. Response times do not include the wait for a slot. Check the number of session slots on the client and on \
        the server.",
        client = most.client,
        slots = most.slots,
        sessions = match most.sessions {
            1 => "its NFSv4.1 session".to_owned(),
            more => format!("each of {more} NFSv4.1 sessions"),
        },
        share = percent(time(most)),
        times = plural(most.waits, "time"),
        others = match others {
            0 => String::new(),
            others => format!(" The same is true of {}.", plural(others, "other client")),
        },
    );
    let found = Found::new(Kind::Explanation, Rule::SlotsExhausted, None, text);
    Some(found.explaining(time(most) * share.min(1.0)).inferred())
}
