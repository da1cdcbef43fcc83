//! The page of a live view: markup, style and scripts, which are files of the server that shows it.

use maud::{DOCTYPE, PreEscaped, html};

use crate::html::{ICON, LIBRARY, MARK, STYLE};

/// Adds up any part of the last minutes, and shows it.
const SCRIPT: &str = concat!(include_str!("../../assets/live-sums.js"), include_str!("../../assets/live.js"));
const LIVE_STYLE: &str = include_str!("../../assets/live.css");

/// Files that the server of a live view serves besides the seconds.
#[derive(Clone, Debug)]
pub struct LivePage {
    /// The page.
    pub html: String,
    /// `live.css`
    pub style: String,
    /// `live.js`
    pub script: &'static str,
    /// `echarts.min.js`
    pub library: &'static str,
}

impl LivePage {
    /// Permissions of the page: it may run scripts of its server and read its seconds, and nothing else.
    pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                              base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    /// The page.
    pub fn new() -> Self {
        Self { html: page(), style: format!("{STYLE}\n{LIVE_STYLE}"), script: SCRIPT, library: LIBRARY }
    }
}

impl Default for LivePage {
    fn default() -> Self {
        Self::new()
    }
}

/// The numbers above the charts: key in the script, name, explanation.
const TILES: [(&str, &str, &str); 9] = [
    ("rate", "Operations", "op/s"),
    ("p50", "p50", "response time"),
    ("p99", "p99", "response time"),
    ("max", "Max", "response time"),
    ("errors", "Errors", "errors/s"),
    ("depth", "Queue depth", "mean"),
    ("waiting", "Waiting now", "requests"),
    ("data", "File data", "per second"),
    ("lost", "Lost packets", "in this second"),
];
/// For readers who cannot see a chart: where its numbers are.
const HEAT: &str = "Heat map; the slider above shows the numbers of a second";
const COURSE: &str = "Lines of the last 5 minutes; the slider above shows the numbers of a second";
const TABLES: [(&str, &str); 4] =
    [("client", "Clients"), ("share", "Shares"), ("operation", "Operations"), ("file", "Files")];

fn page() -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Plimsoll: live" }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href="live.css";
                script src="echarts.min.js" defer {}
                script src="live.js" defer {}
            }
            body.watching {
                header {
                    div.brand {
                        (PreEscaped(MARK))
                        div { p.name { "Plimsoll" } h1 #input { "File server, live" } }
                        p.stamp #state role="status" { "CONNECTING" }
                    }
                }
                main {
                    div.controls {
                        button #pause type="button" { "Pause" }
                        input #back type="range" min="-299" max="0" value="0" aria-label="Seconds back";
                        span #moment {}
                        button #mark type="button" { "Mark this second" }
                        button #save type="button" { "Save the page" }
                        span #marks {}
                    }
                    p { span #within {} span #unknown {} }
                    div #notices {}
                    p.notice #losses hidden {}
                    div #run hidden { ul #going {} (levels()) }
                    dl.tiles { @for (id, name, unit) in TILES { div id={ "tile-" (id) } { dt { (name) } dd { strong id=(id) { "–" } small id=[(id == "waiting").then_some("oldest")] { (unit) } } } } }
                    p.story #diagnosis {}
                    div.live-heat {
                        figure { figcaption { h3 { span #times { "Response times" } ", last 5 minutes" } } (chart("heat", HEAT)) }
                        figure { figcaption { h3 #served { "Service times, last 5 minutes" } } (chart("service", HEAT)) }
                    }
                    figure { figcaption { h3 { "Operations per second and percentiles" } } (chart("course", COURSE)) }
                    div.live-tables { @for (id, name) in TABLES { (table(id, name)) } }
                }
                footer { p {
                    "Times are UTC. Each table covers 60 seconds and ends with the shown second. Values with ~ are read from the rows of the \
                    heat map, so their error is up to 13 %. Values with * cover only a part of the operations; further operations may \
                    belong to values with ≥."
                } }
                noscript { p.notice {
                    "This page needs JavaScript: enable it in the browser, or use plimsoll watch --lines, which prints lines of text."
                } }
            }
        }
    };
    page.into_string()
}

fn chart(id: &str, label: &str) -> maud::Markup {
    html! { div.chart id=(id) data-chart=(id) role="img" aria-label=(label) {} }
}

fn levels() -> maud::Markup {
    html! {
        div.scroll #finished hidden {
            table #levels {
                caption { "Finished load levels" }
                thead { tr { @for head in ["Level", "op/s", "p50", "p99", "Verdict"] { th scope="col" { (head) } } } }
                tbody {}
            }
        }
    }
}

fn table(id: &str, name: &str) -> maud::Markup {
    html! {
        div.scroll {
            table id={ "table-" (id) } {
                caption { (name) " by time waited" }
                thead { tr {
                    th scope="col" { (name) }
                    @for head in ["Waited", "op/s", "Mean", "p99 ~", "Errors"] { th scope="col" { (head) } }
                } }
                tbody {}
            }
            button.more id={ "more-" (id) } type="button" hidden {}
        }
    }
}
