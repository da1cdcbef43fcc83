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

/// Runs the targets named, or all.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = Wanted::parse(arguments)?;
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
        command.arg(format!("-max_total_time={}", wanted.seconds));
        command.args([format!("-rss_limit_mb={MEMORY_MIB}"), format!("-timeout={INPUT_SECONDS}")]);
        process::run(&mut command)?;
    }
    println!("{} targets, {} s each: nothing found", chosen.len(), wanted.seconds);
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    seconds: u64,
    targets: Vec<String>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Wanted { seconds: DEFAULT_SECONDS, targets: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--seconds" {
                let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&seconds| seconds > 0);
                wanted.seconds = number.ok_or("--seconds wants a number of seconds above 0")?;
            } else if argument.starts_with('-') {
                return Err(format!("no flag {argument:?}; there is --seconds N"));
            } else {
                wanted.targets.push(argument.clone());
            }
        }
        Ok(wanted)
    }
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

    fn parse(arguments: &[&str]) -> Result<Wanted, String> {
        Wanted::parse(&arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_seconds_and_targets() {
        assert_eq!(parse(&[]), Ok(Wanted { seconds: 60, targets: Vec::new() }));
        let one = Wanted { seconds: 600, targets: vec!["capture".to_owned()] };
        assert_eq!(parse(&["--seconds", "600", "capture"]), Ok(one));
        for bad in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["--second", "1"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
