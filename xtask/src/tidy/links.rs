//! Links and paths in documents lead to files, folders and headings that exist.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// Folders of the tree whose paths documents name.
const FOLDERS: [&str; 9] =
    ["benches/", "captures/", "crates/", "docs/", "fuzz/", "mpi/", "queries/", "schemas/", "xtask/"];

/// Links and paths that lead nowhere; `files` are all files of the tree.
pub(crate) fn problems(sources: &[Source], files: &[String]) -> Vec<String> {
    let tree = tree(files);
    let documents: Vec<&Source> = sources.iter().filter(|source| source.path.ends_with(".md")).collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        documents.iter().map(|source| (source.path.as_str(), anchors(&source.text))).collect();
    let mut problems = Vec::new();
    for source in documents {
        for (line, text) in outside_fences(&source.text) {
            let leads = |target: &&str| leads_somewhere(&source.path, target, &tree, &anchors);
            let links = targets(text).into_iter().filter(|target| !leads(target));
            let paths = paths(text).into_iter().filter(|path| !is_there(path, &tree));
            problems.extend(links.chain(paths).map(|target| format!("{}:{line}: no {target}", source.path)));
        }
    }
    problems
}

/// All files, and the folders that contain them.
fn tree(files: &[String]) -> BTreeSet<&str> {
    let mut tree = BTreeSet::new();
    for file in files {
        let mut path = file.as_str();
        tree.insert(path);
        while let Some((folder, _)) = path.rsplit_once('/') {
            tree.insert(folder);
            path = folder;
        }
    }
    tree
}

fn outside_fences(text: &str) -> Vec<(usize, &str)> {
    let mut is_fence = false;
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let is_mark = line.trim_start().starts_with("```");
        is_fence ^= is_mark;
        !is_mark && !is_fence
    });
    lines.map(|(i, line)| (i + 1, line)).collect()
}

/// Targets of relative links in a line.
fn targets(line: &str) -> Vec<&str> {
    let starts = line.match_indices("](").map(|(at, mark)| (at, at + mark.len()));
    // An odd number of marks before it: it is in code.
    let outside = starts.filter(|(at, _)| line[..*at].matches('`').count().is_multiple_of(2));
    let targets = outside.filter_map(|(_, from)| line[from..].split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains(':')).collect()
}

fn leads_somewhere(
    from: &str,
    target: &str,
    tree: &BTreeSet<&str>,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
) -> bool {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { from.to_owned() } else { resolved(from, path) };
    let has_anchor = |anchor: &str| anchors.get(path.as_str()).is_some_and(|all| all.contains(anchor));
    tree.contains(path.as_str()) && anchor.is_none_or(has_anchor)
}

/// A path relative to a file, from the root.
fn resolved(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of all headings: repeated ones have a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let headings = outside_fences(text).into_iter().filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then_some(heading.strip_prefix(' ')).flatten()
    });
    let anchors = headings.map(|heading| {
        let anchor = anchor(heading);
        let count = counts.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    });
    anchors.collect()
}

fn anchor(heading: &str) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    heading.trim().to_lowercase().chars().filter(is_part).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Paths from the root that a line names; patterns are not paths.
fn paths(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./*{},-".contains(c);
    let words = line.split(|c| !is_part(c)).map(|word| word.trim_end_matches(['.', ',', '-', '/']));
    words
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '{', '}']))
        .collect()
}

/// Whether it is a file, a folder, or a module without the ending.
fn is_there(path: &str, tree: &BTreeSet<&str>) -> bool {
    tree.contains(path) || tree.contains(format!("{path}.rs").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let files = ["docs/page.md", "docs/images/a.png", "MEASUREMENT.md", "crates/stats/src/curve.rs"];
        let sources = [
            Source::new("docs/page.md", page),
            Source::new("MEASUREMENT.md", "# Numbers\n\n## The server's side\n\n## Pairs\n## Pairs\n"),
        ];
        problems(&sources, &files.map(str::to_owned))
    }

    #[test]
    fn links_to_files_folders_and_headings_lead_somewhere() {
        let page = "# A page\n[a](#a-page) [b](images/a.png) [c](images) [d](../MEASUREMENT.md#the-servers-side)\n\
                    [e](../MEASUREMENT.md#pairs-1) [f](https://example.org/x) `[g](h)`\n```sh\n[i](j)\n```\n";
        assert_eq!(found(page), [""; 0]);
    }

    #[test]
    fn broken_links_and_paths_are_found() {
        for (text, target) in [
            ("[a](other.md)", "other.md"),
            ("[a](#none)", "#none"),
            ("[a](../MEASUREMENT.md#pairs-2)", "../MEASUREMENT.md#pairs-2"),
            ("see `crates/stats/src/line.rs`.", "crates/stats/src/line.rs"),
        ] {
            assert_eq!(found(&format!("\n{text}\n")), [format!("docs/page.md:2: no {target}")]);
        }
        assert_eq!(found("crates/stats/src/curve, crates/*/tests, crates/stats, $HOME/docs/x"), [""; 0]);
    }
}
