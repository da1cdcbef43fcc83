//! Parameters of the workload, as flags.

use plimsoll_experiment::{Variant, Vary, parse_setting, variants, workload};
use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload};

/// Flags for values of the workload's parameters.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct SetFlags {
    /// Set a parameter of the workload, e.g. block=750B; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<Parameter>,
}

/// Flags for a parameter with several values.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct VaryFlags {
    /// Run all load levels once per value of NAME: a parameter of the workload, or depth, connections, channels (SMB) or slots (NFS 4.1).
    /// E.g. block=0.75kB,6kB,30kB or block=500B..4000B/100B (steps of 100 B) or slots=1..64*2. Each value has its own
    /// load curve
    #[arg(long, value_name = "NAME=LIST", value_parser = str::parse::<Vary>)]
    vary: Option<Vary>,
}

impl SetFlags {
    /// The workload with this name and these values.
    pub(crate) fn workload(&self, name: &str) -> Result<Workload, Usage> {
        workload(name, &self.settings)
    }

    /// The given values.
    pub(crate) fn settings(&self) -> &[Parameter] {
        &self.settings
    }

    /// The workload with these values, one variant per varied value.
    pub(crate) fn variants(&self, name: &str, vary: &VaryFlags) -> Result<Vec<Variant>, Usage> {
        variants(name, &self.settings, vary.vary.as_ref())
    }
}

impl VaryFlags {
    /// Number of load curves.
    pub(crate) fn curves(&self) -> usize {
        self.vary.as_ref().map_or(1, Vary::count)
    }
}
