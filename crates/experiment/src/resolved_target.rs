//! The target of an experiment, and an embedded server where none is named.

use plimsoll_client::target::Target;
use plimsoll_serve::{Account, Embedded, Kind, Options};
use plimsoll_workload::Workload;

use super::level_spec::LevelSpec;

/// A target that can be reached, and the server in this process behind it, if it is one.
pub struct ResolvedTarget {
    /// What to reach.
    pub target: Target,
    /// What people are told.
    pub shown: String,
    /// Held as long as it is needed.
    embedded: Option<Embedded>,
}

impl ResolvedTarget {
    /// Whether clients of ours connect to it; else calls go through the operating system.
    pub fn is_connected(&self) -> bool {
        !matches!(self.target, Target::Path(_))
    }

    /// Whether its server is in this process.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Files that the largest of these levels has open in this process.
    pub fn open_files(&self, level_specs: &[LevelSpec], workload: &Workload) -> u64 {
        let of = |level_spec: &LevelSpec| match self.target {
            Target::Path(_) => workload.open_files() * level_spec.plan.outstanding(),
            // An end each of every connection.
            _ if self.embedded.is_some() => 2 * level_spec.plan.connections_in_all(),
            _ => level_spec.plan.connections_in_all(),
        };
        level_specs.iter().map(of).max().unwrap_or(0)
    }

    /// Starts the embedded server that a target stands for; any other target is there already.
    pub fn start(target: Target) -> anyhow::Result<Self> {
        let shown = target.to_string();
        let Target::Embedded(which) = target else {
            return Ok(Self { target, shown, embedded: None });
        };
        let (kind, account) = match which {
            plimsoll_client::target::Embedded::Smb => (Kind::Smb, Some(Account::random()?)),
            plimsoll_client::target::Embedded::Nfs => (Kind::Nfs, None),
        };
        let server = Embedded::start(kind, Options { account, ..Options::default() })?;
        // Our own URL, which parses.
        let target = Target::parse(&server.target())?;
        Ok(Self { target, shown, embedded: Some(server) })
    }
}
