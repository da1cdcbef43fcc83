//! The highest load that met an objective, and all runs of the search.

use super::table::scrolled;
use super::units::duration;
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::capacity::first_missed;
use crate::text::capacity::{answer, by_load, exact, met_of, rests_on};
use maud::{Markup, html};

/// The answer and a line a load; nothing where none was searched.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let capacity = findings.run.as_ref()?.capacity.as_deref()?;
    Some(html! {
        p { strong { (Untrusted(&answer(capacity))) } " Objective: " (Untrusted(&capacity.objectives.join(", "))) "." }
        (scrolled("capacity-caption", "", html! { (rests_on(capacity)) }, html! {
            thead { tr {
                th scope="col" { "Load, " (Untrusted(&capacity.unit)) } th scope="col" { "Runs" } th scope="col" { "Measured" }
                th scope="col" { "Met" } th scope="col" { "First objective missed" }
            } }
            tbody { @for trials in by_load(&capacity.trials) {
                tr {
                    th scope="row" { @if let Some(first) = trials.first() { (exact(first.load)) } }
                    td { (trials.len()) }
                    td { (duration(trials.iter().map(|one| one.seconds).sum())) }
                    td { (met_of(&trials)) }
                    td { (Untrusted(first_missed(&trials))) }
                }
            } }
        }))
    })
}
