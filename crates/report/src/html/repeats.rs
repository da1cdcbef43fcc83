//! How much repeats of a load level differ.

use super::units::{UNKNOWN, duration, per_second};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Spread};
use maud::{Markup, html};

/// A line a level that was run often enough; nothing where none was.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    (!findings.repeats.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="repeats-caption" {
                table {
                    caption #repeats-caption {
                        "Repeats of each level: the mean over the repeats, and its 95 % interval. What a new run changes is in it, and in no \
                         number of a single run. In brackets the lowest and the highest repeat."
                    }
                    thead { tr {
                        th scope="col" { "Level" } th scope="col" { "Runs" } th scope="col" { "Operations" } th scope="col" { "Mean" }
                        th scope="col" { "Median" } th scope="col" { "99 in 100 below" }
                    } }
                    tbody { @for level in &findings.repeats {
                        tr {
                            th scope="row" { (Untrusted(&level.words())) @if !level.valid { " (invalid)" } }
                            td { (level.stages.len()) }
                            td { (show(level.operations_per_s, per_second)) } td { (show(level.response_mean_s, duration)) }
                            td { (show(level.response_p50_s, duration)) } td { (show(level.response_p99_s, duration)) }
                        }
                    } }
                }
            }
        }
    })
}

fn show(spread: Option<Spread>, number: fn(f64) -> String) -> String {
    let Some(Spread { mean, interval, min, max }) = spread else { return UNKNOWN.to_owned() };
    // Half of the interval in the number's own words: of a rate near nothing there is no percentage.
    format!("{} ± {} ({} to {})", number(mean), number(interval.high - mean), number(min), number(max))
}
