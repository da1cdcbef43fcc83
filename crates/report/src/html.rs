//! The HTML report: one file that opens from disk, reads nothing else and lets nothing else in.
//!
//! Everything is in the page as text first (tables, static pictures), readable and printable with scripts off. With
//! scripts on, the same numbers, embedded as JSON, are drawn by a bundled part of Apache ECharts
//! (`docs/decisions/0005-plotting-library.md`).
//!
//! Every text of a capture was written by a stranger. Markup is escaped by [`maud`] when it is spliced in, characters
//! that act instead of showing become visible escapes (`untrusted`), the embedded JSON contains no character that
//! could end its element (`data`), and the page's policy (`policy`) allows our two scripts by digest and nothing
//! from any network.

mod charts;
mod data;
mod distribution;
mod operations;
mod particulars;
mod picture;
mod policy;
mod run;
mod summary;
mod traffic;
mod units;
mod untrusted;

use crate::findings::Findings;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use untrusted::Untrusted;

const STYLE: &str = include_str!("../assets/page.css");

/// The mark that a ship carries: how deep it may lie in the water.
const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 48 48\" aria-hidden=\"true\"><circle cx=\"24\" cy=\"24\" r=\"14\"/>\
                    <path d=\"M2 24h44\"/></svg>";

/// The mark once more, for the browser's tab.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48' fill='none' \
                    stroke='%23147a9c' stroke-width='6'%3E%3Ccircle cx='24' cy='24' r='15'/%3E%3Cpath d='M2 24h44'/%3E\
                    %3C/svg%3E";

/// `findings` as one HTML page, complete in itself.
///
/// # Errors
///
/// The findings cannot be serialised: a number in them is one that JSON has no text for.
pub fn page(findings: &Findings) -> Result<String, serde_json::Error> {
    let json = data::embeddable(findings)?;
    let sections = sections(findings);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::content());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content=(Untrusted(&findings.source.tool));
                title { (title(findings)) }
                link rel="icon" href=(ICON);
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#summary" { "Skip to the summary" }
                (header(findings))
                nav aria-label="Sections" {
                    ul { @for s in &sections { li { a href={ "#" (s.id) } { (s.title) } } } }
                }
                main { @for s in &sections { (section(s)) } }
                (footer(findings))
                script type="application/json" id="findings" { (PreEscaped(json)) }
                script { (PreEscaped(policy::LIBRARY)) }
                script { (PreEscaped(policy::PAGE)) }
            }
        }
    };
    Ok(page.into_string())
}

/// A part of the page with a heading of its own.
struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

fn sections(findings: &Findings) -> Vec<Section> {
    let all = [
        ("summary", "Summary", Some(summary::section(findings))),
        ("levels", "Load levels", run::section(findings)),
        ("over-time", "Over time", charts::over_time(findings)),
        ("groups", "Groups", operations::groups(findings)),
        ("distributions", "Distributions", distribution::section(findings)),
        ("operations", "Operations", operations::operations(findings)),
        ("held", "Held requests", operations::held(findings)),
        ("breakdown", "Breakdown", operations::breakdown(findings)),
        ("errors", "Errors", particulars::statuses(findings)),
        ("slowest", "Slowest", particulars::slowest(findings)),
        ("unanswered", "Unanswered", particulars::unanswered(findings)),
        ("queue-depth", "Queue depth", traffic::queue_depth(findings)),
        ("packets", "Packets", findings.run.is_none().then(|| traffic::packets(findings)).flatten()),
        ("unseen", "Not seen", Some(traffic::unseen(findings))),
    ];
    all.into_iter().filter_map(|(id, title, body)| Some(Section { id, title, body: body? })).collect()
}

fn section(section: &Section) -> Markup {
    html! {
        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
            h2 id={ (section.id) "-title" } { (section.title) }
            (section.body)
        }
    }
}

fn title(findings: &Findings) -> Markup {
    let inputs = findings.source.inputs.join(", ");
    html! { "Plimsoll" @if !inputs.is_empty() { " – " (Untrusted(&inputs)) } }
}

fn header(findings: &Findings) -> Markup {
    let source = &findings.source;
    html! {
        header {
            div.brand {
                (PreEscaped(MARK))
                div {
                    p.name { "Plimsoll" }
                    h1 { "File server response times" }
                }
                (summary::stamp(&findings.validity))
            }
            dl.facts {
                @if !source.inputs.is_empty() {
                    div { dt { @if findings.run.is_some() { "Target" } @else { "Input" } } dd { (summary::inputs(source)) } }
                }
                div { dt { "From" } dd { (units::instant(findings.span.first_ns)) } }
                div { dt { "To" } dd { (units::instant(findings.span.last_ns)) } }
                div { dt { "Length" } dd { (units::optional(findings.span.elapsed_s, units::long_duration)) } }
                div { dt { "Clock stands" } dd { (summary::vantage(&source.vantage)) } }
                @if !source.filters.is_empty() {
                    div { dt { "Filters" } dd { (Untrusted(&source.filters.join(" "))) } }
                }
            }
        }
    }
}

fn footer(findings: &Findings) -> Markup {
    html! {
        footer {
            p {
                "Made by " (Untrusted(&findings.source.tool)) ". Instants are UTC; 1 MB is 1,000,000 bytes. \
                 Response time: first byte of the request to last byte of the response. \
                 Service time: last byte of the request to first byte of the response. \
                 Percentiles are exact to 0.1 %."
            }
            p {
                "All numbers are in this file as JSON (" code { (Untrusted(&findings.schema)) } ", the element "
                code { "#findings" } "). It reads nothing from any network. Charts: Apache ECharts, Apache License 2.0; \
                 its licence stands in this file."
            }
        }
    }
}
