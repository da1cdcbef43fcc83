//! A request that waits.

use serde::{Deserialize, Serialize};

use super::context::Binding;
use crate::pairing::Pending;

/// A request that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) pending: Pending,
    pub(super) command: u16,
    pub(super) id: Option<u64>,
    /// It may wait by design, and does if an interim answer says so (a blocking lock).
    pub(super) may_wait: bool,
    /// What its answer will teach.
    pub(super) binding: Binding,
}
