//! What clients wait for, by one dimension.

use plimsoll_stats::live::LiveSum;

use super::{LiveScreen, LiveScreenRow};
use crate::safe::{columns as width_of, fit, fit_middle};
use crate::{duration, significant};

/// Columns of the numbers.
const NUMBERS: usize = 49;

/// The row of requests whose key is not known, because they were summed.
const NO_KEY: &str = "not told apart";

/// Two header lines, and `rows` rows.
pub(super) fn lines(live: &LiveScreen, columns: usize, rows: usize) -> Vec<String> {
    let within = if live.within.is_empty() { String::new() } else { format!(", within {}", live.within.join(", ")) };
    let unknown = if live.unknown_share > 0.0 {
        format!(" (up to {} % more requests may match)", significant(live.unknown_share * 100.0))
    } else {
        String::new()
    };
    let name_columns = columns.saturating_sub(NUMBERS);
    let mut lines = vec![
        format!("Time waited in the last minute, by {}{within}{unknown}", live.by),
        format!("{:name_columns$}{:>9}{:>8}{:>11}{:>11}{:>10}", "", "op/s", "waited", "mean", "p99 ~", "errors"),
    ];
    lines.extend(rows_of(live, rows).iter().map(|row| line(row, live, name_columns)));
    lines.resize(2 + rows, String::new());
    lines
}

/// A row as it is shown.
struct Shown {
    name: String,
    sum: LiveSum,
    at_least: bool,
    is_selected: bool,
}

/// At most `rows` rows that together have all requests: the keys around the selected one, the sum of all further keys, and the requests
/// without a known key.
fn rows_of(live: &LiveScreen, rows: usize) -> Vec<Shown> {
    let shown = |(at, row): (usize, &LiveScreenRow)| Shown {
        name: row.name.as_deref().unwrap_or(NO_KEY).to_owned(),
        sum: row.sum.clone(),
        at_least: row.at_least,
        is_selected: at == live.selected,
    };
    let named = live.rows.iter().filter(|row| row.name.is_some()).count();
    let nameless = live.rows.iter().enumerate().skip(named);
    let mut room = rows.saturating_sub(live.rows.len() - named);
    if named <= room {
        return live.rows.iter().enumerate().map(shown).collect();
    }
    room = room.saturating_sub(1).max(1);
    // If the selected row would be below the last one, the table begins later.
    let start = (live.selected.min(named - 1) + 1).saturating_sub(room);
    let is_shown = |at: &usize| (start..start + room).contains(at);
    let mut further = Shown { name: further(live, named - room), ..Shown::none() };
    for (_, row) in live.rows.iter().enumerate().take(named).filter(|(at, _)| !is_shown(at)) {
        further.sum.merge(&row.sum);
        further.at_least |= row.at_least;
    }
    let shown_keys = live.rows.iter().enumerate().take(named).filter(|(at, _)| is_shown(at)).map(shown);
    let mut all: Vec<Shown> = shown_keys.chain([further]).chain(nameless.map(shown)).collect();
    all.truncate(rows);
    all
}

impl Shown {
    fn none() -> Self {
        Self { name: String::new(), sum: LiveSum::default(), at_least: false, is_selected: false }
    }
}

fn further(live: &LiveScreen, keys: usize) -> String {
    format!("{keys} further {}{}", live.by, if keys == 1 { "" } else { "s" })
}

fn line(row: &Shown, live: &LiveScreen, name_columns: usize) -> String {
    let cursor = if row.is_selected { "> " } else { "  " };
    let name = fit(&fit_middle(&row.name, name_columns.saturating_sub(3)), name_columns.saturating_sub(3));
    let pad = name_columns.saturating_sub(2 + width_of(&name));
    // A sum is at least this; a percentile or a mean of a part may be anything.
    let least = if row.at_least { "\u{2265}" } else { "" };
    let part = if row.at_least || live.lately.is_incomplete() { "*" } else { "" };
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{}{part}", duration(ns / 1e9)));
    let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
    let waited = share(row.sum.waited_ns, live.waited_ns) * 100.0;
    // More requests may also belong to the whole, so a share of it is no lower bound.
    let waited = if live.unknown_share > 0.0 { format!("{waited:.1}%*") } else { format!("{least}{waited:.1}%") };
    let per_second = if live.table_s > 0.0 { row.sum.count as f64 / live.table_s } else { 0.0 };
    format!(
        "{cursor}{name}{:pad$}{:>9}{:>8}{:>11}{:>11}{:>10}",
        "",
        format!("{least}{}", significant(per_second)),
        waited,
        time(row.sum.mean_ns()),
        time(row.sum.percentile_ns(99.0).map(|ns| ns as f64)),
        format!("{least}{}", row.sum.errors),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::LiveFigures;
    use plimsoll_model::{Names, Procedure, Protocol, Sink as _};
    use plimsoll_stats::Dimension;
    use plimsoll_stats::live::Recent;
    use plimsoll_testkit::transaction;

    /// Requests of 2 ms each.
    fn sum(requests: i64) -> LiveSum {
        let (mut recent, names) = (Recent::new(), Names::default());
        for number in 0..requests {
            recent.transaction(&transaction(Procedure::of(Protocol::Smb2, 8), 1_000 + number, 2_000_000), &names);
        }
        recent.advance(2_000_000_000);
        recent.table((0, 1_000_000_000), &[], Dimension::Client).total
    }

    fn live(rows: Vec<LiveScreenRow>) -> LiveScreen {
        let waited_ns = rows.iter().map(|row| row.sum.waited_ns).sum();
        LiveScreen { by: "client".to_owned(), rows, table_s: 2.0, waited_ns, ..LiveScreen::default() }
    }

    fn row(name: Option<&str>, requests: i64) -> LiveScreenRow {
        LiveScreenRow { name: name.map(str::to_owned), sum: sum(requests), at_least: false }
    }

    #[test]
    fn numbers_of_a_row_that_may_lack_requests_are_marked() {
        let least = LiveScreenRow { at_least: true, ..row(Some("a"), 3) };
        let lines = lines(&live(vec![least, row(Some("b"), 1)]), 80, 5);
        let numbers = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            numbers(&lines[2])[1..],
            ["\u{2265}1.50", "\u{2265}75.0%", "2.00", "ms*", "2.00", "ms*", "\u{2265}0"]
        );
        assert_eq!(numbers(&lines[3]), ["0.500", "25.0%", "2.00", "ms", "2.00", "ms", "0"]);
    }

    /// Of a whole that may have more requests, a row may have a smaller share.
    #[test]
    fn a_share_of_a_selection_that_may_lack_requests_is_no_lower_bound() {
        let least = LiveScreenRow { at_least: true, ..row(Some("a"), 3) };
        let lines = lines(&LiveScreen { unknown_share: 0.5, ..live(vec![least, row(Some("b"), 1)]) }, 80, 5);
        let shares = [2, 3].map(|at| lines[at].split_whitespace().find(|word| word.contains('%')).unwrap().to_owned());
        assert_eq!(shares, ["75.0%*", "25.0%*"]);
    }

    #[test]
    fn times_of_a_minute_with_losses_are_marked() {
        let lately = [
            LiveFigures { lost_packets: 1, ..LiveFigures::default() },
            LiveFigures { interface_down: true, ..LiveFigures::default() },
        ];
        for lately in lately {
            let lines = lines(&LiveScreen { lately, ..live(vec![row(Some("b"), 4)]) }, 80, 1);
            let numbers: Vec<&str> = lines[2].split_whitespace().collect();
            assert_eq!(numbers, [">", "b", "2.00", "100.0%", "2.00", "ms*", "2.00", "ms*", "0"]);
        }
    }

    #[test]
    fn rows_below_the_edge_are_summed_and_nothing_is_missing() {
        let names: Vec<String> = (0..40).map(|number| format!("10.0.0.{number}")).collect();
        let mut rows: Vec<LiveScreenRow> = names.iter().map(|name| row(Some(name), 2)).collect();
        rows.push(row(None, 3));
        rows[20].at_least = true;
        let mut live = live(rows);
        let name = |line: &String| line.trim_start_matches("> ").trim().split("  ").next().unwrap().to_owned();
        for (selected, shown) in [(0, 0..10), (25, 16..26), (40, 30..40)] {
            live.selected = selected;
            let lines = &lines(&live, 80, 12)[2..];
            let expected: Vec<&str> = names[shown].iter().map(String::as_str).collect();
            assert_eq!(lines[..10].iter().map(name).collect::<Vec<_>>(), expected, "{selected}");
            assert_eq!([name(&lines[10]), name(&lines[11])], ["30 further clients", "not told apart"]);
            // 60 of 83 requests, in two seconds.
            let further: Vec<&str> = lines[10].split_whitespace().skip(3).collect();
            let least = if selected == 25 { "" } else { "\u{2265}" };
            assert_eq!(further[..2], [format!("{least}30.0"), format!("{least}72.3%")]);
            assert_eq!(lines.iter().filter(|line| line.starts_with("> ")).count(), 1);
        }
        live.rows.drain(11..40);
        assert_eq!(lines(&live, 80, 12)[2..].iter().map(name).filter(|name| name.contains("further")).count(), 0);
    }
}
