//! The target of an experiment, and an embedded server where none is named.

use plimsoll_client::target::{Embedded as Which, NfsVersion, Target, TargetError};
use plimsoll_results::Usage;
use plimsoll_serve::{Account, Embedded, Kind, Options};
use plimsoll_stats::{Dimension, Dimensions};
use plimsoll_workload::Workload;

use super::level_spec::LevelSpec;

/// A target that can be reached, and the server in this process behind it, if it is one.
pub struct ResolvedTarget {
    /// The target.
    pub target: Target,
    /// The target in messages.
    pub shown: String,
    /// Alive as long as it is needed.
    embedded: Option<Embedded>,
    /// Further targets: each of all has its share of the clients.
    others: Vec<ResolvedTarget>,
}

impl ResolvedTarget {
    /// Whether Plimsoll's clients connect to it; otherwise calls go through the operating system.
    pub fn is_connected(&self) -> bool {
        !matches!(self.target, Target::Path(_))
    }

    /// Whether its server is in this process.
    pub fn is_embedded(&self) -> bool {
        self.all().any(|one| one.embedded.is_some())
    }

    /// Files that the largest of these levels has open in this process.
    pub fn open_files(&self, level_specs: &[LevelSpec], workload: &Workload) -> u64 {
        let of = |LevelSpec { plan, .. }: &LevelSpec| {
            let used = match self.target {
                Target::Path(_) => workload.open_files() * plan.outstanding(),
                // Both ends of every connection.
                _ if self.is_embedded() => 2 * plan.connections_in_all(),
                _ => plan.connections_in_all(),
            };
            // The event queue of each load thread.
            used + u64::from(plan.workers(self.is_connected()))
        };
        level_specs.iter().map(of).max().unwrap_or(0)
    }

    /// Starts the embedded server of a target; any other target exists already.
    pub fn start(target: Target) -> anyhow::Result<Self> {
        let shown = target.to_string();
        let Target::Embedded(which) = target else {
            return Ok(Self { target, shown, embedded: None, others: Vec::new() });
        };
        let (kind, account) = match which {
            Which::Smb => (Kind::Smb, Some(Account::random()?)),
            Which::Nfs { .. } => (Kind::Nfs, None),
        };
        let server = Embedded::start(kind, Options { account, ..Options::default() })?;
        let url = match which {
            Which::Nfs { version, slots, .. } => match version.and_then(NfsVersion::minor) {
                Some(minor) => server.target_of_4(minor, slots),
                None => server.target(),
            },
            Which::Smb => server.target(),
        };
        // Our own URL, which parses.
        let mut target = Target::parse(&url)?;
        if let (Target::Nfs(nfs), Which::Nfs { delegations, .. }) = (&mut target, which) {
            nfs.delegations = delegations;
        }
        Ok(Self { target, shown, embedded: Some(server), others: Vec::new() })
    }

    /// Adds further targets with separate clients.
    ///
    /// # Errors
    /// They have different protocols, or none.
    pub fn with_others(mut self, others: Vec<Self>) -> Result<Self, Usage> {
        let kind = |of: &Self| std::mem::discriminant(&of.target);
        if let Some(other) = others.iter().find(|other| kind(other) != kind(&self) || !other.is_connected()) {
            return Err(Usage(format!(
                "the targets of a run must be servers with the same protocol: {one} and {other} are not; start a separate run for each",
                one = self.shown,
                other = other.shown
            )));
        }
        for other in &others {
            self.shown = format!("{}, {}", self.shown, other.shown);
        }
        self.others = others;
        Ok(self)
    }

    /// The targets as a recording has them, without passwords; none where this is the only one.
    pub fn targets(&self) -> Vec<String> {
        if self.others.is_empty() {
            return Vec::new();
        }
        self.all().map(|one| one.target.to_string()).collect()
    }

    /// The dimensions that reports distinguish: servers and accounts, if there are several.
    pub fn distinguished_by(&self) -> Option<Dimensions> {
        let accounts = |one: &Self| matches!(&one.target, Target::Smb(smb) if smb.accounts.len() > 1);
        let servers = (!self.others.is_empty()).then_some(Dimension::Server);
        let users = self.all().any(accounts).then_some(Dimension::User);
        Dimensions::new(&servers.into_iter().chain(users).collect::<Vec<_>>())
    }

    /// All targets, starting with this one.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }
}

/// Why a target's password or accounts cannot be used: a file is an unusable input, the rest is a wrong command line.
pub fn refused_target(error: TargetError) -> anyhow::Error {
    match error {
        TargetError::AccountsFile { .. } | TargetError::PasswordFile { .. } => error.into(),
        other => Usage(other.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plimsoll_drive::engine::Plan;
    use plimsoll_workload::{Load, Pause};

    use super::*;

    #[test]
    fn load_threads_have_open_files_too() {
        let workload = Workload::find("random-read").unwrap();
        let of = |url: &str, clients: u32, threads: u32| {
            let plan = Plan { threads, ..Plan::new(Load::Closed { clients, think: Pause::None }) };
            let level = LevelSpec { plan, load_name: String::new(), curve: None, parameter: None, share: None };
            let target = Target::parse(url).unwrap();
            let resolved = ResolvedTarget { shown: url.to_owned(), target, embedded: None, others: Vec::new() };
            resolved.open_files(&[level], &workload)
        };
        assert_eq!([of("nfs://h/e", 700, 500), of("nfs://h/e", 700, 900)], [700 + 500, 700 + 700]);
        let cores = std::thread::available_parallelism().unwrap().get() as u64;
        assert_eq!(of("nfs://h/e", 1 << 20, 0), (1 << 20) + cores);
        assert_eq!(of("file:///x", 700, 0), 700 * workload.open_files() + 700, "a thread per client");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_an_input_and_no_usage_error() {
        let missing = Path::new("/nonexistent/file");
        let mut smb = Target::parse("smb://u@h/s").unwrap();
        let refused = [smb.find_accounts(missing).unwrap_err(), smb.find_password(Some(missing), None).unwrap_err()];
        assert!(refused.map(refused_target).iter().all(|error| !error.is::<Usage>()));
        let mut nfs = Target::parse("nfs://h/e").unwrap();
        assert!(refused_target(nfs.find_accounts(missing).unwrap_err()).is::<Usage>());
    }
}
