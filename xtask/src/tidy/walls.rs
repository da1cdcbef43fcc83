//! Allowed dependencies between crates, as one table.

use crate::workspace::Package;

use super::source::Source;

/// A crate and the dependencies that its manifest may name.
struct Wall {
    name: &'static str,
    /// Crates of the workspace.
    inside: &'static [&'static str],
    outside: Outside,
}

/// Crates from elsewhere.
enum Outside {
    Any,
    Only(&'static [&'static str]),
}

const MODEL: &str = "plimsoll-model";
const WIRE: &str = "plimsoll-wire";
const OBSERVE: &str = "plimsoll-observe";
const CLIENT: &str = "plimsoll-client";
const WORKLOAD: &str = "plimsoll-workload";
const DRIVE: &str = "plimsoll-drive";
const STATS: &str = "plimsoll-stats";
const RECORDING: &str = "plimsoll-recording";
const REPORT: &str = "plimsoll-report";
const CONSOLE: &str = "plimsoll-console";
const LIVE: &str = "plimsoll-live";
const RESULTS: &str = "plimsoll-results";
const SERVE: &str = "plimsoll-serve";
const ANALYSIS: &str = "plimsoll-analysis";
const EXPERIMENT: &str = "plimsoll-experiment";
const LAUNCH: &str = "plimsoll-launch";
const MUSL: &str = "plimsoll-musl";
const TESTKIT: &str = "plimsoll-testkit";
const CLI: &str = "plimsoll";

/// The two halves never depend on each other: observe on one side; client, workload and drive on the other. A client does not depend on
/// its driver; drive uses only the distribution of its own lags from stats; wire has no external dependencies, and model only serde and a
/// table of names.
const WALLS: [Wall; 20] = [
    Wall { name: MODEL, inside: &[], outside: Outside::Only(&["foldhash", "indexmap", "serde"]) },
    Wall { name: WIRE, inside: &[], outside: Outside::Only(&[]) },
    Wall { name: OBSERVE, inside: &[MODEL, WIRE], outside: Outside::Any },
    Wall { name: CLIENT, inside: &[MODEL, WIRE], outside: Outside::Any },
    Wall { name: WORKLOAD, inside: &[MODEL, WIRE, CLIENT], outside: Outside::Any },
    Wall { name: DRIVE, inside: &[MODEL, WIRE, CLIENT, WORKLOAD, STATS], outside: Outside::Any },
    Wall { name: STATS, inside: &[MODEL], outside: Outside::Only(&["foldhash", "hdrhistogram", "serde", "statrs"]) },
    Wall { name: RECORDING, inside: &[MODEL, STATS], outside: Outside::Any },
    Wall { name: REPORT, inside: &[MODEL, STATS], outside: Outside::Any },
    Wall { name: SERVE, inside: &[WIRE], outside: Outside::Any },
    Wall { name: TESTKIT, inside: &[MODEL, WIRE], outside: Outside::Any },
    Wall { name: MUSL, inside: &[], outside: Outside::Only(&[]) },
    Wall { name: LAUNCH, inside: &[], outside: Outside::Only(&[]) },
    // No arguments and no terminal: those are the command's.
    Wall {
        name: RESULTS,
        inside: &[MODEL, STATS, RECORDING, REPORT],
        outside: Outside::Only(&["anyhow", "serde", "serde_json", "toml"]),
    },
    Wall {
        name: EXPERIMENT,
        inside: &[MODEL, CLIENT, WORKLOAD, DRIVE, STATS, RECORDING, REPORT, RESULTS, SERVE],
        outside: Outside::Only(&["anyhow", "humantime", "procfs", "rustix", "serde", "serde_json", "ureq"]),
    },
    // What `experiment` is for the other half: no arguments and no text on the terminal.
    Wall {
        name: ANALYSIS,
        inside: &[MODEL, OBSERVE, STATS, RECORDING, REPORT, RESULTS, CONSOLE],
        outside: Outside::Only(&["anyhow", "humantime", "postcard", "serde", "zstd"]),
    },
    // The process's own streams, files and signals, which other crates do not use.
    Wall { name: CONSOLE, inside: &[], outside: Outside::Any },
    Wall {
        name: LIVE,
        inside: &[
            MODEL, OBSERVE, CLIENT, WORKLOAD, DRIVE, STATS, RECORDING, REPORT, RESULTS, ANALYSIS, EXPERIMENT, CONSOLE,
        ],
        outside: Outside::Only(&["anyhow", "httparse", "indicatif", "rustix", "serde_json", "terminal_size"]),
    },
    Wall {
        name: CLI,
        inside: &[
            MODEL, OBSERVE, CLIENT, WORKLOAD, DRIVE, EXPERIMENT, STATS, RECORDING, REPORT, RESULTS, SERVE, CONSOLE,
            LIVE, ANALYSIS, MUSL,
        ],
        outside: Outside::Any,
    },
    Wall { name: "xtask", inside: &[], outside: Outside::Only(&["clap", "libc", "memmap2", "serde_json", "spdx"]) },
];

/// Heavy crates live in recording alone, in tests too.
const HEAVY: [&str; 2] = ["arrow", "parquet"];
/// Async runtimes live in the embedded servers alone, in tests too: nothing that is timed waits for one.
const ASYNC: [&str; 3] = ["async-std", "smol", "tokio"];

/// Dependencies that a wall forbids, and crates for which no wall stands.
pub(crate) fn breaches(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(breaches_of).collect()
}

fn breaches_of(package: &Package) -> Vec<String> {
    let Some(wall) = WALLS.iter().find(|wall| wall.name == package.name) else {
        return vec![format!("{}: no wall says what it may depend on (xtask/src/tidy/walls.rs)", package.name)];
    };
    let forbidden = package.dependencies.iter().filter(|dependency| !wall.allows(&dependency.name, dependency.dev));
    forbidden.map(|dependency| format!("{}: may not depend on {}", package.name, dependency.name)).collect()
}

impl Wall {
    fn allows(&self, dependency: &str, dev: bool) -> bool {
        if HEAVY.iter().any(|heavy| dependency == *heavy || dependency.starts_with(&format!("{heavy}-"))) {
            return self.name == RECORDING;
        }
        if ASYNC.contains(&dependency) {
            return self.name == SERVE;
        }
        if WALLS.iter().any(|wall| wall.name == dependency) {
            return self.inside.contains(&dependency) || (dev && dependency == TESTKIT);
        }
        match self.outside {
            Outside::Any => true,
            Outside::Only(names) => dev || names.contains(&dependency),
        }
    }
}

/// Files that reach into another crate's folder behind the manifests' back.
pub(crate) fn undeclared_paths(sources: &[Source]) -> Vec<String> {
    let reaches = |line: &str| line.trim_start().starts_with("#[path") && line.contains("../../");
    let rust = sources.iter().filter(|source| source.is_rust());
    let found = rust.filter(|source| source.text.lines().any(reaches));
    found.map(|source| format!("{}: includes a module from another crate's folder", source.path)).collect()
}

/// What workloads may name of the client crate: the words for operations, never a protocol.
const OPERATION_WORDS: [&str; 10] =
    ["operation", "content", "status", "Operation", "Cause", "Done", "Failure", "FileKey", "Reply", "Tag"];

/// Lines of workloads that know more of clients than the words for operations.
pub(crate) fn workloads_that_know_clients(sources: &[Source]) -> Vec<String> {
    let workload = sources.iter().filter(|source| source.path.starts_with("crates/workload/src/"));
    let lines = workload.flat_map(|source| source.code().map(move |(number, line)| (source, number, line)));
    let known = lines.filter(|(_, _, line)| line.split("plimsoll_client::").skip(1).any(is_no_operation_word));
    known.map(|(source, number, _)| format!("{}:{number}: a workload names a client", source.path)).collect()
}

fn is_no_operation_word(rest: &str) -> bool {
    let first = |path: &str| {
        let path = path.trim();
        let end = path.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(path.len());
        path.split_at(end).0.to_owned()
    };
    let names = match rest.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap_or_default().split(',').map(first).collect(),
        None => vec![first(rest)],
    };
    names.iter().any(|name| !OPERATION_WORDS.contains(&name.as_str()))
}

/// Files of workloads that may name statuses of a protocol: those that the lines of a load file expect, and those that steps of one
/// protocol expect.
const STATUS_FILES: [&str; 2] = ["crates/workload/src/dbench/statuses.rs", "crates/workload/src/file_step.rs"];

/// Lines of workloads, in other files, that name messages or statuses of a protocol.
pub(crate) fn workloads_that_know_protocols(sources: &[Source]) -> Vec<String> {
    let is_checked = |path: &str| path.starts_with("crates/workload/src/") && !STATUS_FILES.contains(&path);
    let found = lines_that_name(sources, is_checked, &["plimsoll_wire"]);
    found.map(|place| format!("{place}: a workload names a protocol")).collect()
}

/// Modules of the report that render.
const RENDERERS: [&str; 4] = ["html", "json", "tables", "text"];

/// Lines of renderers that name statistics or transactions instead of findings.
pub(crate) fn renderers_that_know_statistics(sources: &[Source]) -> Vec<String> {
    let renders = |path: &str| {
        let module = path.strip_prefix("crates/report/src/").and_then(|path| path.split(['/', '.']).next());
        module.is_some_and(|module| RENDERERS.contains(&module))
    };
    let found = lines_that_name(sources, renders, &["plimsoll_stats", "plimsoll_model"]);
    found.map(|place| format!("{place}: a renderer uses other types than findings")).collect()
}

/// Places in these files, outside tests, that name one of these crates.
fn lines_that_name(
    sources: &[Source],
    is_checked: impl Fn(&str) -> bool,
    crates: &[&str],
) -> impl Iterator<Item = String> {
    let files = sources.iter().filter(move |source| is_checked(&source.path));
    let lines = files.flat_map(|source| source.code().map(move |(number, line)| (source, number, line)));
    let found = lines.filter(move |(_, _, line)| crates.iter().any(|name| line.contains(name)));
    found.map(|(source, number, _)| format!("{}:{number}", source.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn breaks(name: &str, dependency: &str, dev: bool) -> bool {
        let dependencies = vec![Dependency { name: dependency.to_owned(), dev }];
        !breaches(&[Package { name: name.to_owned(), dependencies, benches: Vec::new() }]).is_empty()
    }

    #[test]
    fn the_halves_never_import_each_other() {
        for dev in [false, true] {
            for active in [CLIENT, WORKLOAD, DRIVE] {
                assert!(breaks(OBSERVE, active, dev));
                assert!(breaks(active, OBSERVE, dev));
            }
        }
        assert!(!breaks(CLI, OBSERVE, false) && !breaks(CLI, DRIVE, false));
    }

    #[test]
    fn a_client_knows_neither_engine_nor_workload() {
        for dev in [false, true] {
            assert!(breaks(CLIENT, WORKLOAD, dev) && breaks(CLIENT, DRIVE, dev) && breaks(WORKLOAD, DRIVE, dev));
        }
        assert!(!breaks(WORKLOAD, CLIENT, false) && !breaks(DRIVE, CLIENT, false) && !breaks(DRIVE, WORKLOAD, false));
    }

    #[test]
    fn a_workload_knows_the_words_for_operations_alone() {
        let knows = |path: &str, line: &str| !workloads_that_know_clients(&[Source::new(path, line)]).is_empty();
        for line in ["use plimsoll_client::smb2::SmbClient;", "use plimsoll_client::{Operation, Client};"] {
            assert!(knows("crates/workload/src/script_runner.rs", line), "{line}");
            assert!(
                !knows("crates/workload/src/dbench/tests.rs", line) && !knows("crates/drive/src/a.rs", line),
                "{line}"
            );
        }
        assert!(!knows("crates/workload/src/script_runner.rs", "use plimsoll_client::operation::{Operation, Cause};"));
        assert!(!knows(
            "crates/workload/src/script_runner.rs",
            "let close = plimsoll_client::Operation::Close { file };"
        ));
    }

    #[test]
    fn a_workload_names_statuses_in_two_files_alone() {
        let line = "use plimsoll_wire::smb2::status::STATUS_NOT_FOUND;";
        let names = |path: &str| !workloads_that_know_protocols(&[Source::new(path, line)]).is_empty();
        assert!(names("crates/workload/src/script_runner.rs") && names("crates/workload/src/dbench/line.rs"));
        assert!(!names("crates/workload/src/file_step.rs") && !names("crates/workload/src/dbench/statuses.rs"));
        assert!(!names("crates/workload/src/dbench/tests.rs") && !names("crates/client/src/status.rs"));
    }

    #[test]
    fn renderers_see_findings_alone() {
        let line = "use plimsoll_stats::curve::Law;";
        let knows = |path: &str| {
            let source = Source::new(&format!("crates/report/src/{path}"), line);
            !renderers_that_know_statistics(&[source]).is_empty()
        };
        for path in ["html.rs", "html/curves.rs", "json/captured.rs", "tables/slots.rs", "text/run.rs"] {
            assert!(knows(path), "{path}");
        }
        for path in ["findings/curve.rs", "collect.rs", "live/table.rs", "text/screen/tests.rs"] {
            assert!(!knows(path), "{path}");
        }
    }

    #[test]
    fn model_and_wire_stand_alone() {
        assert!(
            breaks(MODEL, "log", false)
                && breaks(WIRE, "serde", false)
                && breaks(WIRE, "log", false)
                && breaks(WIRE, MODEL, false)
        );
        assert!(!breaks(WIRE, "proptest", true), "what tests use is theirs");
    }

    #[test]
    fn stats_and_report_see_no_traffic() {
        assert!(breaks(STATS, WIRE, false) && breaks(STATS, "serde_json", false) && breaks(REPORT, OBSERVE, false));
        assert!(!breaks(STATS, "hdrhistogram", false) && !breaks(REPORT, STATS, false));
    }

    #[test]
    fn parquet_and_arrow_live_in_recording_alone() {
        assert!(breaks(CLI, "parquet", false) && breaks(STATS, "arrow-array", true));
        assert!(!breaks(RECORDING, "parquet", false));
    }

    #[test]
    fn experiments_see_neither_captures_nor_a_terminal() {
        assert!(["clap", "indicatif", "anstream", OBSERVE].iter().all(|name| breaks(EXPERIMENT, name, false)));
        assert!(
            !breaks(EXPERIMENT, DRIVE, false) && !breaks(CLI, EXPERIMENT, false) && breaks(DRIVE, EXPERIMENT, false)
        );
    }

    #[test]
    fn async_runtimes_live_in_the_servers_alone() {
        assert!(breaks(DRIVE, "tokio", false) && breaks(CLI, "tokio", true));
        assert!(!breaks(SERVE, "tokio", false));
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert!(breaks(CLI, TESTKIT, false));
        assert!(!breaks(CLI, TESTKIT, true));
    }

    #[test]
    fn a_crate_without_a_wall_is_told() {
        assert!(breaks("plimsoll-extra", "serde", false));
    }

    #[test]
    fn a_module_from_another_crate_is_seen() {
        let reach = Source::new("crates/stats/src/lib.rs", "#[path = \"../../wire/src/lib.rs\"]\nmod wire;\n");
        assert_eq!(undeclared_paths(&[reach]).len(), 1);
        let near = Source::new("crates/stats/tests/a.rs", "#[path = \"table/samples.rs\"]\nmod samples;\n");
        assert!(undeclared_paths(&[near]).is_empty());
    }
}
