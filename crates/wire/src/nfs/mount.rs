//! MOUNT versions 1 to 3: from an export's path to its first file handle.
//!
//! Version 3 can also be said ([`MountCall`]) and strictly read.
//!
//! Spec: RFC 1094 A.5, RFC 1813 5.2

mod strict;

pub use strict::{MountCall, Mounted, parse_mounted, parse_nothing};

use super::facts::Facts;
use super::layout::Field::{Handle, Handle32, Name};
use super::layout::{Layout, facts_of, facts_of_results};

const MNT: u32 = 1;
const UMNT: u32 = 3;
const PATHCONF: u32 = 7;

/// Facts of a call's arguments: the path is in `name`.
pub fn arguments(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    arguments_layout(version, procedure).map_or_else(Facts::default, |layout| facts_of(layout, bytes))
}

pub(super) fn arguments_layout(version: u32, procedure: u32) -> Option<Layout> {
    match (version, procedure) {
        (1..=3, MNT | UMNT) | (2, PATHCONF) => Some(&[Name]),
        _ => None,
    }
}

/// Facts of a reply's results: MNT's status and handle. The other procedures return no status.
pub fn results(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    results_layout(version, procedure).map_or_else(Facts::default, |layout| facts_of_results(layout, bytes))
}

/// What follows the status.
pub(super) fn results_layout(version: u32, procedure: u32) -> Option<Layout> {
    match (version, procedure) {
        (1 | 2, MNT) => Some(&[Handle32]),
        (3, MNT) => Some(&[Handle]),
        _ => None,
    }
}
