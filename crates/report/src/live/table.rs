//! What clients wait for, by one dimension.

use super::{LiveScreen, LiveScreenRow};
use crate::safe::{columns as width_of, fit, fit_middle};
use crate::{duration, significant};

/// Columns of the numbers.
const NUMBERS: usize = 49;

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
        format!("{:name_columns$}{:>9}{:>8}{:>11}{:>11}{:>10}", "", "ops/s", "waited", "mean", "p99 ~", "errors"),
    ];
    // Where the selected row would be below the last one, the table begins later.
    let start = (live.selected + 1).saturating_sub(rows);
    let shown = live.rows.iter().enumerate().skip(start).take(rows);
    lines.extend(shown.map(|(at, row)| line(row, live, at == live.selected, name_columns)));
    lines.resize(2 + rows, String::new());
    lines
}

fn line(row: &LiveScreenRow, live: &LiveScreen, selected: bool, name_columns: usize) -> String {
    let cursor = if selected { "> " } else { "  " };
    let name = row.name.as_deref().unwrap_or("all others");
    let name = fit(&fit_middle(name, name_columns.saturating_sub(3)), name_columns.saturating_sub(3));
    let pad = name_columns.saturating_sub(2 + width_of(&name));
    // A sum is at least this; a percentile or a mean of a part may be anything.
    let (least, part) = if row.at_least { ("\u{2265}", "*") } else { ("", "") };
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{}{part}", duration(ns / 1e9)));
    let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
    let per_second = if live.table_s > 0.0 { row.sum.count as f64 / live.table_s } else { 0.0 };
    format!(
        "{cursor}{name}{:pad$}{:>9}{:>8}{:>11}{:>11}{:>10}",
        "",
        format!("{least}{}", significant(per_second)),
        format!("{least}{:.1}%", share(row.sum.waited_ns, live.waited_ns) * 100.0),
        time(row.sum.mean_ns()),
        time(row.sum.percentile_ns(99.0).map(|ns| ns as f64)),
        format!("{least}{}", row.sum.errors),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Names, Procedure, Protocol, Sink as _};
    use plimsoll_stats::Dimension;
    use plimsoll_stats::live::{LiveSum, Recent};
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
}
