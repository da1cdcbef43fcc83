//! A second that stays on the screen for as long as the user wants.

use plimsoll_stats::live::{Recent, Second};

use super::second::SECOND_NS;

/// The held second, with those before it that its table covers. They are copies, because [`Recent`] drops its seconds after five minutes.
pub(super) struct Held {
    end_ns: i64,
    seconds: Vec<Second>,
}

impl Held {
    /// The second that ends at an instant, or the nearest stored one; `latest_ns` is the end of the latest second.
    pub(super) fn new(recent: &Recent, end_ns: i64, latest_ns: i64, table_seconds: i64) -> Self {
        let first_ns = recent.seconds().next().map_or(end_ns, |first| first.start_ns() + SECOND_NS);
        // The clock of the capture may have been set back.
        let end_ns = end_ns.max(first_ns).min(latest_ns);
        let table = end_ns - table_seconds * SECOND_NS..end_ns;
        let seconds = recent.seconds().filter(|second| table.contains(&second.start_ns())).cloned().collect();
        Self { end_ns, seconds }
    }

    /// End of the held second, ns since the Unix epoch.
    pub(super) fn end_ns(&self) -> i64 {
        self.end_ns
    }

    /// The held second and all earlier ones that there still are, oldest first.
    pub(super) fn seconds<'a>(&'a self, recent: &'a Recent) -> Vec<&'a Second> {
        let first_ns = self.seconds.first().map_or(self.end_ns, Second::start_ns);
        recent.seconds().filter(|second| second.start_ns() < first_ns).chain(&self.seconds).collect()
    }
}
