//! `--by`: one line for each key, longest waiting first.

use super::page::{Page, Role};
use super::spark::spark;
use super::table::Table;
use super::units::{NONE, UNKNOWN, at_least, percentage, significant, time};
use crate::collect::plural;
use crate::findings::{Breakdown, BreakdownRow, Findings, Times};
use crate::{safe, shares};
use std::fmt;

/// Keys shown; the JSON report has more.
const SHOWN: usize = 25;
/// Columns of a sparkline; half of them beside a column of rates.
const SPARK: usize = 16;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    draw_rows(page, findings, SHOWN)
}

/// The same with at most `rows` rows.
pub(super) fn draw_rows(page: &mut Page<'_>, findings: &Findings, rows: usize) -> fmt::Result {
    let shown = rows.min(SHOWN);
    let Some(breakdown) = &findings.breakdown else { return Ok(()) };
    let scale = page.scale();
    page.heading(&format!(
        "By {}, longest waiting first{}, times {}:",
        breakdown.by,
        breakdown.first_keys_words(),
        scale.words()
    ))?;
    page.blank()?;
    let rates = has_rates(breakdown);
    // In a capture, many requests at its end have no response.
    let unanswered = findings.run.is_some() && breakdown.rows.iter().any(|entry| entry.row.unanswered > 0);
    let mut table = Table::new().left(9 + usize::from(rates) + usize::from(unanswered));
    let mut head = vec!["Key", "Count", "Errors", "p50", "p95", "p99", "Max", "Waited", "% Wait", "Over time"];
    if rates {
        head.insert(3, "MB/s");
    }
    if unanswered {
        head.insert(3, "Unansw.");
    }
    table.head(&head);
    let parts: Vec<f64> = breakdown.rows.iter().map(|entry| entry.waited_share.unwrap_or(0.0)).collect();
    let shares = shares::of(&parts, if parts.iter().sum::<f64>() > 0.0 { 1.0 } else { 0.0 });
    for (entry, share) in breakdown.rows.iter().zip(shares).take(shown) {
        let row = &entry.row;
        let took = row.headline_time();
        let time = |pick: fn(&Times) -> f64| scale.show_maybe(took.as_ref().map(pick));
        let mut cells = vec![
            key(entry, page.width()),
            row.count.to_string(),
            row.errors.to_string(),
            time(|t| t.p50_s),
            time(|t| t.p95_s),
            time(|t| t.p99_s),
            time(|t| t.max_s),
            scale.show(row.waited_s),
            percentage(share),
            over_time(entry, breakdown),
        ];
        if rates {
            cells.insert(3, data_rate(entry));
        }
        if unanswered {
            cells.insert(3, row.unanswered.to_string());
        }
        table.row(cells);
    }
    page.table(&table)?;
    notes(page, findings, breakdown, shown)
}

/// Whether there is a column of file data per second: for users and clients; other breakdowns have it in JSON and on the page.
fn has_rates(breakdown: &Breakdown) -> bool {
    breakdown.dimensions.iter().any(|dimension| matches!(dimension.as_str(), "user" | "client"))
}

/// File data per second, MB/s.
fn data_rate(entry: &BreakdownRow) -> String {
    let shown = |rate: f64| at_least(significant(rate / 1e6), entry.row.payload_unknown);
    entry.bytes_per_s.map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// The keys in one line; of one that is too long, its longest part loses its beginning.
fn key(entry: &BreakdownRow, room: usize) -> String {
    let shown = safe::for_terminal(&entry.key);
    let excess = safe::columns(&shown).saturating_sub(room);
    let parts: Vec<&str> = entry.keys.iter().flatten().map(String::as_str).collect();
    let longest = parts.iter().max_by_key(|part| safe::columns(&safe::for_terminal(part)));
    let Some(longest) = longest.filter(|_| excess > 0) else { return shown.into_owned() };
    let width = safe::columns(&safe::for_terminal(longest)).saturating_sub(excess);
    safe::fit_path(&entry.key.replacen(longest, &safe::fit_path(longest, width), 1), room)
}

/// How long clients waited, from the first bin to the last of all rows; each row has its own height.
fn over_time(entry: &BreakdownRow, breakdown: &Breakdown) -> String {
    let first = usize::try_from(entry.series.first_bin).unwrap_or(usize::MAX);
    let mut sums = vec![0.0; columns(breakdown)];
    for (i, waited_s) in entry.series.waited_s.iter().enumerate() {
        if let Some(sum) = sums.get_mut(first.saturating_add(i) / bins_each(breakdown)) {
            *sum += waited_s;
        }
    }
    if sums.iter().all(|sum| *sum == 0.0) { NONE.to_owned() } else { spark(&sums).trim_end().to_owned() }
}

fn spark_columns(breakdown: &Breakdown) -> usize {
    if has_rates(breakdown) { SPARK / 2 } else { SPARK }
}

fn bins_each(breakdown: &Breakdown) -> usize {
    usize::try_from(breakdown.bins).unwrap_or(usize::MAX).div_ceil(spark_columns(breakdown)).max(1)
}

fn columns(breakdown: &Breakdown) -> usize {
    usize::try_from(breakdown.bins).unwrap_or(0).div_ceil(bins_each(breakdown)).min(spark_columns(breakdown))
}

fn notes(page: &mut Page<'_>, findings: &Findings, breakdown: &Breakdown, shown: usize) -> fmt::Result {
    if has_rates(breakdown) {
        let has_gaps = findings.span.between_files_s > 0.0;
        let over = if has_gaps { "the time that the capture files cover" } else { "the whole time" };
        let text = format!("MB/s: file data read and written per second, averaged over {over}.");
        page.paragraph(Role::Quiet, "", &text)?;
    }
    if breakdown.bins > 0 {
        let width = time(breakdown.bin_s * bins_each(breakdown) as f64);
        let text = format!("Over time: time waited, one column per {width}. Each row has its own scale.");
        page.paragraph(Role::Quiet, "", &text)?;
    }
    if let Some(hidden) = breakdown.rows.get(shown..).filter(|hidden| !hidden.is_empty()) {
        let waited = of_waiting(hidden.iter().filter_map(|entry| entry.waited_share).sum());
        let keys = plural(hidden.len() as u64, "more key");
        let text = match shown {
            SHOWN => format!("Not listed: {keys} ({waited}); see the JSON report."),
            _ => format!("Not listed: {keys} ({waited}); see --section breakdown"),
        };
        page.paragraph(Role::Quiet, "", &text)?;
    }
    if breakdown.others > 0 {
        let waited = of_waiting(breakdown.others_waited_share.unwrap_or(0.0));
        let text =
            format!("Not counted by key, because there are too many keys: {} operations ({waited}).", breakdown.others);
        page.paragraph(Role::Quiet, "", &text)?;
    }
    Ok(())
}

fn of_waiting(share: f64) -> String {
    let shown = shares::of(&[share], 1.0).first().copied().flatten();
    format!("{} of all time waited", percentage(shown))
}
