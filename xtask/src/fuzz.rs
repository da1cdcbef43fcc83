//! `cargo xtask fuzz`: runs the targets in `fuzz/fuzz_targets`.
//!
//! Without a sanitizer (`-s none`), for sanitizers need a nightly compiler and our code has next to no `unsafe`:
//! what is sought are panics, overflows, endless loops and memory without bound.

use std::path::Path;

use crate::{Outcome, process, workspace};

/// Seconds for a target where none are asked for.
const DEFAULT_SECONDS: u64 = 60;
/// Memory at which libFuzzer calls an input a failure, MiB: our limits keep well below.
const MEMORY_MIB: u32 = 512;
/// Seconds on one input after which libFuzzer calls it a failure.
const INPUT_SECONDS: u32 = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Targets to fuzz [default: all]
    targets: Vec<String>,
    /// Seconds per target [default: 60; with --runs: no limit]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Executions per target
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Maximum input length in bytes [default: the longest input of the corpus, at least 4096]; short inputs run faster
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    max_len: Option<u32>,
    /// Seed of libFuzzer's mutations [default: a different one each time]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seed: Option<u32>,
}

impl Arguments {
    /// Where libFuzzer stops, as its own arguments.
    fn limits(&self) -> Vec<String> {
        let seconds = self.seconds.or_else(|| self.runs.is_none().then_some(DEFAULT_SECONDS));
        let runs = self.runs.map(|runs| format!("-runs={runs}"));
        let max_len = self.max_len.map(|bytes| format!("-max_len={bytes}"));
        let seed = self.seed.map(|seed| format!("-seed={seed}"));
        let seconds = seconds.map(|seconds| format!("-max_total_time={seconds}"));
        [seconds, runs, max_len, seed].into_iter().flatten().collect()
    }
}

/// Runs the targets named, or all.
pub(crate) fn run(wanted: Arguments) -> Outcome {
    let limits = wanted.limits();
    let targets = targets(&workspace::root().join("fuzz/fuzz_targets"))?;
    if let Some(unknown) = wanted.targets.iter().find(|name| !targets.contains(name)) {
        return Err(format!("no fuzz target {unknown:?}; there are: {}", targets.join(", ")));
    }
    if process::find("cargo-fuzz").is_none() {
        return Err("cargo-fuzz is missing; install it with `cargo install --locked cargo-fuzz`".to_owned());
    }
    let chosen = if wanted.targets.is_empty() { targets } else { wanted.targets };
    for target in &chosen {
        let mut command = process::cargo(&["fuzz", "run", "--sanitizer", "none", target, "--"]);
        command.args(&limits);
        command.args([format!("-rss_limit_mb={MEMORY_MIB}"), format!("-timeout={INPUT_SECONDS}")]);
        process::run(&mut command)?;
    }
    println!("{} targets, each with {}: nothing found", chosen.len(), limits.join(" "));
    Ok(())
}

fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        crate::parsed(&format!("fuzz {line}"))
    }

    #[test]
    fn what_was_asked_for_goes_to_libfuzzer() {
        let limits = |line: &str| parse(line).unwrap().limits().join(" ");
        assert_eq!(limits("capture"), "-max_total_time=60");
        assert_eq!(limits("--seconds 600"), "-max_total_time=600");
        assert_eq!(limits("--runs 10000000 --seed 7"), "-runs=10000000 -seed=7");
        assert_eq!(limits("--runs 9 --max-len 256"), "-runs=9 -max_len=256");
        assert_eq!(limits("--runs 5 --seconds 9 capture nfs"), "-max_total_time=9 -runs=5");
        assert_eq!(parse("--runs 5 capture nfs").unwrap().targets, ["capture", "nfs"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad = "--seconds, --seconds 0, --seconds x, --second 1, --runs 0, --runs -1, --max-len 0, --seed 0";
        for bad in bad.split(", ") {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
