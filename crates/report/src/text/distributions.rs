//! Response times in decades with bars, for every command, subcommand and group, as in Appendix A.

use super::commands::is_write_raw;
use super::full_name;
use super::page::{Page, Role};
use super::table::Table;
use super::units::{edge, percentage};
use crate::findings::{Bucket, OperationRow};
use crate::shares::{self, Percentage};
use std::fmt;

/// Columns before the bar at their widest: indent, edge, a nine-digit count, two shares, the gaps between.
const BEFORE_BAR: usize = 40;
/// Stars that stand for everything: as many as fit.
const FULL_BARS: [usize; 4] = [100, 50, 40, 20];

pub(super) fn draw(page: &mut Page<'_>, rows: &[OperationRow], groups: &[OperationRow]) -> fmt::Result {
    if rows.iter().chain(groups).all(|row| row.distribution.is_empty()) {
        return Ok(());
    }
    let full = full_bar(page.width());
    let each = 100.0 / full as f64;
    let from = OperationRow::headline_words(rows.iter().chain(groups));
    page.heading(&format!(
        "Response time distributions{from} per command: upper edge (seconds), count, share and cumulative share of each range; a star is {each} %."
    ))?;
    for row in rows {
        let part = if is_write_raw(row) { " (synchronous portion only)" } else { "" };
        one(page, &format!("{}{part}:", full_name(row, rows)), &row.distribution, full)?;
    }
    for row in groups {
        one(page, &format!("Group - {}:", row.group), &row.distribution, full)?;
    }
    Ok(())
}

fn one(page: &mut Page<'_>, name: &str, buckets: &[Bucket], full: usize) -> fmt::Result {
    if buckets.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.paragraph(Role::Heading, "", name)?;
    let total: u64 = buckets.iter().map(|bucket| bucket.count).fold(0, u64::saturating_add);
    let mut table = Table::new().left(4);
    let shares = shares::of_counts(buckets.iter().map(|bucket| bucket.count), total);
    for ((bucket, share), sum) in buckets.iter().zip(&shares).zip(sums(&shares)) {
        table.row(vec![
            format!("  {}", edge(bucket.below_s)),
            format!("{:>8}", bucket.count),
            format!("{:>6}", percentage(*share)),
            format!("{:>6}", percentage(sum)),
            bar(bucket.count, total, full),
        ]);
    }
    page.table(&table)
}

/// Sums of the shown percentages of a column, so that a reader who adds them up gets the same.
fn sums(shares: &[Option<Percentage>]) -> Vec<Option<Percentage>> {
    let mut sum = Percentage { tenths: 0, some: false };
    let mut add = |share: &Percentage| {
        sum = Percentage { tenths: sum.tenths.saturating_add(share.tenths), some: sum.some || share.some };
        sum
    };
    shares.iter().map(|share| share.as_ref().map(&mut add)).collect()
}

/// Stars that stand for all at this width.
pub(super) fn full_bar(width: usize) -> usize {
    FULL_BARS.into_iter().find(|full| BEFORE_BAR + full <= width).unwrap_or(10)
}

/// Whole stars only: a share below a star has none.
pub(super) fn bar(count: u64, total: u64, full: usize) -> String {
    if total == 0 {
        return String::new();
    }
    "*".repeat((u128::from(count) * full as u128 / u128::from(total)).min(full as u128) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_shares_that_are_shown() {
        fn shown(column: &[Option<Percentage>]) -> Vec<String> {
            column.iter().map(|one| percentage(*one)).collect()
        }
        let shares = shares::of_counts([1, 1, 1, 3], 6);
        assert_eq!(shown(&shares), ["16.7%", "16.7%", "16.6%", "50.0%"]);
        assert_eq!(shown(&sums(&shares)), ["16.7%", "33.4%", "50.0%", "100.0%"], "2 of 6 alone: 33.3");
        assert_eq!(shown(&sums(&shares::of_counts([0], 0))), ["-"]);
    }

    #[test]
    fn bars_fit_their_width() {
        assert_eq!(full_bar(80), 40);
        assert_eq!(full_bar(200), 100);
        assert_eq!(full_bar(0), 10);
        assert_eq!(bar(155, 235, 40).len(), 26);
        assert_eq!(bar(4, 235, 40), "", "1.7 % is less than a star of 2.5 %");
        assert_eq!(bar(u64::MAX, u64::MAX, 40).len(), 40);
        assert_eq!(bar(1, 0, 40), "");
    }
}
