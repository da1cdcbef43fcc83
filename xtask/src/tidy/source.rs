//! A file of the tree as the rules see it.

use std::collections::BTreeSet;
use std::fs;

use crate::workspace;

/// A file, relative to the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Only for tests: in a `tests` or `benches` folder, or a module behind `#[cfg(test)]`.
    pub(crate) test: bool,
}

/// Reads files that hold text, and marks those that are for tests only.
pub(crate) fn read_all(paths: &[String]) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for path in paths {
        let bytes = fs::read(workspace::root().join(path)).map_err(|error| format!("{path}: {error}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source { path: path.clone(), text, test: false });
        }
    }
    mark_tests(&mut sources);
    Ok(sources)
}

fn mark_tests(sources: &mut [Source]) {
    let modules: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    for source in sources {
        let path = &source.path;
        let in_folder = ["tests", "benches", "fuzz"].iter().any(|folder| path.split('/').any(|part| part == *folder));
        let in_module = modules.iter().any(|module| {
            path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        source.test = in_folder || in_module || path.ends_with("/tests.rs");
    }
}

/// The modules that a file declares behind `#[cfg(test)]`, as paths without `.rs`.
fn test_modules(source: &Source) -> Vec<String> {
    let Some(stem) = source.path.strip_suffix(".rs") else { return Vec::new() };
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    };
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = pairs.filter_map(|pair| pair[1].strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name));
    names.map(|name| format!("{folder}/{name}")).collect()
}

impl Source {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of code with their numbers, 1-based: without whole-line comments and without the test module that ends
    /// the file.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take(self.lines_without_tests()).enumerate();
        lines.map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Lines before the test module that ends the file.
    pub(crate) fn lines_without_tests(&self) -> usize {
        if self.test {
            return 0;
        }
        let lines: Vec<&str> = self.text.lines().collect();
        let inline = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{');
        lines.windows(2).position(inline).unwrap_or(lines.len())
    }

    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let mut sources = [Source { path: path.to_owned(), text: text.to_owned(), test: false }];
        mark_tests(&mut sources);
        let [source] = sources;
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_in_another_file_is_known() {
        let root = Source::new("crates/wire/src/smb1/mod.rs", "mod header;\n#[cfg(test)]\nmod captures;\n");
        let mut sources = vec![root];
        for name in ["header.rs", "captures.rs", "captures/big.rs"] {
            sources.push(Source::new(&format!("crates/wire/src/smb1/{name}"), ""));
        }
        mark_tests(&mut sources);
        assert_eq!(sources.iter().map(|source| source.test).collect::<Vec<_>>(), [false, false, true, true]);
    }

    #[test]
    fn the_test_module_that_ends_a_file_is_no_code() {
        let source = Source::new("a.rs", "fn a() {}\n// comment\nfn b() {}\n#[cfg(test)]\nmod tests {\nfn c() {}\n}\n");
        assert_eq!(source.code().collect::<Vec<_>>(), [(1, "fn a() {}"), (3, "fn b() {}")]);
        assert_eq!(source.lines_without_tests(), 3);
    }
}
