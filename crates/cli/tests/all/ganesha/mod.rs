//! Failures of NFS-Ganesha that are not errors of its client.
//!
//! Its VFS backend reads the names of a directory and then looks up each one. If one was removed in between, the whole listing fails with
//! NOENT or STALE (of NFS 3 or 4), although the directory exists (`read_dirents` in its `FSAL_VFS/handle.c`).

use serde_json::Value;

const GONE: [&str; 4] = ["NFS3ERR_NOENT", "NFS3ERR_STALE", "NFS4ERR_NOENT", "NFS4ERR_STALE"];
/// More listings than this did not fail by chance, before and after the measured phase.
const OUTSIDE: u64 = 2;

/// Failed listings that are not counted as errors of a run: those of the measured phases, and those outside them. A listing whose operation
/// began before the phase, and its request in it, is in both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Excused {
    pub(crate) measured: u64,
    pub(crate) outside: u64,
}

impl Excused {
    /// Those of a run.
    pub(crate) fn of(report: &Value) -> Self {
        let levels = report["levels"].as_array().unwrap();
        let sum = |count: fn(&Value) -> u64| levels.iter().map(count).sum::<u64>();
        Self { measured: sum(lists_of_what_went), outside: sum(lists_outside) }
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { measured: self.measured + other.measured, outside: self.outside + other.outside }
    }
}

/// Listings of the measured phase that failed because an entry went meanwhile: at most one in fifty. They take longer on a busy machine.
pub(crate) fn lists_of_what_went(level: &Value) -> u64 {
    let operations = level["operations"].as_array().unwrap();
    let Some(list) = operations.iter().find(|row| row["operation"] == "list") else { return 0 };
    let statuses = list["statuses"].as_array().unwrap().iter();
    let went = |status: &&Value| GONE.map(Value::from).contains(&status["name"]);
    let gone: u64 = statuses.filter(went).map(|status| status["count"].as_u64().unwrap()).sum();
    if gone <= 2 + list["count"].as_u64().unwrap() / 50 { gone } else { 0 }
}

/// The same before and after the measured phase, of which the level has no statuses, but causes.
pub(crate) fn lists_outside(level: &Value) -> u64 {
    let causes = GONE.map(|status| {
        ["READDIR", "READDIRPLUS"].map(|list| format!("error status: {status}, {list} (not in the measured phase)"))
    });
    let failures = level["failures"].as_array().unwrap().iter();
    let gone = failures.filter(|failure| causes.iter().flatten().any(|cause| failure["cause"] == **cause));
    let gone = gone.map(|failure| failure["count"].as_u64().unwrap()).sum();
    if gone <= OUTSIDE { gone } else { 0 }
}
