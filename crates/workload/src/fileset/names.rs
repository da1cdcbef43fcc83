//! Names of Plimsoll's files and directories in a set.

/// What names of files and directories begin with that slots make for themselves.
pub(crate) const OWN_FILE: &str = "own-f-";
pub(crate) const OWN_DIRECTORY: &str = "own-d-";
/// The manifest's name within the set.
pub(super) const MANIFEST: &str = "manifest.txt";

/// Whether a name is one of Plimsoll's in a set.
pub(crate) fn is_of_a_set(name: &str) -> bool {
    name == MANIFEST || is_numbered(name) || name.starts_with(OWN_FILE) || name.starts_with(OWN_DIRECTORY)
}

/// Whether a slot created an object with this name for itself: a prefix and numbers.
pub(super) fn is_own(name: &str) -> bool {
    let numbers = name.strip_prefix(OWN_FILE).or_else(|| name.strip_prefix(OWN_DIRECTORY));
    numbers.is_some_and(|numbers| !numbers.is_empty() && numbers.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()))
}

/// The name as Plimsoll wrote it, where a share that stores names in upper case could show it like this.
pub(super) fn folded(name: &str) -> Option<String> {
    let has = |of: fn(&u8) -> bool| name.bytes().any(|byte| of(&byte));
    (has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase)).then(|| name.to_ascii_lowercase())
}

/// Whether it is a name of a set: a letter and a number.
fn is_numbered(name: &str) -> bool {
    let digits = name.strip_prefix(['s', 'd', 'f', 'l']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
