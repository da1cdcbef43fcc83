//! The workloads that come with the program.

use crate::{Workload, WorkloadError};

/// A workload that comes with the program: a file of `builtin/`.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All built-in workloads; `mixed` first.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "mixed", text: include_str!("../builtin/mixed.toml") },
    Builtin { name: "stream-read", text: include_str!("../builtin/stream-read.toml") },
    Builtin { name: "stream-write", text: include_str!("../builtin/stream-write.toml") },
    Builtin { name: "blocks-read", text: include_str!("../builtin/blocks-read.toml") },
    Builtin { name: "blocks-write", text: include_str!("../builtin/blocks-write.toml") },
    Builtin { name: "random-read", text: include_str!("../builtin/random-read.toml") },
    Builtin { name: "sequential-read", text: include_str!("../builtin/sequential-read.toml") },
    Builtin { name: "iops-read", text: include_str!("../builtin/iops-read.toml") },
    Builtin { name: "metadata", text: include_str!("../builtin/metadata.toml") },
    Builtin { name: "getattr", text: include_str!("../builtin/getattr.toml") },
    Builtin { name: "getattr-open", text: include_str!("../builtin/getattr-open.toml") },
    Builtin { name: "null", text: include_str!("../builtin/null.toml") },
    Builtin { name: "laddis", text: include_str!("../builtin/laddis.toml") },
    Builtin { name: "netbench", text: include_str!("../builtin/netbench.toml") },
    Builtin { name: "home-folders", text: include_str!("../builtin/home-folders.toml") },
    Builtin { name: "home-folders-2008", text: include_str!("../builtin/home-folders-2008.toml") },
];

impl Builtin {
    /// The built-in workload of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Builtin> {
        BUILTINS.iter().find(|builtin| builtin.name == name)
    }

    /// Its parsed workload.
    ///
    /// # Errors
    /// The load file that it replays is not on this machine. A test checks that there are no other errors.
    pub fn workload(&self) -> Result<Workload, WorkloadError> {
        Workload::parse(&self.file(), self.text)
    }

    /// What errors call it.
    pub(crate) fn file(&self) -> String {
        format!("builtin/{}.toml", self.name)
    }
}
