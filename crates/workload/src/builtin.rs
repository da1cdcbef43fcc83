//! The workloads that come with the program.

use super::{LARGEST, Parameter, Workload, WorkloadError};

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

impl Workload {
    /// The built-in workload of this name, otherwise the workload in the file of this name.
    ///
    /// # Errors
    /// There is neither, or the file is invalid.
    pub fn find(name: &str) -> Result<Self, WorkloadError> {
        Self::find_with(name, &[])
    }

    /// The same with other values of its parameters than the defaults.
    ///
    /// # Errors
    /// As [`Workload::find`], and if it has no such parameter, or one of another kind.
    pub fn find_with(name: &str, settings: &[Parameter]) -> Result<Self, WorkloadError> {
        if let Some(builtin) = Builtin::named(name) {
            return Self::parse_with(&builtin.file(), builtin.text, settings);
        }
        match std::fs::metadata(name) {
            Ok(found) if found.len() > LARGEST as u64 => {
                return Err(WorkloadError::whole(
                    name,
                    format!("the workload file is too large: the limit is {LARGEST} bytes"),
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && names_a_server(name) => {
                let problem = "this is a server, not a workload: give the server with --target".to_owned();
                return Err(WorkloadError::whole(name, problem));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let names: Vec<_> = BUILTINS.iter().map(|builtin| builtin.name).collect();
                let problem =
                    format!("no built-in workload and no file has this name; built-in workloads: {}", names.join(", "));
                return Err(WorkloadError::whole(name, problem));
            }
            Ok(_) | Err(_) => {}
        }
        let text = std::fs::read_to_string(name).map_err(|error| WorkloadError::whole(name, error.to_string()))?;
        Self::parse_with(name, &text, settings)
    }
}

/// Whether a name that no workload has looks like a target, as in `smb://server/share`, `server:/export` and `embedded:nfs`.
fn names_a_server(name: &str) -> bool {
    name.contains(":/") || ["embedded:", r"\\", "//"].iter().any(|start| name.starts_with(start))
}

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
    fn file(&self) -> String {
        format!("workloads/{}.toml", self.name)
    }
}
