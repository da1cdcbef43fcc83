//! Which server: the flags, and an embedded one where none is named.

use std::path::{Path, PathBuf};

use plimsoll_client::smb2::{Dialect, Wish};
use plimsoll_client::target::{PASSWORD_VARIABLE, Target};
use plimsoll_drive::engine::Plan;
use plimsoll_drive::reach::Wishes;
use plimsoll_serve::{Account, Embedded, Kind, Options};
use plimsoll_workload::Workload;

use super::auth::AuthFlags;
use super::load::Step;
use crate::exit::Usage;

/// Which server, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct TargetFlags {
    /// Which one.
    #[arg(long, value_name = "URL", default_value = "embedded:smb", help = TARGETS)]
    target: String,
    /// The password's file (else the environment's PLIMSOLL_PASSWORD, else the target's own)
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    wishes: WishFlags,
}

/// What a target may be.
pub(crate) const TARGETS: &str = "smb://user@host[:port]/share[/path], nfs://host[:port]/export[?OPTIONS], file:///path, embedded:smb or \
     embedded:nfs. OPTIONS, with & between them: resvport (call from a port below 1024), mountport=PORT, portmapport=PORT, \
     version=3";

/// What is asked of an SMB server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct WishFlags {
    /// Force this SMB dialect: 2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1
    #[arg(long, value_name = "VERSION", value_parser = parse_dialect)]
    dialect: Option<Dialect>,
    /// Demand SMB signing
    #[arg(long)]
    signing: bool,
    /// Demand SMB encryption
    #[arg(long)]
    encryption: bool,
}

/// A target that can be reached, and the server in this process behind it, if it is one.
pub(crate) struct Chosen {
    /// What to reach.
    pub(crate) target: Target,
    /// What people are told.
    pub(crate) shown: String,
    /// Held as long as it is needed.
    embedded: Option<Embedded>,
}

impl TargetFlags {
    /// As if they had been given.
    pub(crate) fn new(target: String, password_file: Option<PathBuf>, auth: AuthFlags, wishes: WishFlags) -> Self {
        Self { target, password_file, auth, wishes }
    }

    /// The files that it is read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.password_file.iter().map(PathBuf::as_path)
    }

    /// The target, its password found, its server started where that is ours to do.
    pub(crate) fn choose(&self) -> anyhow::Result<Chosen> {
        let mut target = Target::parse(&self.target).map_err(|error| Usage(error.to_string()))?;
        self.auth.check(&target)?;
        let variable = std::env::var_os(PASSWORD_VARIABLE);
        target.find_password(self.password_file.as_deref(), variable).map_err(|error| Usage(error.to_string()))?;
        Chosen::start(target)
    }

    /// What is asked of the server: all of a recording is measured with the same.
    pub(crate) fn asked(&self) -> String {
        format!("{:?}, {:?}", self.wishes, self.auth)
    }

    /// What is asked of it.
    pub(crate) fn wishes(&self, seed: u64) -> Wishes {
        Wishes { kerberos: self.auth.realm(), ..self.wishes.with_seed(seed) }
    }
}

impl WishFlags {
    fn with_seed(&self, seed: u64) -> Wishes {
        let wish = |demanded| if demanded { Wish::Demanded } else { Wish::AsServerSays };
        let dialects = self.dialect.map_or(Dialect::V202..=Dialect::V311, |dialect| dialect..=dialect);
        let (signing, encryption) = (wish(self.signing), wish(self.encryption));
        Wishes { dialects, signing, encryption, seed, ..Wishes::default() }
    }
}

impl Chosen {
    /// Whether clients of ours connect to it; else calls go through the operating system.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self.target, Target::Path(_))
    }

    /// Whether its server is in this process.
    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Files that the largest of these levels has open in this process.
    pub(crate) fn open_files(&self, steps: &[Step], workload: &Workload) -> u64 {
        let lanes = |plan: &Plan| u64::from(plan.load.stations()) * u64::from(plan.lanes);
        let of = |step: &Step| match self.target {
            Target::Path(_) => workload.open_files() * lanes(&step.plan),
            // An end each of every connection.
            _ if self.embedded.is_some() => 2 * step.plan.connections_in_all(),
            _ => step.plan.connections_in_all(),
        };
        steps.iter().map(of).max().unwrap_or(0)
    }

    /// Starts the embedded server that a target stands for; any other target is there already.
    pub(crate) fn start(target: Target) -> anyhow::Result<Self> {
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

fn parse_dialect(text: &str) -> Result<Dialect, String> {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == text).ok_or_else(|| {
        let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        format!("none of {}", known.join(", "))
    })
}
