//! Workloads by their names: those that come with the program, and files.

use crate::workload::LARGEST;
use crate::{BUILTINS, Builtin, Parameter, Workload, WorkloadError};

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
