//! Delegations of NFS 4: sums become rows.

use plimsoll_model::{Coverage, Delegations as Sums};

use super::SECOND;
use crate::findings::{DelegationRow, Delegations};

/// `None` if the capture shows none.
pub(super) fn delegations(coverage: &Coverage) -> Option<Delegations> {
    let rows: Vec<DelegationRow> = coverage.delegations.iter().map(row).collect();
    let left_out = coverage.delegations_left_out;
    (!rows.is_empty() || !left_out.is_empty()).then_some(Delegations {
        granted_left_out: left_out.granted,
        refused_left_out: left_out.refused,
        recalled_left_out: left_out.recalled,
        returned_left_out: left_out.returned,
        left_out_partial: left_out.is_partial,
        rows,
    })
}

fn row(one: &Sums) -> DelegationRow {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let all_read = |count: u64| (!one.is_partial).then_some(count);
    let all_followed = |count: u64| (one.untracked == 0).then_some(count);
    let followed = |count: u64| all_followed(count).and_then(all_read);
    let timed = followed(one.after_recall).filter(|&count| count > 0);
    DelegationRow {
        client: one.client.to_string(),
        server: one.server.to_string(),
        partial: one.is_partial,
        granted_read: all_read(one.granted_read),
        granted_write: all_read(one.granted_write),
        refused: all_read(one.refused),
        recalled: all_followed(one.recalled),
        repeated: all_followed(one.repeated),
        returned: all_read(one.returned),
        returned_after_recall: followed(one.after_recall),
        return_mean_s: timed.map(|count| seconds(one.after_recall_ns) / count as f64),
        return_max_s: timed.map(|_| seconds(one.longest_ns)),
        unreturned: followed(one.unreturned),
        not_held: followed(one.not_held),
        untracked: one.untracked,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::DelegationsLeftOut;

    use super::*;

    fn of(sums: Sums) -> DelegationRow {
        let coverage = Coverage { delegations: vec![sums], ..Coverage::default() };
        delegations(&coverage).unwrap().rows.remove(0)
    }

    fn pair() -> Sums {
        let pair = Sums::of([10, 0, 0, 1].into(), [10, 0, 0, 9].into());
        Sums { recalled: 3, returned: 2, after_recall: 2, after_recall_ns: 30, longest_ns: 20, unreturned: 1, ..pair }
    }

    #[test]
    fn a_time_that_was_not_measured_is_unknown() {
        let measured = of(pair());
        assert_eq!((measured.return_mean_s, measured.return_max_s), (Some(15e-9), Some(20e-9)));
        let granted = of(Sums { granted_read: 1, ..Sums::of([10, 0, 0, 1].into(), [10, 0, 0, 9].into()) });
        assert_eq!((granted.return_mean_s, granted.return_max_s), (None, None));
        assert_eq!((granted.granted_read, granted.unreturned), (Some(1), Some(0)));
        assert_eq!(delegations(&Coverage::default()), None);
    }

    #[test]
    fn what_was_not_read_is_unknown_and_not_0() {
        let row = of(Sums { is_partial: true, repeated: 4, ..pair() });
        let (client, server) = ("10.0.0.1".to_owned(), "10.0.0.9".to_owned());
        let known = DelegationRow { client, server, partial: true, ..DelegationRow::default() };
        assert_eq!(row, DelegationRow { recalled: Some(3), repeated: Some(4), ..known });
    }

    #[test]
    fn returns_of_recalls_that_were_not_followed_are_unknown() {
        let row = of(Sums { untracked: 1, ..pair() });
        assert_eq!((row.returned, row.untracked), (Some(2), 1));
        assert_eq!(
            (row.recalled, row.returned_after_recall, row.return_max_s, row.unreturned),
            (None, None, None, None)
        );
    }

    #[test]
    fn pairs_without_a_row_are_said_even_if_there_is_no_other() {
        let delegations_left_out =
            DelegationsLeftOut { granted: 1, refused: 2, recalled: 3, returned: 4, is_partial: true };
        let found = delegations(&Coverage { delegations_left_out, ..Coverage::default() }).unwrap();
        assert_eq!((found.granted_left_out, found.refused_left_out), (1, 2));
        assert_eq!((found.recalled_left_out, found.returned_left_out, found.left_out_partial), (3, 4, true));
    }
}
