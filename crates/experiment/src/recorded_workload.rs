//! A workload of a recording, and whether it is still the same: its text names a load file, but does not contain the file.

use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload};

/// The workload `name` from its text with these parameters.
///
/// # Errors
/// It is not a workload, or its digest is not `sha256`: it plays a load file that has changed.
pub(crate) fn unchanged(name: &str, text: &str, settings: &[Parameter], sha256: &str) -> Result<Workload, Usage> {
    let workload = Workload::parse_with(name, text, settings).map_err(|error| Usage(error.to_string()))?;
    if workload.digest() != sha256 {
        return Err(Usage(format!(
            "the load file of workload {name} has changed since the recording; restore the file (SHA-256 of workload and load \
            file: now {now}, in the recording {sha256})",
            now = workload.digest(),
        )));
    }
    Ok(workload)
}
