//! Exit codes: 0 done, 1 the numbers are not valid or --fail-if failed, 2 usage, 3 input or target unusable.

use std::process::ExitCode;

/// How a subcommand ended, other than by an error of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// All is well.
    Valid,
    /// It ran, and its numbers must not be used; the report says why.
    Invalid,
    /// A condition of `--fail-if` failed.
    Failed,
}

/// What the user asked for makes no sense; the message says what would.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code of a subcommand; tells errors on standard error.
pub(crate) fn code(result: anyhow::Result<Done>) -> ExitCode {
    match result {
        Ok(Done::Valid) => ExitCode::SUCCESS,
        Ok(Done::Invalid | Done::Failed) => ExitCode::from(1),
        // Somebody closed the pipe (`| head`): that is no failure of ours, and nobody is there to be told.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Names of files may hold anything; what acts in a terminal is shown as an escape.
            let text = plimsoll_report::safe::for_terminal(&format!("{error:#}")).into_owned();
            anstream::eprintln!("plimsoll: {text}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 3 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
