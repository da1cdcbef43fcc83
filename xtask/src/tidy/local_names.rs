//! Nothing in the tree depends on the machine that it was written on.

use super::source::Source;

/// Hosts of package registries: which one to use is the machine's business. In pieces, so that this file passes.
const REGISTRIES: [&str; 7] = [
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("deb.deb", "ian.org"),
    concat!("arti", "factory"),
];
/// Where the project's folders stood while it was written.
const FOLDER: &str = concat!("/wo", "rk/");
/// The one source that the lock file may name, cargo's own default.
const LOCK_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Hosts of registries, folders of this machine, and packages from anywhere but the default registry.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources {
        for (i, line) in source.text.lines().enumerate() {
            if let Some(what) = local_name(&source.path, line) {
                problems.push(format!("{}:{}: names {what}", source.path, i + 1));
            }
        }
    }
    problems
}

fn local_name(path: &str, line: &str) -> Option<String> {
    if path.ends_with("Cargo.lock") {
        let source = line.strip_prefix("source = ")?.trim_matches('"');
        return (source != LOCK_SOURCE).then(|| format!("{source}, which is not the default registry"));
    }
    if let Some(host) = REGISTRIES.iter().find(|host| line.contains(**host)) {
        return Some(format!("the registry {host}"));
    }
    begins_with(line, FOLDER).then(|| format!("the folder {FOLDER}"))
}

/// Whether an absolute path that begins so is in the line, rather than a longer one that contains it.
fn begins_with(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~/\\})>*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        problems(&[Source::new(path, text)]).len()
    }

    #[test]
    fn registries_and_folders_are_seen() {
        assert_eq!(count("README.md", concat!("see https://pypi", ".org/project/x")), 1);
        assert_eq!(count("a.rs", concat!("let path = \"/wo", "rk/main\";")), 1);
        assert_eq!(count("a.rs", concat!("let path = \"docs/wo", "rk/main\";")), 0);
        assert_eq!(count("README.md", "cargo install --locked cargo-deny"), 0);
    }

    #[test]
    fn the_lock_file_names_the_default_registry_only() {
        assert_eq!(count("Cargo.lock", &format!("source = \"{LOCK_SOURCE}\"")), 0);
        assert_eq!(count("Cargo.lock", "source = \"git+https://example.com/x\""), 1);
    }
}
