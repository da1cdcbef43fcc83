//! Users with a schedule each: overload, and which turns were late.

use super::units::{count, duration, optional, percent};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Stage, TurnKind};
use maud::{Markup, html};

/// Users, overload, throughput and errors by level; nothing where nobody has a schedule.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let stages = || findings.stages.iter().filter_map(|stage| Some((stage, stage.users?)));
    (stages().count() > 0).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="users-caption" {
                table {
                    caption #users-caption {
                        "Users with a schedule each. Overload: the share of their turns that had not ended when the user's next one \
                         was due. Errors: turns of which an action failed."
                    }
                    thead { tr {
                        th scope="col" { "Users" } th scope="col" { "Overload" } th scope="col" { "Throughput" }
                        th scope="col" { "Errors" } th scope="col" { "Errors, share" } th scope="col" { "Duration" }
                    } }
                    tbody { @for (stage, users) in stages() {
                        tr {
                            th scope="row" { (Untrusted(&stage.words_with(&count(users.users)))) @if !stage.validity.valid { " (invalid)" } }
                            td { (percent(users.overload)) }
                            td { (format!("{:.2}/s", stage.turns_per_s)) }
                            td { (count(users.failed)) } td { (percent(users.failed_share)) }
                            td { (optional(stage.span.elapsed_s, duration)) }
                        }
                    } }
                }
            }
            @if stages().any(|(stage, _)| stage.turns.iter().any(|kind| kind.late + kind.unended > 0)) { (late(&findings.stages)) }
        }
    })
}

fn late(stages: &[Stage]) -> Markup {
    let kinds = |stage: &Stage| -> Vec<TurnKind> {
        let some = |kind: &&TurnKind| stage.users.is_some() && kind.late + kind.unended > 0;
        stage.turns.iter().filter(some).cloned().collect()
    };
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="late-caption" {
            table {
                caption #late-caption {
                    "Which turns were late, by how much, and why: they took longer than there was, or began late because the one \
                     before had not ended."
                }
                thead { tr {
                    th scope="col" { "Users" } th.text scope="col" { "Turn" } th scope="col" { "Late" } th scope="col" { "Of" }
                    th scope="col" { "Took, mean" } th scope="col" { "Over, mean" } th scope="col" { "Over, most" }
                    th scope="col" { "Took too long" } th scope="col" { "Begun late" } th scope="col" { "Never ended" }
                } }
                tbody { @for stage in stages { @for kind in kinds(stage) {
                    tr {
                        th scope="row" { (Untrusted(&stage.words_with(&count(stage.stations)))) }
                        td.text { (Untrusted(&kind.name)) }
                        td { (count(kind.late)) } td { (count(kind.ended + kind.unended)) }
                        td { (optional(kind.mean_s, duration)) }
                        td { (optional(kind.overrun_mean_s, duration)) } td { (optional(kind.overrun_max_s, duration)) }
                        td { (count(kind.late.saturating_sub(kind.late_from_before))) } td { (count(kind.late_from_before)) }
                        td { (count(kind.unended)) }
                    }
                } } }
            }
        }
    }
}
