//! Paths of names in directories.

/// The path of a name in a directory.
pub(super) fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
