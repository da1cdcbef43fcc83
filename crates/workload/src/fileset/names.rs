//! Names of Plimsoll's files and directories in a set.

/// What names of files and directories begin with that slots make for themselves.
pub(crate) const OWN_FILE: &str = "own-f-";
pub(crate) const OWN_DIRECTORY: &str = "own-d-";
/// Suffix of the name of a copy, after the name of a slot's own file.
pub(crate) const COPY: &str = "-c";
/// The manifest's name within the set.
pub(super) const MANIFEST: &str = "manifest.txt";

/// Whether a name is one of Plimsoll's in a set.
pub(crate) fn is_of_a_set(name: &str) -> bool {
    name == MANIFEST || is_numbered(name) || name.starts_with(OWN_FILE) || name.starts_with(OWN_DIRECTORY)
}

/// Whether a slot created an object with this name for itself: in an iteration, or as the directory of a replay. Users may have files
/// with names such as `own-f-face` or `own-d-2024-11-30`.
pub(super) fn is_own(name: &str) -> bool {
    match (name.strip_prefix(OWN_FILE), name.strip_prefix(OWN_DIRECTORY)) {
        (Some(numbers), _) => is_of_iteration(numbers.strip_suffix(COPY).unwrap_or(numbers)),
        (None, Some(numbers)) => is_number(numbers) || is_of_iteration(numbers),
        (None, None) => false,
    }
}

/// The upper half of a seed in hexadecimal; then client, slot, iteration and number of renames.
fn is_of_iteration(numbers: &str) -> bool {
    let Some((seed, others)) = numbers.split_once('-') else { return false };
    let is_seed = (1..=8).contains(&seed.len()) && seed.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_seed && others.split('-').count() == 4 && others.split('-').all(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name as Plimsoll wrote it, where a share that stores names in upper case could show it like this.
pub(super) fn folded(name: &str) -> Option<String> {
    let has = |of: fn(&u8) -> bool| name.bytes().any(|byte| of(&byte));
    (has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase)).then(|| name.to_ascii_lowercase())
}

/// Whether it is a name of a set: a letter and a number.
fn is_numbered(name: &str) -> bool {
    name.strip_prefix(['s', 'd', 'f', 'l']).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_plimsoll_writes_are_its_own() {
        let of_files = ["own-f-0000a0b1-1-2-3-0", "own-f-0000a0b1-1-2-3-0-c"];
        for own in of_files.into_iter().chain(["own-d-ffffffff-10-0-123456-2", "own-d-0", "own-d-17"]) {
            assert!(is_own(own), "{own}");
        }
        let names = "own-f- own-f-- own-f-0 own-f-face own-f-2024-11-30 own-d-2024-11-30 own-d-cafe own-f-0-1-2-3-a \
            own-f-0-1-2-3-c own-f-0-1-2-3-0-c-c own-d-0-1-2-3-0-c own-f-0-1-2-3- own-f-0-1-2-3-4-5 \
            own-f-123456789-1-2-3-0 own-f-A-1-2-3-0 OWN-F-0-1-2-3-0";
        for other in names.split(' ') {
            assert!(!is_own(other), "{other}");
        }
    }
}
