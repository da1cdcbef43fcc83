//! Which runs belong together.

use crate::collect::comparison::{Contestant, LevelRuns};
use crate::findings::Headline;

/// Characters of a digest that tell two workloads apart.
const DIGEST: usize = 8;

/// The common properties of runs that may be compared over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) workload: String,
    pub(super) sha256: Option<String>,
    pub(super) target_kind: String,
    pub(super) level_name: String,
    pub(super) pace: Vec<String>,
    pub(super) outstanding: Option<u64>,
    headline: Headline,
}

impl Plan {
    pub(super) fn of(contestant: &Contestant, level: &LevelRuns) -> Plan {
        let (run, point) = (contestant.findings.run.as_ref(), level.point.as_ref());
        let kind = |target: &str| match target.split_once(':') {
            Some(("embedded", protocol)) => {
                format!("embedded:{}", protocol.split(['/', '?']).next().unwrap_or_default())
            }
            Some((scheme, _)) => scheme.to_owned(),
            None => target.to_owned(),
        };
        let capture = || "capture".to_owned();
        Plan {
            workload: run.map_or_else(capture, |run| run.workload.clone()),
            sha256: run.map(|run| run.workload_sha256.clone()),
            target_kind: run.map_or_else(capture, |run| kind(&run.target)),
            level_name: level.level_name.clone(),
            pace: point.map(|point| point.pace.clone()).unwrap_or_default(),
            outstanding: point.map(|point| point.outstanding),
            headline: contestant.findings.headline,
        }
    }

    fn words(&self) -> String {
        let Plan { workload, target_kind, level_name, .. } = self;
        if self.sha256.is_none() { workload.clone() } else { format!("{workload} on {target_kind}, {level_name}") }
    }

    /// Its name, with the difference to other plans of the same name.
    pub(super) fn name_among(&self, plans: &[Plan]) -> String {
        let mut name = self.words();
        let alike: Vec<&Plan> = plans.iter().filter(|plan| plan.words() == name && *plan != self).collect();
        let differs = |of: fn(&Plan, &Plan) -> bool| alike.iter().any(|other| of(self, other));
        if differs(|a, b| a.sha256 != b.sha256) {
            let digest: String = self.sha256.iter().flat_map(|digest| digest.chars()).take(DIGEST).collect();
            name += &format!(", workload text {digest}");
        }
        if differs(|a, b| a.outstanding != b.outstanding) {
            name += &self.outstanding.map_or_else(String::new, |many| format!(", {many} outstanding"));
        }
        if differs(|a, b| a.pace != b.pace) {
            name += &format!(", {}", if self.pace.is_empty() { "no pace".to_owned() } else { self.pace.join(", ") });
        }
        if differs(|a, b| a.headline != b.headline) {
            name += &format!(", response time{}", self.headline.words());
        }
        name
    }
}
