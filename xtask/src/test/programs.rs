//! Test programs: built by cargo, run by us, so that several run at a time.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Arguments;
use crate::{Outcome, process, setup};

/// A test program that cargo has built.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) package: String,
    /// The library, program or integration test that it is of.
    pub(super) target: String,
    /// The package's folder: tests run there.
    pub(super) folder: PathBuf,
    pub(super) path: PathBuf,
}

impl Program {
    /// Whether it is the integration tests of a package.
    pub(super) fn is_all_of(&self, package: &str) -> bool {
        self.package == package && self.target == "all"
    }
}

/// Builds the requested tests with cargo.
pub(super) fn build(arguments: &Arguments) -> Result<Vec<Program>, String> {
    let mut command = process::cargo(&["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    if arguments.packages.is_empty() {
        command.arg("--workspace");
    }
    let named = [("--package", &arguments.packages), ("--features", &arguments.features), ("--test", &arguments.tests)];
    command.args(named.iter().flat_map(|(flag, values)| values.iter().flat_map(move |value| [*flag, value.as_str()])));
    command.args(arguments.lib.then_some("--lib")).args(arguments.release.then_some("--release"));
    process::show(&command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo test: {error}"))?;
    let mut programs = Vec::new();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
        let line = line.map_err(|error| format!("cargo test: {error}"))?;
        programs.extend(program(&line));
    }
    let status = child.wait().map_err(|error| format!("cargo test: {error}"))?;
    if status.success() { Ok(programs) } else { Err(format!("cargo test --no-run: {status}")) }
}

/// The test program that a message of cargo's announces.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let is_test = message.pointer("/profile/test") == Some(&Value::Bool(true));
    let folder = Path::new(text("/manifest_path")?).parent()?;
    // `path+file:///FOLDER#NAME@VERSION`, without the name where it is the folder's.
    let (_, named) = text("/package_id")?.rsplit_once('#')?;
    let folder_name = folder.file_name()?.to_string_lossy();
    let package = named.split_once('@').map_or(folder_name.as_ref(), |(name, _)| name).to_owned();
    Some(Program {
        package,
        target: text("/target/name")?.to_owned(),
        folder: folder.to_owned(),
        path: text("/executable").filter(|_| is_test)?.into(),
    })
}

/// A test program with its arguments.
#[derive(Debug)]
pub(super) struct Job {
    program: Program,
    pub(super) arguments: Vec<String>,
    more: Vec<String>,
}

/// The line with which a test program ends.
const RESULT: &str = "test result: ";

/// How a job ended.
pub(super) struct Ended {
    pub(super) said: String,
    took: Duration,
    pub(super) outcome: Outcome,
}

impl Ended {
    /// Its output, under its name.
    pub(super) fn shown(&self, job: &Job) -> String {
        format!("\n== {job} ({:.1} s)\n{}", self.took.as_secs_f64(), self.said.trim_end())
    }

    /// Whether all its tests ended.
    pub(super) fn has_result(&self) -> bool {
        self.said.contains(RESULT)
    }
}

impl Job {
    /// Arguments that select tests, and the user's additional ones.
    pub(super) fn new(program: &Program, arguments: Vec<&str>, more: &[String]) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { program: program.clone(), arguments, more: more.to_vec() }
    }

    /// One of its tests, alone.
    pub(super) fn alone(&self, test: &str) -> Self {
        Self::new(&self.program, vec![test, "--exact"], &self.more)
    }

    pub(super) fn run(&self) -> Ended {
        let begun = Instant::now();
        let (said, outcome) = match self.command().output() {
            Ok(output) => {
                let said =
                    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
                let outcome = match output.status {
                    status if !status.success() => Err(status.to_string()),
                    // Whatever ends a program early with success has not run its tests.
                    _ if !said.contains(RESULT) => Err("ended without a result".to_owned()),
                    _ => Ok(()),
                };
                (said, outcome)
            }
            Err(error) => (String::new(), Err(error.to_string())),
        };
        Ended { said, took: begun.elapsed(), outcome }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program.path);
        // Output of tests that passed holds the reasons of those that skipped.
        command.args(&self.arguments).args(&self.more).arg("--show-output");
        command.current_dir(&self.program.folder).env("CARGO_MANIFEST_DIR", &self.program.folder).stdin(Stdio::null());
        if let Some(python) = setup::python() {
            command.env("PLIMSOLL_PYTHON", python);
        }
        if super::in_ci() {
            // Tests fail rather than skip where the machine could have run them.
            command.env("PLIMSOLL_CI", "1");
        }
        command
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program.package, self.program.target)?;
        self.arguments.iter().chain(&self.more).try_for_each(|argument| write!(f, " {argument}"))
    }
}

#[cfg(test)]
impl Program {
    /// A shell as the test program.
    pub(super) fn of_shell(package: &str, target: &str) -> Self {
        let (package, target) = (package.to_owned(), target.to_owned());
        Self { package, target, folder: PathBuf::from("/"), path: PathBuf::from("/bin/sh") }
    }
}

#[cfg(test)]
impl Job {
    /// A shell that runs `line`.
    pub(super) fn of_shell(package: &str, line: &str) -> Self {
        Self::new(&Program::of_shell(package, "all"), vec!["-c", line], &[])
    }

    /// With the tests' folder.
    pub(super) fn within(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.program.folder);
        self
    }
}
