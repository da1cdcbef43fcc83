//! The screen of a terminal: numbers now and lately, a heat map, and what clients wait for.

use super::{LiveFigures, LiveScreen, chart, heat, table};
use crate::safe::{columns as width_of, fit};
use crate::{Zone, duration, significant};

/// Lines that each screen has: head, numbers (3), charts (3), title of the heat map, heads of the table (2), diagnosis, losses, keys.
const FIXED_LINES: usize = 13;
/// Columns in front of a chart.
const LABEL: usize = 8;
/// Less than this is no screen.
const LEAST: (usize, usize) = (40, 16);

/// The lines of a screen of so many columns and rows: exactly as many, none wider.
pub fn screen(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let mut lines = if columns < LEAST.0 || rows < LEAST.1 {
        vec![format!("The screen needs {} columns and {} rows", LEAST.0, LEAST.1), "q quit".to_owned()]
    } else {
        whole(live, columns, rows)
    };
    lines.resize(rows, String::new());
    lines.iter().map(|line| fit(line, columns)).collect()
}

fn whole(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let free = rows - FIXED_LINES;
    let (map_rows, table_rows) = (free / 2, free - free / 2);
    let mut lines =
        vec![head(live, columns), numbers_head(), numbers("now", &live.now), numbers("1 min", &live.lately)];
    let seconds = live.history.len().min(columns - LABEL);
    let history = &live.history[live.history.len() - seconds..];
    let pad = columns - LABEL - seconds;
    for (label, values) in [
        ("ops/s", history.iter().map(|second| Some(second.operations as f64)).collect::<Vec<_>>()),
        ("p99", history.iter().map(|second| second.p99_ns.map(|ns| ns as f64)).collect()),
        ("depth", history.iter().map(|second| Some(second.queue_depth)).collect()),
    ] {
        lines.push(format!("{label:<LABEL$}{:pad$}{}", "", chart::sparkline(&values)));
    }
    lines.push("Response times, a column per second (darker: more; /: packets were lost)".to_owned());
    let map = &live.heat[live.heat.len().saturating_sub(seconds)..];
    let lossy: Vec<bool> = history.iter().map(|second| second.lost_packets > 0).collect();
    lines.extend(
        heat::rows(map, &lossy, map_rows)
            .into_iter()
            .map(|(label, cells)| format!("{label:<LABEL$}{:pad$}{cells}", "")),
    );
    lines.extend(table::lines(live, columns, table_rows));
    lines.push(live.diagnosis.clone().unwrap_or_default());
    lines.push(losses(live));
    lines.push(live.message.clone().unwrap_or_else(|| keys(columns)));
    lines
}

fn head(live: &LiveScreen, columns: usize) -> String {
    let left = format!("plimsoll  {}", live.input);
    let right = format!("{}  {}", Zone::shown().second(live.now.from_ns), live.state);
    let room = columns.saturating_sub(width_of(&right) + 2);
    let left = fit(&left, room);
    format!("{left}{:1$}{right}", "", columns.saturating_sub(width_of(&left) + width_of(&right)))
}

fn numbers_head() -> String {
    format!(
        "{:8}{:>9}{:>10}{:>10}{:>10}{:>9}{:>9}{:>10}",
        "", "ops/s", "p50", "p99", "errors/s", "depth", "MB/s", "lost"
    )
}

fn numbers(label: &str, figures: &LiveFigures) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| duration(ns as f64 / 1e9));
    // Of a part of the operations only.
    let mark = if figures.lost_packets > 0 { "*" } else { "" };
    format!(
        "{label:8}{:>9}{:>10}{:>10}{:>10}{:>9}{:>9}{:>10}",
        significant(figures.per_second(figures.operations)),
        format!("{}{mark}", time(figures.p50_ns)),
        format!("{}{mark}", time(figures.p99_ns)),
        significant(figures.per_second(figures.errors)),
        significant(figures.queue_depth),
        significant(figures.per_second(figures.bytes) / 1e6),
        figures.lost_packets,
    )
}

fn losses(live: &LiveScreen) -> String {
    let lost = |what: &str, count: u64| (count > 0).then(|| format!("{what} {count}"));
    let all = [
        lost("lost by the kernel:", live.losses.kernel),
        lost("buffer full:", live.losses.freezes),
        lost("lost by the interface:", live.losses.interface),
        lost("interface down:", live.losses.downs),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() {
        "No packet lost by the capture so far".to_owned()
    } else {
        format!("Packets {}", all.join("  "))
    }
}

fn keys(columns: usize) -> String {
    let all = "q quit  space pause  \u{2190} \u{2192} time  l live  c s o f by  \u{2191} \u{2193} Enter drill down  Backspace up  w save";
    let short = "q quit  space pause  \u{2190}\u{2192} time  c s o f by  \u{2191}\u{2193} Enter  Backspace";
    if width_of(all) <= columns { all.to_owned() } else { short.to_owned() }
}
