//! Inside a crate, imports go in one direction: a cycle has three files at most.
//!
//! A file uses the file that defines a name, whichever modules pass the name on. Counted are paths,
//! of `use` and in code. A module that only declares its children, or passes their names on, does not use them. Calls of
//! methods have no path and do not count.

mod file;
mod graph;
mod resolve;
mod tokens;

use std::collections::BTreeMap;

use super::source::Source;

/// Maximum number of files in a cycle: a type, its parts and its constructor.
const MOST: usize = 3;

/// Cycles of too many files.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust() && !source.test) {
        if let Some((folder, _)) = source.path.split_once("src/") {
            crates.entry(folder).or_default().push(source);
        }
    }
    let mut problems = Vec::new();
    for (folder, files) in crates {
        let uses = resolve::uses(folder, &files);
        let long = graph::cycles(&uses).into_iter().filter(|cycle| cycle.len() > MOST);
        problems.extend(long.map(|cycle| problem(folder, &cycle, &uses)));
    }
    problems
}

/// The cycle's files, each with those that it uses.
fn problem(folder: &str, cycle: &[&str], uses: &resolve::Uses) -> String {
    let short = |path: &str| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let mut lines = vec![format!("{folder}: {} files import each other, expected at most {MOST}:", cycle.len())];
    for file in cycle {
        let used = uses.get(*file).into_iter().flatten().filter(|used| cycle.contains(&used.as_str()));
        let used: Vec<String> = used.map(|path| short(path)).collect();
        lines.push(format!("    {} uses {}", short(file), used.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(name, text)| Source::new(&format!("crates/x/src/{name}.rs"), text)).collect();
        problems(&sources)
    }

    const CHAIN: [(&str, &str); 4] = [
        ("lib", "mod a;\nmod b;\nmod c;\nuse a::A;\nstruct L(A);\n"),
        ("a", "pub struct A(crate::b::B);\n"),
        ("b", "use super::c::{self};\npub struct B(c::C);\n"),
        ("c", "pub struct C;\n"),
    ];

    fn with_c(text: &'static str) -> Vec<(&'static str, &'static str)> {
        CHAIN.into_iter().map(|(name, other)| (name, if name == "c" { text } else { other })).collect()
    }

    #[test]
    fn a_cycle_of_four_files_is_found_and_one_of_three_is_allowed() {
        assert!(check(&CHAIN).is_empty());
        assert!(check(&with_c("use crate::a::A;\npub struct C(Box<A>);\n")).is_empty());
        let found = check(&with_c("pub struct C(Box<crate::L>);\n"));
        assert_eq!(found.len(), 1);
        for line in ["4 files", "src/lib.rs uses src/a.rs", "src/b.rs uses src/c.rs", "src/c.rs uses src/lib.rs"] {
            assert!(found[0].contains(line), "{}", found[0]);
        }
    }

    #[test]
    fn a_name_that_another_module_passes_on_is_its_own_file_s() {
        let mut files = with_c("use crate::A as Other;\npub struct C(Box<Other>);\n");
        files[0].1 = "mod a;\nmod b;\nmod c;\npub use a::A;\n";
        assert!(check(&files).is_empty(), "of a, b and c: lib.rs passes on");
        files.push(("d", "pub struct D(super::A);\n"));
        files[3].1 = "use crate::d::D;\npub struct C(Box<D>);\n";
        files[0].1 = "mod a;\nmod b;\nmod c;\nmod d;\npub use a::*;\n";
        let found = check(&files);
        assert!(found.len() == 1 && found[0].contains("src/d.rs uses src/a.rs"), "{found:?}");
    }

    #[test]
    fn crates_and_tests_stand_alone() {
        let mut files = with_c("#[cfg(test)]\nmod tests { use crate::L; }\npub struct C;\n");
        files.push(("tests", "use crate::L;\n"));
        assert!(check(&files).is_empty());
    }
}
