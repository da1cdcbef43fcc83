//! The time that counts.

/// Maps the start of a capture to a point in time; both in ns since the Unix epoch.
pub type Moment = Box<dyn Fn(i64) -> i64 + Send>;

/// Requests sent at or after a moment and before another one.
pub struct TimeRange {
    moments: (Option<Moment>, Option<Moment>),
    /// The moments, known when the capture begins.
    pub(super) from_ns: Option<i64>,
    pub(super) to_ns: Option<i64>,
}

impl TimeRange {
    /// From the first moment up to the second; `None`: without this end.
    pub fn new(moments: (Option<Moment>, Option<Moment>)) -> Self {
        Self { moments, from_ns: None, to_ns: None }
    }

    pub(super) fn begin(&mut self, start_ns: i64) {
        let at = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment(start_ns));
        (self.from_ns, self.to_ns) = (at(&self.moments.0), at(&self.moments.1));
    }

    /// Whether this instant is in it. An unknown one is in the range without ends only.
    #[inline]
    pub(super) fn holds(&self, at_ns: Option<i64>) -> bool {
        self.from_ns.is_none_or(|from| at_ns.is_some_and(|at| at >= from))
            && self.to_ns.is_none_or(|to| at_ns.is_some_and(|at| at < to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_ends_are_known_when_the_capture_begins() {
        let after = |ns: i64| -> Option<Moment> { Some(Box::new(move |start_ns| start_ns + ns)) };
        let mut range = TimeRange::new((after(10), after(20)));
        range.begin(1_000);
        let found = [1_009, 1_010, 1_019, 1_020].map(|at| range.holds(Some(at)));
        assert_eq!(found, [false, true, true, false]);
        assert!(!range.holds(None));
        let mut all = TimeRange::new((None, None));
        all.begin(1_000);
        assert!(all.holds(Some(0)) && all.holds(None));
    }
}
