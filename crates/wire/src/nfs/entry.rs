//! Names of procedures by their numbers.
//!
//! Spec: RFC 5531 8.2: procedures are numbered from 0.

/// The entry of a table of names that begins with procedure 0.
pub(super) fn entry(names: &[&'static str], procedure: u32) -> Option<&'static str> {
    names.get(usize::try_from(procedure).ok()?).copied()
}
