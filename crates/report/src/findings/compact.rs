//! The numbers of a comparison for a single page.

use super::comparison::{ComparedLevel, ComparedMetric, Comparison};

/// The groups of Swartz's (1997) Table 1, "Other" before its parts. Without logons and compounds as wholes.
const GROUPS: [&str; 7] =
    ["Open/Close", "Other", "Other.Attributes", "Other.Directory", "Other.Locking", "Read", "Write"];

impl ComparedLevel {
    /// A number of a group, or of all operations together.
    pub(crate) fn number(&self, group: Option<&str>, metric: &str) -> Option<&ComparedMetric> {
        let (scope, name) = group.map_or(("all", "All"), |group| ("group", group));
        let row = self.rows.iter().find(|row| row.scope == scope && row.name == name)?;
        row.metrics.iter().find(|one| one.metric == metric)
    }
}

impl Comparison {
    /// The groups with a mean response time at a level.
    pub(crate) fn groups(&self) -> Vec<&'static str> {
        let timed = |group: &&str| self.levels.iter().any(|level| level.number(Some(group), "mean").is_some());
        GROUPS.into_iter().filter(timed).collect()
    }

    /// Whether file data moved at a level.
    pub(crate) fn moves_data(&self) -> bool {
        let metrics = || self.levels.iter().filter_map(|level| level.number(None, "bytes"));
        metrics().flat_map(|metric| metric.estimates.iter().flatten()).any(|estimate| estimate.value > 0.0)
    }
}
