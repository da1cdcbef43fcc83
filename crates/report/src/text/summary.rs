//! The response times on one screen: a line per operation group, with its distribution as a sparkline.

use super::group_name;
use super::page::{Page, Role};
use super::spark::height;
use super::table::Table;
use super::units::{NONE, percentage, significant, time};
use crate::findings::{Findings, HeatMap, OperationRow, Times};
use crate::shares::{self, Percentage};
use std::fmt;

/// Widest sparkline, columns.
const SPARK: usize = 24;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let shares = shares::of_rows(&findings.groups);
    let rows: Vec<(&OperationRow, Option<Percentage>, Times)> = findings
        .groups
        .iter()
        .zip(shares)
        .filter_map(|(row, share)| Some((row, share, row.headline_time()?)))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let scale = page.scale();
    let reach = Reach::of(&findings.heat_maps);
    page.heading(&format!("Response time{} by operation group ({}):", findings.headline.words(), scale.words()))?;
    page.blank()?;
    let mut table = Table::new().left(6);
    table.head(&["Group", "Count", "% Tot", "p50", "p95", "p99", "Fast to slow"]);
    for (row, share, t) in rows {
        let map = findings.heat_maps.iter().find(|map| map.group == row.group);
        let spark = reach.as_ref().zip(map).map_or_else(|| NONE.to_owned(), |(reach, map)| reach.spark(map));
        table.row(vec![
            group_name(row),
            row.count.to_string(),
            percentage(share),
            scale.show(t.p50_s),
            scale.show(t.p95_s),
            scale.show(t.p99_s),
            spark,
        ]);
    }
    page.table(&table)?;
    if let Some(reach) = reach {
        page.paragraph(Role::Quiet, "", &reach.note())?;
    }
    Ok(())
}

/// From which to which row the heat maps of all groups have operations, so that their sparklines share an axis.
struct Reach {
    first: usize,
    rows: usize,
    low_s: f64,
    high_s: f64,
}

impl Reach {
    fn of(maps: &[HeatMap]) -> Option<Reach> {
        let used = || maps.iter().flat_map(|map| &map.cells).map(|cell| cell.1 as usize);
        let (first, last) = (used().min()?, used().max()?);
        let edges = &maps.first()?.edges_s;
        let (low_s, high_s) = (*edges.get(first)?, *edges.get(last + 1)?);
        // Maps with different edges could not share an axis; they do not occur in a report.
        maps.iter().all(|map| &map.edges_s == edges).then_some(Reach { first, rows: last + 1 - first, low_s, high_s })
    }

    /// As many as there are rows; of more rows than there is room for, each column has the same number, but for the last.
    fn columns(&self) -> usize {
        self.rows.div_ceil(self.rows_each()).max(1)
    }

    fn rows_each(&self) -> usize {
        self.rows.div_ceil(SPARK).max(1)
    }

    /// Ratio of the times of a column to those of the previous one; None if the first one begins at 0. (The last column may have fewer
    /// rows of the heat map.)
    fn factor(&self) -> Option<f64> {
        let of_a_row = 1.0 / self.rows.max(1) as f64;
        (self.low_s > 0.0).then(|| (self.high_s / self.low_s).powf(of_a_row * self.rows_each() as f64))
    }

    /// Explanation of the columns.
    fn note(&self) -> String {
        let (low, high) = (time(self.low_s), time(self.high_s));
        match self.factor() {
            _ if self.columns() == 1 => {
                format!("Fast to slow: histogram of the response times from {low} to {high}, in one column.")
            }
            Some(factor) => {
                let factor = significant(factor);
                format!(
                    "Fast to slow: histogram of the response times from {low} to {high}; each column's times are {factor} times those of \
                    the previous column."
                )
            }
            None => {
                format!("Fast to slow: histogram of the response times from {low} to {high}, on a logarithmic scale.")
            }
        }
    }

    fn spark(&self, map: &HeatMap) -> String {
        let mut sums = vec![0_u64; self.columns()];
        for (_, row, n) in &map.cells {
            let place = (*row as usize).saturating_sub(self.first) / self.rows_each();
            if let Some(sum) = sums.get_mut(place) {
                *sum = sum.saturating_add(*n);
            }
        }
        let most = sums.iter().copied().max().unwrap_or(0).max(1);
        sums.into_iter().map(|n| height(n, most)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::spark::is_spark;
    use super::*;

    fn map(cells: Vec<(u32, u32, u64)>) -> HeatMap {
        let edges_s = (0..=40).map(|i| 1e-5 * 10_f64.powf(f64::from(i) / 10.0)).collect();
        HeatMap { group: "Read".into(), start_ns: 0, column_s: 1.0, columns: 2, edges_s, cells }
    }

    #[test]
    fn moments_are_added_up_and_groups_share_an_axis() {
        let reads = map(vec![(0, 3, 4), (1, 3, 4), (1, 4, 1), (0, 6, 2)]);
        let writes = map(vec![(0, 5, 1)]);
        let reach =
            Reach::of(&[reads.clone(), writes.clone()]).unwrap_or(Reach { first: 0, rows: 1, low_s: 1.0, high_s: 1.0 });
        assert_eq!((reach.spark(&reads), reach.spark(&writes)), ("█▁ ▂".to_owned(), "  █ ".to_owned()));
        assert!(reach.factor().is_some_and(|factor| (factor - 10_f64.powf(0.1)).abs() < 1e-9));
        assert!(is_spark(&reach.spark(&writes)) && !is_spark("  ") && !is_spark("-"));
    }

    #[test]
    fn long_axes_are_pressed_together() {
        let wide = map(vec![(0, 0, 1), (0, 39, 1)]);
        let spark = Reach::of(std::slice::from_ref(&wide)).map(|reach| reach.spark(&wide)).unwrap_or_default();
        assert_eq!(spark.chars().count(), 20);
        assert!(spark.starts_with('█') && spark.ends_with('█'));
        // Two rows per column, everywhere: the note about neighbours is true for each pair.
        let note = |rows: usize| {
            let high_s = 1e-5 * 10_f64.powf(rows as f64 / 10.0);
            Reach { first: 0, rows, low_s: 1e-5, high_s }
        };
        assert!(note(38).note().contains("each column's times are 1.58 times"), "{}", note(38).note());
        let place = |row: u32| note(38).spark(&map(vec![(0, row, 1)])).chars().position(|c| c != ' ');
        assert!((0..38).all(|row| place(row) == Some(row as usize / 2)));
        assert_eq!((note(24).columns(), note(25).columns(), note(38).columns()), (24, 13, 19));
    }

    #[test]
    fn a_scale_that_begins_at_zero_has_no_factor() {
        let reach = |low_s, rows| Reach { first: 0, rows, low_s, high_s: 1e-3 };
        assert!(
            reach(1e-6, 3).note().ends_with("each column's times are 10.0 times those of the previous column."),
            "{}",
            reach(1e-6, 3).note()
        );
        assert!(reach(0.0, 3).note().ends_with("to 1.00 ms, on a logarithmic scale."), "{}", reach(0.0, 3).note());
        assert!(reach(1e-6, 1).note().contains("one column"));
    }
}
