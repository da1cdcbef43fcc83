//! Delegations of NFS 4: sums become rows.

use plimsoll_model::{Coverage, Delegations as Sums};

use super::SECOND;
use crate::findings::{DelegationRow, Delegations};

/// `None` if no client asked for a delegation, and no server granted or recalled one.
pub(super) fn delegations(coverage: &Coverage) -> Option<Delegations> {
    let rows: Vec<DelegationRow> = coverage.delegations.iter().map(row).collect();
    let granted_left_out = coverage.delegations_left_out;
    (!rows.is_empty() || granted_left_out > 0).then_some(Delegations { granted_left_out, rows })
}

fn row(one: &Sums) -> DelegationRow {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let has_times = one.after_recall > 0;
    DelegationRow {
        client: one.client.to_string(),
        server: one.server.to_string(),
        granted_read: one.granted_read,
        granted_write: one.granted_write,
        refused: one.refused,
        recalled: one.recalled,
        repeated: one.repeated,
        returned: one.returned,
        returned_after_recall: one.after_recall,
        return_mean_s: has_times.then(|| seconds(one.after_recall_ns) / one.after_recall as f64),
        return_max_s: has_times.then(|| seconds(one.longest_ns)),
        unreturned: one.unreturned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_was_not_measured_is_unknown() {
        let of = Sums::of([10, 0, 0, 1].into(), [10, 0, 0, 9].into());
        let measured = Sums { recalled: 3, returned: 2, after_recall: 2, after_recall_ns: 30, longest_ns: 20, ..of };
        let coverage = Coverage { delegations: vec![measured, Sums { granted_read: 1, ..of }], ..Coverage::default() };
        let found = delegations(&coverage).unwrap();
        assert_eq!((found.rows[0].return_mean_s, found.rows[0].return_max_s), (Some(15e-9), Some(20e-9)));
        assert_eq!((found.rows[1].return_mean_s, found.rows[1].return_max_s), (None, None));
        assert_eq!(delegations(&Coverage::default()), None);
    }
}
