//! The limit of a directory listing.

/// Maximum number of names in one directory: a server that sends more repeats itself. The tests of the clients need fewer.
pub(crate) const MOST_NAMES: u64 = if cfg!(test) { 1 << 10 } else { 1 << 24 };
