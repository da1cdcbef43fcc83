//! Times in which the captured network interface was down.

use serde::{Deserialize, Serialize};

/// Times in which the captured network interface was down. The capture lacks all packets of these times: on a mirror port the traffic
/// goes on meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downtime {
    /// How often the interface went down.
    pub count: u64,
    /// When it first went down, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// When it was up again after that; `None` if that was never recorded.
    pub first_end_ns: Option<i64>,
    /// How long it was down in total, ns; without a time whose end was not recorded.
    pub total_ns: u64,
}

impl Downtime {
    /// The interface went down.
    pub fn begin(&mut self, ns: i64) {
        self.count += 1;
        self.first_ns.get_or_insert(ns);
    }

    /// The interface, which went down at `from_ns`, is up again.
    pub fn end(&mut self, from_ns: i64, ns: i64) {
        self.total_ns = self.total_ns.saturating_add(ns.saturating_sub(from_ns).max(0).unsigned_abs());
        if self.first_ns == Some(from_ns) {
            self.first_end_ns.get_or_insert(ns);
        }
    }

    /// Whether the interface may have been down in a part of this time. Of several times, only the first one is known.
    pub(super) fn may_overlap(&self, (from_ns, to_ns): (i64, i64)) -> bool {
        let begins_later = self.first_ns.is_none_or(|down_ns| to_ns <= down_ns);
        let ended_before = self.count == 1 && self.first_end_ns.is_some_and(|up_ns| up_ns <= from_ns);
        self.count > 0 && !begins_later && !ended_before
    }

    /// Adds the times of another capture.
    pub fn add(&mut self, other: &Self) {
        let is_first = self.count > 0 && (other.count == 0 || self.first_ns <= other.first_ns);
        let first = if is_first { *self } else { *other };
        *self =
            Self { count: self.count + other.count, total_ns: self.total_ns.saturating_add(other.total_ns), ..first };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_kept_and_all_are_added() {
        let (mut later, mut earlier) = (Downtime::default(), Downtime::default());
        later.begin(100);
        later.begin(300);
        later.end(300, 350);
        assert_eq!((later.first_ns, later.first_end_ns, later.total_ns), (Some(100), None, 50));
        earlier.begin(10);
        earlier.end(10, 15);
        let mut both = later;
        both.add(&earlier);
        assert_eq!(both, Downtime { count: 3, first_ns: Some(10), first_end_ns: Some(15), total_ns: 55 });
        earlier.add(&later);
        assert_eq!(earlier, both);
        both.add(&Downtime::default());
        assert_eq!(earlier, both);
    }
}
