//! `cargo xtask bench`: every bench of every crate.

use crate::{Outcome, process, workspace};

/// Builds the release binary and runs every bench; arguments go to the bench programs.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    process::run(&mut process::cargo(&["build", "--release", "--workspace"]))?;
    for package in workspace::packages()? {
        // By name: unit tests would otherwise run as benches too and refuse the arguments.
        for bench in &package.benches {
            let mut command = process::cargo(&["bench", "--package", &package.name, "--bench", bench]);
            if !arguments.is_empty() {
                command.arg("--").args(arguments);
            }
            process::run(&mut command)?;
        }
    }
    Ok(())
}
