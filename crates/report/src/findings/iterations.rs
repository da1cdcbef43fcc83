//! Results of iterations by kind, and compared with the users' schedules.

use serde::{Deserialize, Serialize};

/// The iterations of one kind that were due in the measured phase and were begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationKind {
    /// As the workload calls it.
    pub name: String,
    /// Those that ended.
    pub ended: u64,
    /// Those that had not ended when the wait for them was over.
    pub unended: u64,
    /// Iterations with a failed action.
    pub failed: u64,
    /// Those that ended after their user's next iteration was due. 0 where users have no schedules.
    pub late: u64,
    /// Late iterations that began late because the user's previous one had not ended. The others took too long themselves.
    pub late_from_before: u64,
    /// Mean time from when one was due to its end, s.
    pub mean_s: Option<f64>,
    /// How long after the next iteration was due late ones ended: the mean, s.
    pub overrun_mean_s: Option<f64>,
    /// The longest of these, s.
    pub overrun_max_s: Option<f64>,
}

/// Users with a schedule each, and how they fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Users {
    /// How many there were.
    pub users: u64,
    /// Iterations that were due in the measured phase.
    pub due: u64,
    /// Those that had not ended when their user's next one was due, or at all.
    pub late: u64,
    /// Their share, 0..=1.
    pub overload: f64,
    /// Iterations with a failed action.
    pub failed: u64,
    /// Their share, 0..=1.
    pub failed_share: f64,
    /// From the begin of the measured phase until the last iteration that was due in it had ended or was given up, at least the phase's
    /// length, s; null in recordings from before this was counted.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// File data that a user read and wrote per second, on average, bytes/s; null where nothing was measured.
    #[serde(default)]
    pub bytes_per_s: Option<f64>,
}

impl Users {
    /// Adds up the kinds. `never_begun`: number of iterations that were due and never begun; no kind contains them.
    pub(crate) fn of(users: u64, never_begun: u64, kinds: &[IterationKind], duration_s: Option<f64>) -> Users {
        let sum = |pick: fn(&IterationKind) -> u64| kinds.iter().map(pick).sum::<u64>();
        let not_ended = sum(|kind| kind.unended) + never_begun;
        let (due, late, failed) =
            (sum(|kind| kind.ended) + not_ended, sum(|kind| kind.late) + not_ended, sum(|kind| kind.failed));
        let share = |count: u64| if due > 0 { count as f64 / due as f64 } else { 0.0 };
        let (overload, failed_share) = (share(late), share(failed));
        Users { users, due, late, overload, failed, failed_share, duration_s, bytes_per_s: None }
    }

    /// With the file data of all users together, bytes/s.
    pub(crate) fn with_data(self, bytes_per_s: Option<f64>) -> Users {
        let each = bytes_per_s.filter(|_| self.users > 0).map(|all| all / self.users as f64);
        Users { bytes_per_s: each, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ended_is_late_too() {
        let kind =
            |ended, unended, late, failed| IterationKind { ended, unended, late, failed, ..IterationKind::default() };
        let users = Users::of(5, 2, &[kind(10, 0, 1, 0), kind(6, 2, 3, 1)], None);
        assert_eq!((users.due, users.late, users.failed), (20, 8, 1));
        assert_eq!((users.overload, users.failed_share), (0.4, 0.05));
        assert_eq!(Users::of(5, 0, &[], None).overload, 0.0);
    }

    #[test]
    fn each_user_has_its_part_of_the_data() {
        let users = Users::of(5, 0, &[], None);
        assert_eq!(users.with_data(Some(1e6)).bytes_per_s, Some(2e5));
        assert_eq!(
            (users.with_data(None).bytes_per_s, Users::default().with_data(Some(1e6)).bytes_per_s),
            (None, None)
        );
    }
}
