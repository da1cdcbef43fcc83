//! Where the clocks of two sides stood. The times of a client are longer than those of a capture: that is no difference of servers.

use super::contestant::Contestant;
use crate::findings::comparison::{ComparedRow, ComparedUnit, ComparedVerdict};
use crate::findings::{Findings, differing_clocks};

/// Whether all sides have the clock of the baseline.
pub(super) fn are_alike(sides: &[Findings]) -> bool {
    sides.iter().all(Findings::is_of_client) || !sides.iter().any(Findings::is_of_client)
}

/// The rows without verdicts on the times of sides whose clock differs from the baseline's.
pub(super) fn judged(mut rows: Vec<ComparedRow>, contestants: &[Contestant]) -> Vec<ComparedRow> {
    let Some((baseline, others)) = contestants.split_first() else { return rows };
    let differs = |other: &Contestant| differing_clocks(&baseline.findings, &other.findings, 1).is_some();
    let differ: Vec<bool> = others.iter().map(differs).collect();
    let metrics = rows.iter_mut().flat_map(|row| &mut row.metrics);
    for metric in metrics.filter(|metric| metric.unit == ComparedUnit::Seconds) {
        for (difference, differs) in metric.differences.iter_mut().zip(&differ) {
            if let Some(found) = difference.as_mut().filter(|_| *differs) {
                (found.verdict, found.detectable) = (ComparedVerdict::CannotTell, None);
            }
        }
    }
    rows
}
