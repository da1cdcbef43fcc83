//! `cargo xtask tidy`: checks that the compiler and clippy do not make. One small function per rule, each with a test that it can fail;
//! rules are pure functions over [`Package`]s and [`Source`]s.

mod cycles;
mod decisions;
pub(crate) mod documents;
mod examples;
mod links;
mod local_names;
mod map;
mod purity;
mod sizes;
mod skips;
pub(crate) mod source;
mod spec;
mod walls;
mod words;

use crate::workspace::{self, Package};
use crate::{Outcome, tidy::source::Source};

/// Checks every rule, prints notices and problems.
pub(crate) fn run() -> Outcome {
    let files = workspace::files()?;
    let sources = source::read_all(&files)?;
    let packages = workspace::packages()?;
    for notice in sizes::notices(&sources) {
        println!("notice: {notice}");
    }
    let problems = problems(&packages, &sources, &files);
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => {
            println!("tidy: {} packages and {} files, no problem", packages.len(), sources.len());
            Ok(())
        }
        1 => Err("1 problem".to_owned()),
        count => Err(format!("{count} problems")),
    }
}

fn problems(packages: &[Package], sources: &[Source], files: &[String]) -> Vec<String> {
    let mut problems = walls::breaches(packages);
    problems.extend(walls::undeclared_paths(sources));
    problems.extend(walls::workloads_that_know_clients(sources));
    problems.extend(walls::workloads_that_know_protocols(sources));
    problems.extend(walls::renderers_that_know_statistics(sources));
    problems.extend(cycles::problems(sources));
    problems.extend(purity::breaches(sources));
    problems.extend(sizes::problems(sources));
    problems.extend(skips::problems(sources));
    problems.extend(spec::missing(sources));
    problems.extend(examples::problems(sources));
    problems.extend(local_names::problems(sources));
    problems.extend(words::problems(sources));
    problems.extend(decisions::problems(sources));
    problems.extend(documents::problems(sources));
    problems.extend(links::problems(sources, files));
    problems.extend(map::missing_crates(packages, sources));
    problems.extend(map::vague_names(sources));
    problems
}
