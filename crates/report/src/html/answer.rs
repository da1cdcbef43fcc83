//! The answer of a run with a question (such as a search), at the top of the first screen.

use super::summary::{self, Totals, tile};
use super::units::{UNKNOWN, count, duration, long_duration, optional, percent_of};
use super::untrusted::Untrusted;
use crate::findings::calls::{CallPhase, Calls};
use crate::findings::capacity::{Capacity, CapacityOutcome};
use crate::findings::{Findings, LoadLevel, Run};
use crate::text::{calls, capacity};
use maud::{Markup, html};

/// The first sentences; None if the run had no question.
pub(super) fn lead(findings: &Findings) -> Option<Markup> {
    let run = findings.run.as_ref()?;
    match (run.capacity.as_deref(), run.calls.as_deref()) {
        (Some(found), _) => Some(html! {
            strong { (Untrusted(&capacity::answer(found))) } " Objective: " (Untrusted(&found.objectives.join(", "))) ". "
            (capacity::rests_on(found)) " The following numbers cover all runs of the search. "
        }),
        (None, Some(measured)) => Some(html! {
            strong { (Untrusted(&calls::answer(measured))) } " "
            (count(calls_of(measured, false))) " calls were made on the target and " (count(calls_of(measured, true)))
            " in a local directory, without the server. The following numbers cover the requests to the server. "
        }),
        (None, None) => None,
    }
}

/// Duration of the measurement, and number of requests.
pub(super) fn measured(findings: &Findings, run: &Run) -> Markup {
    let what = if run.is_local() { "call" } else { "request" };
    let totals = summary::totals(findings);
    html! {
        "The measured phases lasted " strong { (optional(findings.measured_s(), long_duration)) } " in all. "
        "The report counts " strong { (count(totals.requests)) " " (what) @if totals.requests != 1 { "s" } } " in these phases"
        @if !run.is_local() {
            ", on at most " (count(findings.connections)) @if findings.connections == 1 { " connection" } @else { " connections at a time" }
        }
        ". "
        // Of a server that falls behind, requests of a phase are sent after its end.
        @if findings.headline.is_from_intended() {
            "Each " (what) " counts in the phase in which it was due, even if it was sent later. "
        }
    }
}

/// Results of the requests, and of the actions and connections, which are counted separately.
pub(super) fn outcomes(findings: &Findings, totals: &Totals) -> Markup {
    let of = |share: u64| format!("{} ({} of the requests)", count(share), percent_of(share, totals.requests));
    let [actions, attempts, lost] =
        findings.levels.iter().map(LoadLevel::failures_by_kind).fold([0_u64; 3], |sum, one| {
            std::array::from_fn(|i| sum.get(i).copied().unwrap_or(0).saturating_add(one.get(i).copied().unwrap_or(0)))
        });
    html! {
        @if totals.status_unknown > 0 { "The status of " (count(totals.status_unknown)) @if totals.status_unknown == 1 { " \
        request" } @else { " requests" } " is not known. " }
        @if totals.refused > 0 || totals.failed > 0 {
            "Refused: " (of(totals.refused)) ", failed: " (of(totals.failed)) ". "
        } @else if totals.answered > 0 { "No response reports a refusal or a failure. " }
        @if totals.unanswered > 0 { "Without a response: " (of(totals.unanswered)) ". " }
        @if actions > 0 { (count(actions)) @if actions == 1 { " action" } @else { " actions" } " of the workload failed. " }
        @else if totals.refused > 0 || totals.failed > 0 { "No action of the workload failed, because the workload expects these statuses. " }
        @if attempts > 0 { (count(attempts)) @if attempts == 1 { " attempt" } @else { " attempts" } " to connect failed. " }
        @if lost > 0 { (count(lost)) @if lost == 1 { " connection was" } @else { " connections were" } " lost. " }
    }
}

fn calls_of(calls: &Calls, local: bool) -> u64 {
    let phases = calls.phases.iter().filter(|phase| phase.local == local);
    phases.fold(0, |sum, phase| sum.saturating_add(phase.calls))
}

/// The key figures of the answer.
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
        .filter(|_| found.outcome == CapacityOutcome::Found)
        .map(|high| format!("95 % interval up to {}", capacity::exact(high)));
    let note = high.unwrap_or_else(|| match found.outcome {
        CapacityOutcome::AtLeast => "lower bound".to_owned(),
        outcome => outcome.label().to_owned(),
    });
    html! {
        div { dt { "Capacity, " (Untrusted(&found.unit)) } dd { strong { (load) } small { (Untrusted(&note)) } } }
        (tile("Runs", &count(found.trials.len() as u64), &format!("measured for {}", duration(found.seconds()))))
    }
}

fn call_tile(phase: &CallPhase) -> Markup {
    let note = format!("{} calls on the target, {} outstanding", count(phase.calls), phase.outstanding);
    html! {
        div { dt { (Untrusted(&phase.call)) } dd { strong { (optional(phase.response_s, duration)) } small { (note) } } }
    }
}
