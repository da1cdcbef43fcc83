//! How many requests were outstanding at once, and at each load level.

use super::distributions::{bar, full_bar};
use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, percentage, significant};
use crate::findings::{DepthShare, Findings, QueueDepth};
use crate::shares::{self, Percentage};
use std::fmt;

/// Parts in which a share is counted for its bar: more than stars.
const PARTS: u64 = 1_000_000;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if is_empty(&findings.queue_depth) {
        return Ok(());
    }
    page.heading("Queue depth (requests outstanding at once; long-lived requests are not counted):")?;
    one(page, &findings.queue_depth)?;
    // Of a single level the whole has said it all.
    let several = findings.levels.len() > 1;
    for level in findings.levels.iter().filter(|level| several && !is_empty(&level.queue_depth)) {
        page.heading(&format!("Queue depth at {}:", level.words()))?;
        one(page, &level.queue_depth)?;
    }
    Ok(())
}

fn is_empty(depth: &QueueDepth) -> bool {
    depth.at_arrival.is_empty() && depth.over_time.is_empty()
}

fn depth_shares(list: &[DepthShare]) -> Vec<Option<Percentage>> {
    shares::of(&list.iter().map(|range| range.share).collect::<Vec<_>>(), 1.0)
}

fn one(page: &mut Page<'_>, depth: &QueueDepth) -> fmt::Result {
    let mean = depth.mean.map_or_else(|| NONE.to_owned(), significant);
    page.line(&format!(
        "  mean over time {mean}, highest {}",
        depth.max.map_or_else(|| "-".to_owned(), |max| max.to_string())
    ))?;
    page.blank()?;
    let mut ranges: Vec<(u64, u64)> = depth.at_arrival.iter().chain(&depth.over_time).map(|d| (d.from, d.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let find = |list: &[DepthShare], range| list.iter().find(|d| (d.from, d.to) == range).copied();
    let [of_arrivals, of_time] = [&depth.at_arrival, &depth.over_time].map(|list| depth_shares(list));
    let mut table = Table::new().left(4);
    table.head(&["  Depth", "Arrivals", "%", "% of time", ""]);
    for range in ranges {
        let (arrivals, time) = (find(&depth.at_arrival, range), find(&depth.over_time, range));
        let show = |list: &[DepthShare], shares: &[Option<Percentage>]| {
            let place = list.iter().position(|d| (d.from, d.to) == range);
            percentage(place.and_then(|place| *shares.get(place)?))
        };
        let stars = time.map_or(0.0, |d| d.share.clamp(0.0, 1.0) * PARTS as f64) as u64;
        table.row(vec![
            if range.0 == range.1 { format!("  {}", range.0) } else { format!("  {} to {}", range.0, range.1) },
            arrivals.and_then(|d| d.count).map_or_else(|| NONE.to_owned(), |count| count.to_string()),
            show(&depth.at_arrival, &of_arrivals),
            show(&depth.over_time, &of_time),
            bar(stars, PARTS, full_bar(page.width())),
        ]);
    }
    page.table(&table)?;
    if depth.entered_late > 0 {
        let text = format!(
            "Requests that stayed outstanding while about 32,768 others ended: {}. The depth counts these requests only for \
            the last part of the time for which they were outstanding.",
            depth.entered_late
        );
        page.paragraph(Role::Plain, "  ", &text)?;
    }
    Ok(())
}
