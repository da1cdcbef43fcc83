//! Room for all the connections and load threads of a run: every one has an open file of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use plimsoll_results::Usage;

/// Other files that a process has open: standard streams, reports, files of libraries.
const OTHERS: u64 = 128;

/// Allows this process `wanted` open files, and some more.
///
/// # Errors
/// The system does not.
pub fn allow(wanted: u64) -> Result<(), Usage> {
    let wanted = wanted.saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    // The hard limit is only touched where it must be: an administrator may raise it.
    let maximum = maximum.map(|maximum| maximum.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_err(|_| {
        let allowed = getrlimit(Resource::Nofile).maximum.or(current).unwrap_or_default();
        Usage(format!(
            "the connections and load threads need {wanted} open files, but the limit is {allowed}: use fewer clients or \
            --threads, or raise the limit (ulimit -Hn {wanted})"
        ))
    })
}
