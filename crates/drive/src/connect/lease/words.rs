//! Owners and errors in words.

use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;

use crate::connect::control_client::Trouble;
use crate::connect::owner::{ABANDONED_AFTER_S, Owner};

/// The year 9999 ends, s since the Unix epoch: no instant behind it can be shown.
const LAST_S: u64 = 253_402_300_800;

pub(super) fn not_given_back(path: &str, why: &str) -> String {
    format!(
        "cannot release the file-set lease {path} ({why}); the lease expires {ABANDONED_AFTER_S} s after its last renewal"
    )
}

pub(super) fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Connection(error) => error.to_string(),
        Trouble::Failed(failure) => failure.to_string(),
    }
}

pub(super) fn words_of(owner: &Owner) -> String {
    let Owner { host, process, taken_s, .. } = owner;
    let since = UNIX_EPOCH.checked_add(Duration::from_secs(*taken_s)).filter(|_| *taken_s < LAST_S);
    let since = since.map_or_else(|| "an unknown time".to_owned(), |since| format_rfc3339_seconds(since).to_string());
    format!("process {process} on {host} since {since}")
}
