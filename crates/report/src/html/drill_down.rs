//! The section of the page in which any client, share, operation, status and time can be looked at by itself: places that
//! `assets/drill.js` fills from a cube.

use super::data;
use crate::findings::{DrillDimension, DrillDown};
use base64::Engine as _;
use maud::{Markup, PreEscaped, html};

/// The script's data: the cube, and its cells.
pub(super) fn embedded(drill: &DrillDown) -> Result<Markup, serde_json::Error> {
    let about = data::embeddable(drill)?;
    let cells = base64::engine::general_purpose::STANDARD.encode(&drill.cells);
    Ok(html! {
        script type="application/json" id="cube" { (PreEscaped(about)) }
        script type="text/plain" id="cells" { (PreEscaped(cells)) }
    })
}

pub(super) fn section(drill: &DrillDown) -> Markup {
    html! {
        p.static { "If scripts are enabled, this section can be filtered by client, share, operation, status or time." }
        div #drill .live {
            p.note {
                "Click a row, or a time in the heat map, to filter all other tables and charts. Drag over the heat map to \
                select a range. Keyboard: Tab and Enter; in the heat map the arrow keys, with Shift to select a range. Escape removes all filters. The address of the page contains the filters, so a link shows the same view."
            }
            div.choice {
                div.chips data-part="filters" role="group" aria-label="Active filters" {}
                fieldset.times {
                    legend { "Times" }
                    label { input type="radio" name="drill-times" value="response" checked; "response" }
                    label { input type="radio" name="drill-times" value="service"; "service" }
                }
            }
            p.command data-part="command" {}
            dl.tiles data-part="total" aria-live="polite" {}
            div.figures {
                figure {
                    figcaption { h3 #drill-heat-title { "Heat map of " span data-part="kind" { "response time" } }
                        p { "Each column is an interval of time in which requests were sent. Each row is a range of "
                            span data-part="kind" { "response time" } "s, on a logarithmic scale. A stronger colour means more requests." } }
                    div.chart data-part="heat" role="slider" tabindex="0" aria-label="Time of the requests; press Enter to filter by the selected time"
                        aria-valuemin="0" aria-valuenow="0" {}
                }
                figure {
                    figcaption { h3 { "p50, p95, p99 and max of " span data-part="kind" { "response time" } }
                        (legend(&["p50", "p95", "p99", "max"])) }
                    div.chart data-part="series" role="img" aria-label="Percentiles over time; select a time to see its \
                    numbers in the tiles above" {}
                }
                figure {
                    figcaption { h3 { "Requests per second" } (legend(&["Requests", "Errors"])) }
                    div.chart data-part="rate" role="img" aria-label="Requests and errors per second over time; select a time \
                    to see its numbers in the tiles above" {}
                }
            }
            div.dimensions { @for dimension in drill.dimensions.iter().filter(|one| is_shown(one)) { (table(dimension)) } }
            p.note {
                "Each request counts at the time at which the client sent it. Counts, bytes, time waited and max are exact; percentiles are \
                exact to " (format!("{:.1}", drill.error * 100.0)) " %. Share: share of the table's total time waited."
                @if drill.dimensions.iter().any(|one| one.others > 0) { " Others: sum of all further rows, which have the least time waited." }
            }
        }
    }
}

/// A server or share alone tells nothing.
fn is_shown(dimension: &DrillDimension) -> bool {
    let is_single = dimension.keys.len() + dimension.others <= 1;
    !(is_single && matches!(dimension.flag, "server" | "share"))
}

fn legend(names: &[&str]) -> Markup {
    html! { ul.legend { @for (color, name) in names.iter().enumerate() { li { i class={ "swatch s" (color) } {} (name) } } } }
}

fn table(dimension: &DrillDimension) -> Markup {
    let flag = dimension.flag;
    let (one, several) = match flag {
        "client" => ("Client", "Clients"),
        "server" => ("Server", "Servers"),
        "share" => ("Share", "Shares"),
        "operation" => ("Operation", "Operations"),
        _ => ("Status", "Statuses"),
    };
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "drill-" (flag) } {
            table data-part={ "table-" (flag) } {
                caption id={ "drill-" (flag) } { strong { (several) } " by time waited; times are " span data-part="kind" { "response time" } "s." }
                thead { tr {
                    th scope="col" { (one) } th scope="col" { "Requests" } th scope="col" { "Errors" }
                    th scope="col" { "p50 ms" } th scope="col" { "p95 ms" } th scope="col" { "p99 ms" } th scope="col" { "max ms" }
                    th scope="col" { "Waited s" } th scope="col" { "Share" }
                } }
                tbody {}
            }
        }
    }
}
