//! The screen of a terminal: numbers now and lately, a heat map, and what clients wait for.

use plimsoll_stats::live::{InterfaceState, LiveLosses};

use super::{LiveFigures, LiveScreen, LiveTimes, chart, heat, table};
use crate::safe::{columns as width_of, fit};
use crate::{Zone, duration, significant};

/// Lines that each screen has: head, numbers (3), charts (3), title of the heat map, heads of the table (2), keys.
const FIXED_LINES: usize = 11;
/// Columns in front of a chart.
const LABEL: usize = 8;
/// Less than this is no screen.
const LEAST: (usize, usize) = (40, 16);
/// Lines of a run at most: level, pace, generator, server, its counters, finished levels.
const RUN_LINES: usize = 6;

/// The lines of a screen with this number of columns and rows: exactly `rows` lines, none wider than `columns`.
pub fn screen(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let mut lines = if columns < LEAST.0 || rows < LEAST.1 {
        vec![format!("Enlarge the window: {} columns, {} rows", LEAST.0, LEAST.1), "q quit".to_owned()]
    } else {
        whole(live, columns, rows)
    };
    lines.resize(rows, String::new());
    lines.iter().map(|line| fit(line, columns)).collect()
}

fn whole(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let below = below(live, rows.saturating_sub(FIXED_LINES));
    let free = rows.saturating_sub(FIXED_LINES + below.len());
    let (map_rows, table_rows) = (free / 2, free - free / 2);
    let mut lines = vec![
        head(live, columns),
        numbers_head(live),
        numbers("now", &live.now, live),
        numbers("1 min", &live.lately, live),
    ];
    let seconds = live.history.len().min(columns - LABEL);
    let history = &live.history[live.history.len() - seconds..];
    let pad = columns - LABEL - seconds;
    for (label, values) in [
        ("op/s", history.iter().map(|second| Some(second.operations as f64)).collect::<Vec<_>>()),
        ("p99", history.iter().map(|second| second.p99_ns.map(|ns| ns as f64)).collect()),
        ("depth", history.iter().map(|second| second.queue_depth).collect()),
    ] {
        lines.push(format!("{label:<LABEL$}{:pad$}{}", "", chart::sparkline(&values)));
    }
    let lossy = if live.losses.is_some() { "; /: packets were lost" } else { "" };
    let selected = match (live.within.is_empty(), live.heat_of) {
        (true, _) => "",
        (false, LiveTimes::Service) => ": Backspace leaves the selection and shows them",
        (false, _) if live.history.iter().any(|second| second.at_least) => " of the selection, some are missing",
        (false, _) => " of the selection",
    };
    lines.push(format!("{}{selected}, 1 column = 1 s (denser: more operations{lossy})", live.heat_of.label()));
    let map = &live.heat[live.heat.len().saturating_sub(seconds)..];
    let lossy: Vec<bool> = history.iter().map(LiveFigures::is_incomplete).collect();
    lines.extend(
        heat::rows(map, &lossy, map_rows)
            .into_iter()
            .map(|(label, cells)| format!("{label:<LABEL$}{:pad$}{cells}", "")),
    );
    lines.extend(table::lines(live, columns, table_rows));
    lines.extend(below);
    lines.push(live.message.clone().unwrap_or_else(|| keys(columns)));
    lines
}

fn head(live: &LiveScreen, columns: usize) -> String {
    let left = format!("plimsoll  {}", live.input);
    let state = live.down_since_ns.map_or_else(|| live.state.clone(), |since_ns| down(live, since_ns));
    let right = format!("{}  {state}", Zone::shown().second(live.now.from_ns));
    let room = columns.saturating_sub(width_of(&right) + 2);
    let left = fit(&left, room);
    format!("{left}{:1$}{right}", "", columns.saturating_sub(width_of(&left) + width_of(&right)))
}

/// The state of a watch whose interface is down, in place of LIVE. The time has a date if that was another day.
fn down(live: &LiveScreen, since_ns: i64) -> String {
    let (zone, paused) = (Zone::shown(), live.state.starts_with("PAUSED"));
    let since = if zone.day(since_ns) == zone.day(live.now.from_ns) {
        zone.time_of_day(since_ns)[..8].to_owned()
    } else {
        zone.second(since_ns)
    };
    let paused = if paused { format!("{}  ", live.state) } else { String::new() };
    format!("{paused}INTERFACE DOWN since {since}")
}

/// What stands below the table: as many notices as fit into `rows` lines, and the usual lines.
fn below(live: &LiveScreen, rows: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(run) = &live.run {
        lines.extend(run.lines().into_iter().chain(run.finished()).take(RUN_LINES.min(rows)));
    }
    if let Some(losses) = live.losses {
        lines.extend([waiting(live), live.diagnosis.clone().unwrap_or_default(), said(losses)]);
    }
    let room = rows.saturating_sub(lines.len());
    live.notices.iter().take(room).cloned().chain(lines).collect()
}

/// The requests that waited at the end of the shown second.
fn waiting(live: &LiveScreen) -> String {
    let whose = if live.within.is_empty() { "" } else { " (of all clients)" };
    match live.now.waiting {
        Some(waiting) => format!("Requests without a response{whose}: {}", waiting.said()),
        None if live.now.interface_down => {
            format!("Requests without a response{whose}: unknown (the interface was down)")
        }
        None => format!("Requests without a response{whose}: unknown"),
    }
}

fn numbers_head(live: &LiveScreen) -> String {
    let lost = if live.losses.is_some() { "lost" } else { "" };
    format!("{:8}{:>9}{:>10}{:>10}{:>10}{:>9}{:>9}{:>10}", "", "op/s", "p50", "p99", "errors/s", "depth", "MB/s", lost)
}

fn numbers(label: &str, figures: &LiveFigures, live: &LiveScreen) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| duration(ns as f64 / 1e9));
    // Of a part of the operations only.
    let mark = if figures.is_incomplete() || figures.at_least { "*" } else { "" };
    let least = if figures.at_least { "\u{2265}" } else { "" };
    // Read from the rows of the heat map.
    let mark = if live.within.is_empty() { mark.to_owned() } else { format!("~{mark}") };
    format!(
        "{label:8}{:>9}{:>10}{:>10}{:>10}{:>9}{:>9}{:>10}",
        format!("{least}{}", figures.rate(figures.operations)),
        format!("{}{mark}", time(figures.p50_ns)),
        format!("{}{mark}", time(figures.p99_ns)),
        format!("{least}{}", figures.rate(figures.errors)),
        figures.queue_depth.map_or_else(|| "-".to_owned(), significant),
        figures.megabytes(),
        live.losses.map_or_else(String::new, |_| figures.lost_packets.to_string()),
    )
}

fn said(losses: LiveLosses) -> String {
    let lost = |what: &str, count: u64| (count > 0).then(|| format!("{what} {count}"));
    let all = [
        lost("lost by the kernel:", losses.kernel),
        lost("buffer full:", losses.freezes),
        lost("lost by the interface:", losses.interface),
        lost("lost, as the input reports:", losses.reported),
        lost("interface down:", losses.downs),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if !all.is_empty() {
        return format!("Packets {}", all.join("  "));
    }
    match losses.state {
        InterfaceState::NoInterface => "The input reports no lost packets so far (a pcap input cannot report any)",
        _ if losses.interface_unknown => "The kernel reports no lost packets so far",
        _ => "The kernel and the interface report no lost packets so far",
    }
    .to_owned()
}

fn keys(columns: usize) -> String {
    let all = "q quit  space pause  \u{2190} \u{2192} time  l live  c client  s share  o operation  f file  \u{2191} \u{2193} Enter drill down  Backspace up  t heat map  w save";
    let most = "q quit  space pause  \u{2190} \u{2192} time  l live  c s o f group by  \u{2191} \u{2193} Enter drill down  Backspace up  t heat map  w save";
    let short =
        "q quit  space pause  \u{2190}\u{2192} time  c s o f group by  \u{2191}\u{2193} Enter  Backspace  t heat map";
    [all, most].into_iter().find(|keys| width_of(keys) <= columns).unwrap_or(short).to_owned()
}
