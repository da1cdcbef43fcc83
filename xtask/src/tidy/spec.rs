//! Wire code says which part of which standard it implements, in one greppable form.

use super::source::Source;

/// Files of `wire` that follow no one standard.
const WITHOUT: [&str; 5] = [
    "crates/wire/src/nfs/facts.rs",
    "crates/wire/src/nfs/procedure.rs",
    "crates/wire/src/smb1/fields.rs",
    "crates/wire/src/smb2/fields.rs",
    "crates/wire/src/text.rs",
];
const MARK: &str = "Spec: ";

/// Files of `wire` with code but without a `Spec:` line.
pub(crate) fn missing(sources: &[Source]) -> Vec<String> {
    let wire = sources.iter().filter(|source| source.is_rust() && source.path.starts_with("crates/wire/src/"));
    let code = wire.filter(|source| !source.test && !WITHOUT.contains(&source.path.as_str()) && has_code(source));
    let missing = code.filter(|source| !source.text.lines().any(cites));
    missing.map(|source| format!("{}: no line `//! {MARK}…` says what it implements", source.path)).collect()
}

fn cites(line: &str) -> bool {
    line.trim_start().strip_prefix("//").is_some_and(|comment| comment.contains(MARK))
}

/// Whether there is more than the naming of modules.
fn has_code(source: &Source) -> bool {
    source.code().any(|(_, line)| ["fn ", "struct ", "enum ", "const "].iter().any(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_missing(path: &str, text: &str) -> bool {
        !missing(&[Source::new(path, text)]).is_empty()
    }

    #[test]
    fn code_without_a_citation_is_told() {
        assert!(is_missing("crates/wire/src/smb2/read.rs", "//! READ.\npub fn parse() {}\n"));
        assert!(!is_missing(
            "crates/wire/src/smb2/read.rs",
            "//! READ.\n//! Spec: MS-SMB2 2.2.19\npub fn parse() {}\n"
        ));
        assert!(!is_missing("crates/wire/src/smb2/mod.rs", "mod read;\npub use read::Read;\n"));
        assert!(!is_missing("crates/observe/src/a.rs", "pub fn parse() {}\n"));
    }
}
