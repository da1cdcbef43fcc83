//! The licences of every crate in the program, with their texts: the licences require this for redistribution.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files;
use crate::{process, workspace};

/// How files begin that hold a licence or a notice, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
/// Libraries that the compiler adds to a static program.
const STANDARD: &str = include_str!("standard_libraries.txt");

/// A crate from a registry that is linked into the program.
#[derive(Clone, Debug)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: String,
    authors: String,
    /// SHA-256 of the crate's file in the registry.
    pub(super) checksum: String,
    folder: PathBuf,
}

/// The crates in the program, in order. Without crates that only run during the build.
pub(super) fn crates(target: &str) -> Result<Vec<Crate>, String> {
    let tree = ["tree", "--locked", "--package", "plimsoll", "--edges", "normal,no-proc-macro", "--prefix", "none"];
    let mut command = process::cargo(&tree);
    let tree = process::output(command.args(["--target", target]))?;
    let metadata = process::output(&mut process::cargo(&["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let checksums = checksums(&files::read(&workspace::root().join("Cargo.lock"))?);
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let key = (text("name"), text("version"));
        let Some(checksum) = checksums.get(&key) else { continue };
        if !tree.lines().any(|line| names(line, &key)) {
            continue;
        }
        let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let made = Crate {
            name: text("name"),
            version: text("version"),
            // Older crates write MIT/Apache-2.0.
            licence: text("license").replace('/', " OR "),
            authors: authors.collect::<Vec<_>>().join(", "),
            checksum: checksum.clone(),
            folder: Path::new(&text("manifest_path")).parent().map(Path::to_owned).unwrap_or_default(),
        };
        found.insert(key, made);
    }
    if found.is_empty() { Err("cargo tree: no crates in it".to_owned()) } else { Ok(found.into_values().collect()) }
}

/// Whether a line of `cargo tree` is of this crate: `flate2 v1.1.10 (*)`.
fn names(line: &str, (name, version): &(String, String)) -> bool {
    let mut words = line.split(' ');
    words.next() == Some(name) && words.next().and_then(|word| word.strip_prefix('v')) == Some(version)
}

/// Checksums in a lock file, by name and version. Crates of the workspace have none.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let field = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line?.strip_suffix('"').map(str::to_owned)
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    packages.collect()
}

/// All crates with their licences, and each text once with the crates that it is of.
pub(super) fn text(crates: &[Crate]) -> Result<String, String> {
    let mut text =
        "The program plimsoll contains the crates below, besides its own code. Their licences follow.\n".to_owned();
    text.push_str("Charts in HTML reports are drawn by Apache ECharts: ECHARTS.txt.\n\n");
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for it in crates {
        let name = format!("{} {}", it.name, it.version);
        text.push_str(&format!("{name}: {}\n", it.licence));
        let texts = licence_texts(&it.folder)?;
        if texts.is_empty() {
            // Its manifest is then all that is known.
            let authors = if it.authors.is_empty() { "not named" } else { &it.authors };
            let said = format!("{}\nAuthors: {authors}\n", it.licence);
            by_text.entry(format!("No text in the crate; its manifest says:\n{said}")).or_default().push(name.clone());
        }
        texts.into_iter().for_each(|text| by_text.entry(text).or_default().push(name.clone()));
    }
    let line = "=".repeat(80);
    for (licence, names) in by_text {
        text.push_str(&format!("\n{line}\n{}\n{line}\n{licence}", names.join(", ")));
    }
    text.push_str(&format!("\n{line}\n{STANDARD}"));
    Ok(text)
}

/// Texts of the files in a crate's folder that are named as licences are.
fn licence_texts(folder: &Path) -> Result<Vec<String>, String> {
    let is_licence = |name: &String| NAMES.iter().any(|known| name.to_uppercase().starts_with(known));
    let files = files::names(folder)?.into_iter().filter(is_licence).map(|name| folder.join(name));
    let texts = files.filter(|file| file.is_file()).map(|file| {
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        // Line ends and space around differ between copies of the same text.
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        Ok(format!("{}\n", text.trim_matches('\n')))
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_names_a_crate_and_a_version() {
        let key = ("flate2".to_owned(), "1.1.10".to_owned());
        assert!(names("flate2 v1.1.10", &key) && names("flate2 v1.1.10 (*)", &key));
        assert!(!names("flate2 v1.1.1", &key) && !names("flate v1.1.10", &key));
    }

    #[test]
    fn crates_of_a_registry_have_checksums() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"0a\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "0a");
    }
}
