//! What the NFS clients of all versions have in common: paths on their way to handles, operations on their way, data on its way.

mod handles;
mod jobs;
mod transfer;
mod unstable;
mod walk;
mod wanted;

pub(crate) use handles::Handles;
pub(crate) use jobs::{JobId, Jobs, Release, never_sent};
pub(crate) use transfer::Transfer;
pub(crate) use unstable::{Unstable, durability};
pub(crate) use walk::{Facts, Walk};
pub(crate) use wanted::{MOST, Wanted};
