//! `cargo xtask pictures`: makes the pictures of the documents again, from real runs of one program.
//!
//! A test knows the commands and pages (`crates/cli/tests/all/pictures`); its own build does not matter, because it measures nothing.

use std::path::PathBuf;

use crate::bench::binary;
use crate::{Outcome, process};

/// Which pictures, and by which program.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Pictures to make, e.g. load-curve: the names of docs/screenshots without .png, or watch-terminal for the screen in docs/watch.md [default: all pictures]
    names: Vec<String>,
    /// Program that makes the load and the pages [default: a new release build]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Builds the program if none was given, and runs the test.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let program = match &arguments.program {
        Some(program) => program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?,
        None => binary::plimsoll()?,
    };
    let names = if arguments.names.is_empty() { "all".to_owned() } else { arguments.names.join(",") };
    let mut test = process::cargo(&["test", "--workspace", "--test", "all"]);
    test.args(["pictures::", "--", "--nocapture", "--test-threads=1"]);
    process::run(test.env("PLIMSOLL_BINARY", program).env("PLIMSOLL_PICTURES", names))
}
