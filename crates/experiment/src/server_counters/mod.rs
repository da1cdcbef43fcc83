//! The server's own counters: of Samba (`smbstatus --profile`) and of NFS-Ganesha (D-Bus).

mod counters;
mod ganesha;
mod samba;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plimsoll_client::target::{NfsTarget, Target};
use plimsoll_report::findings::ServerCounters;
use plimsoll_results::Usage;

use crate::level_spec::LevelSpec;
use crate::resolved_target::ResolvedTarget;
pub use counters::Counters;

/// A server with counters.
#[derive(Clone, Debug)]
pub enum CounterSource {
    /// Samba, by its smb.conf.
    Samba(PathBuf),
    /// Ganesha, by its D-Bus: `system` or an address.
    Ganesha(String),
}

impl CounterSource {
    /// The counts so far.
    ///
    /// # Errors
    /// The server does not count, or cannot be asked.
    pub fn read(&self) -> anyhow::Result<Counters> {
        match self {
            Self::Samba(configuration) => samba::settled(configuration),
            Self::Ganesha(bus) => ganesha::read(bus),
        }
    }

    /// Where the counters come from, in words.
    fn words(&self) -> &'static str {
        match self {
            Self::Samba(_) => "smbstatus --profile",
            Self::Ganesha(_) => "NFS-Ganesha's D-Bus",
        }
    }

    /// Samba by its smb.conf, otherwise Ganesha by its bus, otherwise none.
    ///
    /// # Errors
    /// The server does not count the requests of a target.
    pub fn chosen(
        samba: Option<&Path>,
        ganesha: Option<&str>,
        resolved: &ResolvedTarget,
    ) -> anyhow::Result<Option<Self>> {
        let bus = ganesha.map(|bus| Self::Ganesha(bus.to_owned()));
        let source = samba.map(|configuration| Self::Samba(configuration.to_owned())).or(bus);
        source.map(|source| source.checked(resolved)).transpose()
    }

    /// The same, unless the server does not count the requests of a target: NFS-Ganesha counts by procedure for version 3 alone.
    ///
    /// # Errors
    /// If it does not count them.
    fn checked(self, resolved: &ResolvedTarget) -> anyhow::Result<Self> {
        let problem = "--ganesha-bus: NFS-Ganesha counts only requests of NFS 3; give the target with ?version=3, or omit the option";
        match resolved.all().all(|one| self.counts(&one.target)) {
            true => Ok(self),
            false => Err(Usage(problem.to_owned()).into()),
        }
    }

    fn counts(&self, target: &Target) -> bool {
        match (self, target) {
            (Self::Ganesha(_), Target::Nfs(NfsTarget { version, .. })) => {
                version.is_some_and(|version| version.minor().is_none())
            }
            _ => true,
        }
    }
}

/// Reads a server's counters before and after every load level.
pub struct CounterWatch {
    source: CounterSource,
    /// Of the last level that began.
    before: Mutex<anyhow::Result<Counters>>,
}

impl CounterWatch {
    /// Reads once.
    ///
    /// # Errors
    /// The server does not count, or cannot be asked: better said now than after the run.
    pub fn start(source: CounterSource) -> anyhow::Result<Self> {
        let before = Mutex::new(Ok(source.read()?));
        Ok(Self { source, before })
    }

    /// A level is about to begin.
    pub(crate) fn begin(&self, level: &LevelSpec) {
        if is_first(level) {
            let now = self.source.read();
            *self.before.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }

    /// Growth of the counters since the level began; `None` if another workload ran at the same time and has them.
    pub(crate) fn end(&self, level: &LevelSpec) -> Option<ServerCounters> {
        is_first(level).then(|| {
            let source = self.source.words().to_owned();
            let after = self.source.read();
            let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            match (&*before, &after) {
                (Ok(before), Ok(after)) => ServerCounters { source, counters: after.since(before), why_missing: None },
                (Err(why), _) | (_, Err(why)) => {
                    ServerCounters { source, counters: Vec::new(), why_missing: Some(format!("{why:#}")) }
                }
            }
        })
    }
}

/// Of several workloads at the same time the first has the counters of all.
fn is_first(level: &LevelSpec) -> bool {
    level.share.as_ref().is_none_or(|share| share.place == 0 || share.beside.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ganesha_counts_version_3_alone() {
        let source = CounterSource::Ganesha("system".to_owned());
        let check = |target: &str| source.counts(&Target::parse(target).unwrap());
        assert!(check("nfs://h/x?version=3") && !check("nfs://h/x?version=4.1"));
    }

    #[test]
    fn a_server_that_cannot_be_asked_ends_the_run_before_it_begins() {
        assert!(CounterWatch::start(CounterSource::Samba("/nowhere/smb.conf".into())).is_err());
    }
}
