//! Response times by decade: the first seed's bars, for every group and every operation.

use super::charts;
use super::operations::short_name;
use super::units::{count, duration, percent_of};
use super::untrusted::Untrusted;
use crate::findings::{Bucket, Findings, OperationRow};
use maud::{Markup, html};

/// Charts of the groups, then one table with a line a group and a line an operation.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let decades = decades(&findings.groups, &findings.operations)?;
    let caption = "Response times by decade: how many of a row's times fall in each, and their share. \
                   Each column holds the times from a tenth of its heading up to it, the first \
                   also all that are faster.";
    Some(html! {
        @for figure in [charts::percentiles(findings), charts::decades(findings)].iter().flatten() { (figure) }
        div.scroll tabindex="0" role="region" aria-labelledby="decades-caption" {
            table.decades {
                caption #decades-caption { (caption) }
                thead { tr {
                    th scope="col" { "Group or operation" }
                    th scope="col" { "Times" }
                    @for decade in &decades { th scope="col" { "below " (edge(*decade)) } }
                } }
                tbody {
                    tr.heading { th scope="rowgroup" colspan=(decades.len() + 2) { "Groups" } }
                    @for row in &findings.groups { (line(&row.group, row, false, &decades)) }
                }
                tbody {
                    tr.heading { th scope="rowgroup" colspan=(decades.len() + 2) { "Operations" } }
                    @for row in &findings.operations {
                        @let sub = row.parent.is_some();
                        @let name = if sub { short_name(row).to_owned() } else { format!("{} {}", row.protocol, row.procedure) };
                        (line(&name, row, sub, &decades))
                    }
                }
            }
        }
    })
}

/// The exponent of a bucket's upper edge: buckets are decades, so an edge is a power of ten.
pub(super) fn exponent(bucket: &Bucket) -> Option<i32> {
    let exponent = bucket.below_s.log10().round();
    // Outside a picosecond to thirty thousand years it is no time that anybody measured.
    (exponent.is_finite() && (-12.0..=12.0).contains(&exponent)).then_some(exponent as i32)
}

/// Exponents of all decades in use, without holes, rising.
fn decades(groups: &[OperationRow], operations: &[OperationRow]) -> Option<Vec<i32>> {
    let used = || groups.iter().chain(operations).flat_map(|row| &row.distribution).filter_map(exponent);
    Some((used().min()?..=used().max()?).collect())
}

/// The text of a decade's edge: `1 ms`, `10 µs`.
pub(super) fn edge(exponent: i32) -> String {
    // An edge is a round number: "1.00 ms" would promise digits that mean nothing.
    duration(10_f64.powi(exponent)).replace(".00", "").replace(".0", "")
}

fn line(name: &str, row: &OperationRow, sub: bool, decades: &[i32]) -> Markup {
    let total = row.distribution.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.count));
    let in_decade = |decade: i32| row.distribution.iter().find(|b| exponent(b) == Some(decade)).map_or(0, |b| b.count);
    html! {
        @if total > 0 {
            tr.sub[sub] {
                th scope="row" { (Untrusted(name)) }
                td { (count(total)) }
                @for decade in decades {
                    @let n = in_decade(*decade);
                    @if n == 0 {
                        td.nought { "0" }
                    } @else {
                        td.bar style=(format!("--w:{:.1}%", n as f64 / total as f64 * 100.0)) {
                            (count(n)) " " small { (percent_of(n, total)) }
                        }
                    }
                }
            }
        }
    }
}
