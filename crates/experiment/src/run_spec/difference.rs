//! In what two runs differ: a recorded one, and one that continues it, is merged with it, or is compared with it.

use serde_json::Value;

use super::{RunSpec, ServerSpec, VariantSpec};
use crate::level_spec::LevelSpec;

impl RunSpec {
    /// Why a recording of this had another load than `ours`; `None` if it includes all levels of `ours`. Targets (but not their number),
    /// seed, files and the number of repeats may differ.
    pub(crate) fn other_load(&self, ours: &Self) -> Option<String> {
        let servers = self.other_number_of_targets(ours).or_else(|| self.other_server_options(ours));
        servers.or_else(|| self.other_companions(ours)).or_else(|| {
            ours.levels().find_map(|(our_variant, our)| {
                let same = |(_, their): &(&VariantSpec, &LevelSpec)| {
                    (&their.load_name, &their.parameter) == (&our.load_name, &our.parameter)
                };
                let Some((their_variant, their)) = self.levels().find(same) else {
                    return Some(format!("it has no level {}", our.load_name));
                };
                if their.plan.part.is_some() {
                    return Some("it is the recording of one part of a run".to_owned());
                }
                if their_variant.workload_sha256 != our_variant.workload_sha256 {
                    return Some(format!(
                        "its workload ({}) differs from that of this run ({})",
                        self.workload, ours.workload
                    ));
                }
                let differs = first_difference("", &their.load(), &our.load())?;
                Some(format!("at {} {differs}", our.load_name))
            })
        })
    }

    /// Why a recording of this differs from `ours`; `None` if it does not.
    pub(crate) fn differs(&self, ours: &Self) -> Option<String> {
        if self.target != ours.target {
            return Some(format!("its target is {}, not {}", self.target, ours.target));
        }
        if self.server.targets != ours.server.targets {
            let [theirs, ours] = [self, ours].map(|spec| spec.server.targets.join(", "));
            return Some(format!("its targets are {theirs}, not {ours}"));
        }
        if self.seed != ours.seed {
            return Some(format!("its seed is {}, not {}", self.seed, ours.seed));
        }
        if let Some(options) = self.other_server_options(ours) {
            return Some(options);
        }
        if let Some(search) = self.other_search(ours) {
            return Some(search);
        }
        let (many, asked) = (self.levels().count(), ours.levels().count());
        // One part of a search may have ended before another.
        if many != asked && self.search.is_none() {
            return Some(format!("it has {many} load levels, not {asked}"));
        }
        self.levels().zip(ours.levels()).find_map(|((their_variant, theirs), (our_variant, ours))| {
            if (&theirs.load_name, &theirs.curve) != (&ours.load_name, &ours.curve) {
                return Some(format!("it has the level {}, not {}", theirs.shown(), ours.shown()));
            }
            if their_variant.workload_sha256 != our_variant.workload_sha256 {
                let digest = &their_variant.workload_sha256;
                return Some(format!("at {} its workload differs (SHA-256 {digest})", ours.shown()));
            }
            let (was, is) = (theirs.decisive(), ours.decisive());
            first_difference("", &was, &is).map(|differs| format!("at {} {differs}", ours.shown()))
        })
    }

    /// Whether it is another search, or only one of the two is a search.
    fn other_search(&self, ours: &Self) -> Option<String> {
        match (&self.search, &ours.search) {
            (None, None) => None,
            (Some(_), None) => Some("it is the recording of a capacity search".to_owned()),
            (None, Some(_)) => Some("it is not the recording of a capacity search".to_owned()),
            (Some(its), Some(our)) => its.differs(our),
        }
    }

    /// Whether its `--with` workloads are other ones.
    fn other_companions(&self, ours: &Self) -> Option<String> {
        let digests =
            |spec: &Self| -> Vec<String> { spec.with.iter().map(|with| with.workload_sha256.clone()).collect() };
        (digests(self) != digests(ours)).then(|| "its --with workloads are different".to_owned())
    }

    /// Whether its clients are distributed over more or fewer servers.
    fn other_number_of_targets(&self, ours: &Self) -> Option<String> {
        // The list of a single one is empty.
        let [theirs, ours] = [self, ours].map(|spec| spec.server.targets.len().max(1));
        let s = if theirs == 1 { "" } else { "s" };
        (theirs != ours).then(|| format!("it has {theirs} target{s}, not {ours}"))
    }

    /// Whether its server options differ, whichever the servers are.
    fn other_server_options(&self, ours: &Self) -> Option<String> {
        let shown = |server| serde_json::to_string(server).unwrap_or_default();
        let [theirs, ours] = [self, ours].map(|spec| ServerSpec { targets: Vec::new(), ..spec.used_server().0 });
        let options = || format!("its server options are {}, not {}", shown(&theirs), shown(&ours));
        (theirs != ours).then(options)
    }
}

/// The first value in which two plans differ, with its path: `its phases.measured_ns is 2, not 3`.
pub(crate) fn first_difference(path: &str, theirs: &Value, ours: &Value) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(these), Value::Object(those)) if these.keys().eq(those.keys()) => {
            these.iter().zip(those.values()).find_map(|((key, this), that)| {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                first_difference(&below, this, that)
            })
        }
        _ => (theirs != ours).then(|| format!("its {path} is {theirs}, not {ours}")),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::Workload;

    use super::*;

    #[test]
    fn other_servers_have_the_same_load_if_they_are_as_many() {
        let spec = |targets: &[&str]| {
            let mut spec = RunSpec::new(&Workload::find("getattr").unwrap(), 1);
            spec.target = targets.join(", ");
            spec.server.targets = targets.iter().map(|target| (*target).to_owned()).collect();
            spec
        };
        let (first, second) = (spec(&["smb://a1/s", "smb://a2/s"]), spec(&["smb://b1/s", "smb://b2/s"]));
        assert_eq!(first.other_load(&second), None);
        assert!(first.differs(&second).is_some(), "it is another run");
        let three = spec(&["smb://c1/s", "smb://c2/s", "smb://c3/s"]);
        assert_eq!(first.other_load(&three).as_deref(), Some("it has 2 targets, not 3"));
        let mut signed = second;
        signed.server.signing = true;
        assert!(first.other_load(&signed).unwrap().starts_with("its server options are "));
    }
}
