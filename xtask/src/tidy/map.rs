//! The tree tells the story: the map names every crate, and no module is named for nothing.

use crate::workspace::Package;

use super::source::Source;

const MAP: &str = "ARCHITECTURE.md";
/// Names that do not describe the content.
const VAGUE: [&str; 9] = ["util", "utils", "common", "helper", "helpers", "manager", "misc", "stuff", "shared"];

/// Crates that the map does not show, as `name/`.
pub(crate) fn missing_crates(packages: &[Package], sources: &[Source]) -> Vec<String> {
    let map = sources.iter().find(|source| source.path == MAP).map_or("", |source| source.text.as_str());
    let missing =
        packages.iter().map(|package| folder(&package.name)).filter(|folder| !map.contains(&format!("{folder}/")));
    missing.map(|folder| format!("{MAP}: the map does not show {folder}/")).collect()
}

/// The folder of a crate, of which the command alone has another name: `cargo install plimsoll`.
fn folder(package: &str) -> &str {
    if package == "plimsoll" { "cli" } else { package.strip_prefix("plimsoll-").unwrap_or(package) }
}

/// Modules with names that say nothing.
pub(crate) fn vague_names(sources: &[Source]) -> Vec<String> {
    let vague = sources.iter().filter(|source| source.is_rust() && source.path.split('/').any(is_vague));
    vague.map(|source| format!("{}: name it for what it produces", source.path)).collect()
}

fn is_vague(part: &str) -> bool {
    VAGUE.contains(&part.strip_suffix(".rs").unwrap_or(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_the_map_lacks_is_told() {
        let packages = ["plimsoll-wire", "plimsoll-stats", "xtask"]
            .map(|name| Package { name: name.to_owned(), ..Package::default() });
        let map = Source::new(MAP, "crates/\n  wire/  bytes\nxtask/\n");
        assert_eq!(missing_crates(&packages, &[map]), ["ARCHITECTURE.md: the map does not show stats/"]);
        assert_eq!(missing_crates(&packages, &[]).len(), 3);
    }

    #[test]
    fn vague_names_are_seen() {
        let names = ["src/utils.rs", "src/common/a.rs", "src/resource_manager.rs", "src/segment.rs"];
        let sources = names.map(|name| Source::new(name, ""));
        assert_eq!(vague_names(&sources).len(), 2);
    }
}
