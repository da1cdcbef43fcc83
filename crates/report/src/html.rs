//! The HTML report: one file that opens from disk, reads nothing else and lets nothing else in.
//!
//! Everything is in the page as text first (tables, static pictures), readable and printable with scripts off. With
//! scripts on, the same numbers, embedded as JSON, are drawn by a bundled part of Apache ECharts
//! (`docs/decisions/0005-plotting-library.md`).
//!
//! No text of a capture is trusted. Markup is escaped by [`maud`] when it is spliced in, characters
//! that act instead of showing become visible escapes (`untrusted`), the embedded JSON contains no character that
//! could end its element (`data`), and the page's policy (`policy`) allows our two scripts by digest and nothing
//! from any network.

mod answer;
mod calls;
mod capacity;
mod chart;
mod clients;
mod comparison;
mod configuration;
mod curves;
mod data;
mod depth;
mod described;
mod diagnosis;
mod distribution;
mod drawn;
mod drill_down;
mod each_level;
mod fairness;
mod figure;
mod file_io;
mod highest_data;
mod history;
mod load_curves;
mod load_groups;
mod mix;
mod operations;
mod over_time;
mod particulars;
mod picture;
mod policy;
mod profile;
mod service;
mod sizes;
mod summary;
mod table;
mod traffic;
mod units;
mod untrusted;
mod users;

use crate::findings::{DrillDown, Findings, Report};
use crate::tables;
pub use comparison::compact;
use figure::Figure;
pub use history::history;
use maud::{DOCTYPE, Markup, PreEscaped, html};
pub(crate) use policy::LIBRARY;
use untrusted::Untrusted;

pub(crate) const STYLE: &str = include_str!("../assets/page.css");

/// The mark that a ship carries: how deep it may lie in the water.
pub(crate) const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 48 48\" aria-hidden=\"true\"><circle cx=\"24\" cy=\"24\" r=\"14\"/>\
                    <path d=\"M2 24h44\"/></svg>";

/// The mark once more, for the browser's tab.
pub(crate) const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48' fill='none' \
                    stroke='%23147a9c' stroke-width='6'%3E%3Ccircle cx='24' cy='24' r='15'/%3E%3Cpath d='M2 24h44'/%3E\
                    %3C/svg%3E";

/// `report` as one HTML page, complete in itself.
///
/// # Errors
///
/// The report cannot be serialised: a number in it is one that JSON has no text for.
pub fn page(report: &Report) -> Result<String, serde_json::Error> {
    whole(report, None)
}

/// The page with an additional section that shows any client, share, operation, status and time of its single side.
///
/// # Errors
/// As of [`page`].
pub fn page_with_drill_down(report: &Report, drill: &DrillDown) -> Result<String, serde_json::Error> {
    whole(report, Some(drill))
}

fn whole(report: &Report, drill: Option<&DrillDown>) -> Result<String, serde_json::Error> {
    let heading = if report.only().is_some() { "File server response times" } else { "Comparison of file servers" };
    document(report, heading, sections(report, drill), drill)
}

/// The page of a report: its parts that have something to say, under `heading`.
fn document(
    report: &Report,
    heading: &str,
    sections: Vec<Section<'_>>,
    drill: Option<&DrillDown>,
) -> Result<String, serde_json::Error> {
    let head = Head {
        title: title(report),
        heading,
        stamp: stamp(report),
        facts: facts(report),
        tool: &report.tool,
        schema: &report.schema,
    };
    whole_page(&head, data::embeddable(report)?, sections, drill)
}

/// The parts of a page above and below its sections.
struct Head<'a> {
    title: Markup,
    heading: &'a str,
    stamp: Markup,
    facts: Markup,
    tool: &'a str,
    schema: &'a str,
}

fn whole_page(
    head: &Head<'_>,
    json: String,
    mut sections: Vec<Section<'_>>,
    drill: Option<&DrillDown>,
) -> Result<String, serde_json::Error> {
    sections.retain(|section| !section.is_empty());
    let charts = figure::embedded(sections.iter().flat_map(Section::all_figures))?;
    let cube = drill.map(drill_down::embedded).transpose()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::content());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content=(Untrusted(head.tool));
                title { (head.title) }
                link rel="icon" href=(ICON);
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#summary" { "Skip to the summary" }
                header {
                    div.brand {
                        (PreEscaped(MARK))
                        div { p.name { "Plimsoll" } h1 { (head.heading) } }
                        (head.stamp)
                    }
                    dl.facts { (head.facts) }
                }
                nav aria-label="Sections" {
                    ul { @for s in &sections { li { a href={ "#" (s.id) } { (s.title) } } } }
                }
                p #keys hidden {
                    "With the chart in focus: plus and minus zoom, the arrow keys move, 0 shows all. The tables have the same numbers."
                }
                main { @for s in &sections { (s.markup()) } }
                (footer(head.tool, head.schema))
                script type="application/json" id="findings" { (PreEscaped(json)) }
                script type="application/json" id="charts" { (PreEscaped(charts)) }
                script { (PreEscaped(policy::LIBRARY)) }
                script { (PreEscaped(policy::PAGE)) }
                @if let Some(cube) = cube { (cube) script { (PreEscaped(policy::DRILL)) } }
            }
        }
    };
    Ok(page.into_string())
}

/// A section of the page with its own heading.
struct Section<'a> {
    id: &'static str,
    title: &'static str,
    parts: Vec<Part<'a>>,
}

/// A part of a section.
enum Part<'a> {
    Text(Markup),
    /// Side by side if there is room.
    Figures(Vec<Figure<'a>>),
}

impl<'a> Section<'a> {
    fn new(id: &'static str, title: &'static str) -> Section<'a> {
        Section { id, title, parts: Vec::new() }
    }

    fn text(mut self, text: impl IntoIterator<Item = Markup>) -> Section<'a> {
        self.parts.extend(text.into_iter().map(Part::Text));
        self
    }

    fn figures(mut self, figures: impl IntoIterator<Item = Figure<'a>>) -> Section<'a> {
        let figures: Vec<_> = figures.into_iter().collect();
        self.parts.extend((!figures.is_empty()).then_some(Part::Figures(figures)));
        self
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    fn all_figures(&self) -> impl Iterator<Item = &Figure<'a>> {
        self.parts.iter().flat_map(|part| match part {
            Part::Figures(figures) => figures.as_slice(),
            Part::Text(_) => &[],
        })
    }

    fn markup(&self) -> Markup {
        html! {
            section id=(self.id) aria-labelledby={ (self.id) "-title" } {
                h2 id={ (self.id) "-title" } { (self.title) }
                @for part in &self.parts {
                    @match part {
                        Part::Text(text) => (text),
                        Part::Figures(figures) => div.figures { @for figure in figures { (figure.markup()) } },
                    }
                }
            }
        }
    }
}

/// All sections, in the order of the page: verdicts on differences, comparisons of the sides, and the sections that only a report of one
/// side has room for.
fn sections<'a>(report: &'a Report, drill: Option<&DrillDown>) -> Vec<Section<'a>> {
    let sides = report.sides.as_slice();
    let only = || report.only().into_iter();
    let is_capture = only().any(|side| side.run.is_none());
    let compared = report.comparison.as_ref();
    let mut all: Vec<Section<'_>> = compared.map(|found| comparison::sections(sides, found)).unwrap_or_default();
    all.extend([
        Section::new("diagnosis", "Diagnosis").text(only().flat_map(|side| diagnosis::diagnosis(&side.diagnosis))),
        Section::new("summary", "Summary").text(only().map(summary::section)),
        Section::new("drill-down", "Drill-down").text(drill.map(drill_down::section)),
        Section::new("capacity", "Capacity").text(only().flat_map(capacity::section)),
        Section::new("calls", "Where the time goes")
            .figures(only().flat_map(calls::figure))
            .text(only().flat_map(calls::section))
            .text(only().flat_map(profile::section)),
        Section::new("interference", "Interference").text(drawn::draw(tables::interference(sides))),
        Section::new("levels", "Load levels")
            .figures(curves::figures(sides))
            .figures(highest_data::figure(sides))
            .figures(users::figures(sides))
            .figures(only().flat_map(load_curves::figures))
            .text(only().flat_map(load_curves::section))
            .text(level_tables(sides)),
        Section::new("each-level", "Each level").text(only().flat_map(each_level::section)),
        Section::new("sizes", "Sizes").figures(only().flat_map(sizes::figures)).text(only().flat_map(sizes::section)),
        Section::new("clients", "Clients")
            .figures(fairness::figure(sides))
            .figures(only().flat_map(clients::figures))
            .text(only().flat_map(clients::section))
            .text(drawn::draw(tables::clients(sides))),
        Section::new("over-time", "Over time").figures(over_time::figures(sides)),
        Section::new("groups", "Groups")
            .text(only().flat_map(|side| operations::groups("groups", &side.groups)))
            .text(only().filter_map(|side| side.overhead.as_ref()).map(operations::overhead)),
        Section::new("distributions", "Distributions")
            .figures(distribution::figures(sides))
            .text(only().flat_map(|side| distribution::table("decades", &side.groups, &side.operations))),
        Section::new("operations", "Operations")
            .figures(mix::figure(sides))
            .text(only().flat_map(|side| operations::operations("operations", &side.operations))),
        Section::new("long-lived", "Long-lived requests").text(only().flat_map(operations::long_lived)),
        Section::new("members", "NFSv4 compounds").text(only().flat_map(operations::members)),
        Section::new("breakdown", "Breakdown").text(only().flat_map(operations::breakdown)),
        Section::new("errors", "Errors")
            .text(drawn::draw(tables::failures(sides)))
            .text(only().flat_map(particulars::statuses)),
        Section::new("slowest", "Slowest").text(only().flat_map(particulars::slowest)),
        Section::new("unanswered", "Unanswered").text(only().flat_map(particulars::unanswered)),
        Section::new("queue-depth", "Queue depth").figures(depth::figure(sides)).text(only().flat_map(depth::tables)),
        Section::new("channels", "Connections of sessions").text(drawn::draw(tables::channels(sides))),
        Section::new("lease-breaks", "Lease breaks").text(drawn::draw(tables::lease_breaks(sides))),
        Section::new("slots", "NFS 4.1 sessions").text(drawn::draw(tables::slots(sides))),
        Section::new("delegations", "NFS 4 delegations").text(drawn::draw(tables::delegations(sides))),
        Section::new("io", "Reads and writes").text(only().flat_map(file_io::tables)),
        Section::new("service", "Service time")
            .figures(only().flat_map(service::figure))
            .text(only().flat_map(service::tables)),
        Section::new("packets", "Packets").text(only().filter(|_| is_capture).flat_map(traffic::packets)),
        Section::new("unseen", if is_capture { "Not seen" } else { "Validity" })
            .text(validity_tables(sides))
            .text(only().map(traffic::unseen)),
        Section::new("configuration", "Configuration")
            .text(described::table(sides))
            .text(only().map(configuration::section))
            .text(compared.map(|found| comparison::configuration(sides, found))),
    ]);
    all
}

/// The results of load levels of all sides, as tables.
fn level_tables(sides: &[Findings]) -> Vec<Markup> {
    let levels = tables::levels(sides).into_iter().chain(tables::highest_data(sides));
    let first = drawn::draw(levels.chain(tables::repeats(sides)));
    let users = tables::users(sides).into_iter().chain(tables::late_iterations(sides));
    let server = tables::server_side(sides).into_iter().chain(tables::server_counters(sides));
    let server = tables::session_requests(sides).into_iter().chain(server);
    [first, load_groups::section(sides), drawn::draw(users.chain(server))].concat()
}

/// The data for the validity of the levels of all sides, as tables.
fn validity_tables(sides: &[Findings]) -> Vec<Markup> {
    drawn::draw(tables::outages(sides).into_iter().chain(tables::generators(sides)))
}

fn title(report: &Report) -> Markup {
    let names: Vec<&str> = report.sides.iter().map(|side| side.name.as_str()).filter(|name| !name.is_empty()).collect();
    html! { "Plimsoll" @if !names.is_empty() { " – " (Untrusted(&names.join(" and "))) } }
}

/// The verdict on the numbers: that of the worst side, or a failed condition.
fn stamp(report: &Report) -> Markup {
    let worst = report.sides.iter().map(|side| &side.validity).max_by_key(|validity| validity.verdict);
    let mut conditions = report.comparison.iter().flat_map(|comparison| &comparison.conditions);
    let failed = conditions.any(|condition| condition.outcome == "failed");
    html! {
        @if failed && worst.is_some_and(|validity| validity.valid) { p.stamp.invalid { "Failed" } }
        @else if let Some(validity) = worst { (summary::stamp(validity)) }
    }
}

/// Pairs of `dt` and `dd` below the heading.
fn facts(report: &Report) -> Markup {
    if let Some(only) = report.only() {
        return facts_of(only);
    }
    html! {
        @for (place, side) in report.sides.iter().enumerate() {
            div {
                dt { (Untrusted(&side.letter)) @if place == 0 { ", the baseline" } }
                dd {
                    bdi { (Untrusted(&side.name)) }
                    @if let Some(title) = &side.source.about.title { ": " bdi { (Untrusted(title)) } }
                }
            }
        }
    }
}

fn facts_of(findings: &Findings) -> Markup {
    let source = &findings.source;
    html! {
        @if let Some(title) = &source.about.title { div { dt { "Title" } dd { bdi { (Untrusted(title)) } } } }
        @if !source.inputs.is_empty() {
            div { dt { @if findings.run.is_some() { "Target" } @else { "Input" } } dd { (summary::inputs(source)) } }
        }
        div { dt { "From" } dd { (units::instant(findings.span.first_ns)) } }
        div { dt { "To" } dd { (units::instant(findings.span.last_ns)) } }
        div { dt { "Length" } dd { (units::optional(findings.span.elapsed_s, units::long_duration)) } }
        div { dt { "Clock" } dd { (summary::vantage(&source.vantage)) } }
        @if !source.filters.is_empty() {
            div { dt { "Filters" } dd { (Untrusted(&source.filter_words())) } }
        }
    }
}

fn footer(tool: &str, schema: &str) -> Markup {
    html! {
        footer {
            p {
                "Made by " (Untrusted(tool)) ". All instants have a time zone; 1 MB is 1,000,000 bytes. \
                 Response time: first byte of the request to last byte of the response. \
                 Service time: last byte of the request to first byte of the response. \
                 Percentiles are exact to 0.1 %."
            }
            p {
                "This file contains all numbers as JSON (" code { (Untrusted(schema)) } ", the element "
                code { "#findings" } "). The page loads nothing from a network. Charts: Apache ECharts, Apache License 2.0; \
                this file contains the licence."
            }
        }
    }
}
