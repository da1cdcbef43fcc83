//! MOUNT versions 1 to 3: from an export's path to its first file handle.
//!
//! Version 3 can also be said ([`MountCall`]) and strictly read.
//!
//! Spec: RFC 1094 A.5, RFC 1813 5.2

mod strict;

pub use strict::{MountCall, Mounted, parse_mounted, parse_nothing};

use super::facts::Facts;
use super::layout::Field::{Handle, Handle32, Name};
use super::layout::{facts_of, facts_of_results};

const MNT: u32 = 1;
const UMNT: u32 = 3;
const PATHCONF: u32 = 7;

/// What a call's arguments say: the path is in `name`.
pub fn arguments(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    match (version, procedure) {
        (1..=3, MNT | UMNT) | (2, PATHCONF) => facts_of(&[Name], bytes),
        _ => Facts::default(),
    }
}

/// What a reply's results say: MNT's status and handle. The other procedures return no status.
pub fn results(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    match (version, procedure) {
        (1 | 2, MNT) => facts_of_results(&[Handle32], bytes),
        (3, MNT) => facts_of_results(&[Handle], bytes),
        _ => Facts::default(),
    }
}
