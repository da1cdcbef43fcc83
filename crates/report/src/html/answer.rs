//! What the first screen leads with where a run had a question of its own: its answer.

use super::summary::tile;
use super::units::{UNKNOWN, count, duration, optional};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::calls::{CallPhase, Calls};
use crate::findings::capacity::Capacity;
use crate::text::{calls, capacity};
use maud::{Markup, html};

/// The first sentences; nothing where the run had no question of its own.
pub(super) fn lead(findings: &Findings) -> Option<Markup> {
    let run = findings.run.as_ref()?;
    match (run.capacity.as_deref(), run.calls.as_deref()) {
        (Some(found), _) => Some(html! {
            strong { (Untrusted(&capacity::answer(found))) } " What had to hold: " (Untrusted(&found.promises.join(", "))) ". "
            (capacity::rests_on(found)) " Over all runs of the search: "
        }),
        (None, Some(measured)) => Some(html! {
            strong { (Untrusted(&calls::answer(measured))) } " "
            (count(calls_of(measured, false))) " calls were made on the target and " (count(calls_of(measured, true)))
            " in a local directory, without the server. Of the requests to the server: "
        }),
        (None, None) => None,
    }
}

fn calls_of(calls: &Calls, local: bool) -> u64 {
    let phases = calls.phases.iter().filter(|phase| phase.local == local);
    phases.fold(0, |sum, phase| sum.saturating_add(phase.calls))
}

/// The key figures that belong to it.
pub(super) fn tiles(findings: &Findings) -> Option<Markup> {
    let run = findings.run.as_ref()?;
    match (run.capacity.as_deref(), run.calls.as_deref()) {
        (Some(found), _) => Some(capacity_tiles(found)),
        (None, Some(measured)) => {
            let remote = measured.phases.iter().filter(|phase| !phase.local);
            Some(html! { @for phase in remote { (call_tile(phase)) } })
        }
        (None, None) => None,
    }
}

fn capacity_tiles(found: &Capacity) -> Markup {
    let load = found.low.map_or_else(|| UNKNOWN.to_owned(), capacity::exact);
    let high = found
        .high
        .filter(|_| found.outcome == "found")
        .map(|high| format!("95 % interval up to {}", capacity::exact(high)));
    let note = high.unwrap_or_else(|| found.outcome.clone());
    html! {
        div { dt { "Capacity, " (Untrusted(&found.unit)) } dd { strong { (load) } small { (Untrusted(&note)) } } }
        (tile("Runs", &count(found.tries.len() as u64), &format!("measured for {}", duration(found.seconds()))))
    }
}

fn call_tile(phase: &CallPhase) -> Markup {
    let note = format!("{} calls on the target, {} outstanding", count(phase.calls), phase.outstanding);
    html! {
        div { dt { (Untrusted(&phase.call)) } dd { strong { (optional(phase.response_s, duration)) } small { (note) } } }
    }
}
