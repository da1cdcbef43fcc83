//! Exit codes: 0 done, 1 a condition is not kept, 2 usage, 3 input or target unusable, 4 no verdict.

use std::io::Write;
use std::process::ExitCode;

use plimsoll_model::Validity;
use plimsoll_observe::capture::CaptureError;
pub(crate) use plimsoll_results::{Interrupted, Usage, first_reason};

use crate::shell;
use plimsoll_console::output_file::Refused;
use plimsoll_console::secrecy::{given, without_passwords};
use plimsoll_console::system_error::in_words;

/// The end of a subcommand, except by an error of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The command did its work.
    Normally,
    /// A condition of `--fail-if` failed, or the server missed an objective; says which, and why.
    Failed(String),
    /// It ran, but no verdict follows, because the numbers must not be used: why.
    NoVerdict(String),
    /// No condition failed, but one is undecided.
    Undecided {
        /// The exit code: [`NO_VERDICT`] unless `--exit-undecided` names another.
        code: u8,
        /// Which, and why.
        why: String,
    },
}

/// Exit code without a verdict: the numbers must not be used, or there are none.
pub(crate) const NO_VERDICT: u8 = 4;

impl Done {
    /// How a subcommand ends whose numbers have this verdict. A report that was printed begins with the reasons: they are not
    /// repeated below it.
    pub(crate) fn with(validity: &Validity, printed: bool) -> Self {
        match (validity.valid, printed) {
            (true, _) => Done::Normally,
            (false, true) => {
                Done::NoVerdict("the numbers are INVALID; the reasons are at the top of the report".to_owned())
            }
            (false, false) => Done::NoVerdict(format!("the numbers are INVALID: {}", first_reason(&validity.reasons))),
        }
    }
}

/// The exit code of a subcommand. Any but 0 has its reason in one line on standard error, with `--quiet` as well.
pub(crate) fn code(result: anyhow::Result<Done>) -> ExitCode {
    match result {
        Ok(Done::Normally) => ExitCode::SUCCESS,
        Ok(Done::Failed(why)) => because(&why, 1),
        Ok(Done::NoVerdict(why)) => because(&why, NO_VERDICT),
        Ok(Done::Undecided { code, why }) => because(&why, code),
        // The same if the output is only information (`plimsoll workloads list | head`).
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&error);
            ExitCode::from(match () {
                () if error.is::<Usage>() || error.is::<Refused>() => 2,
                () if error.downcast_ref().is_some_and(CaptureError::is_given_twice) => 2,
                () if error.is::<Interrupted>() => NO_VERDICT,
                () => 3,
            })
        }
    }
}

fn because(why: &str, code: u8) -> ExitCode {
    say(why);
    ExitCode::from(code)
}

fn tell(error: &anyhow::Error) {
    say(&whole(error));
}

fn say(text: &str) {
    let text = in_words(&without_passwords(text));
    // Names of files may hold anything; what acts in a terminal is shown as an escape.
    shell::note(&format!("plimsoll: {}", plimsoll_report::safe::for_terminal(&text)));
}

/// An error with its causes. Repeated texts are left out, because some errors already quote their cause.
pub(crate) fn whole(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said.as_str() {
        "" => cause,
        so_far if so_far.contains(&cause) => said,
        _ => format!("{said}: {cause}"),
    })
}

/// Returns the first of several errors; prints the others at once.
pub(crate) fn first_error(results: impl IntoIterator<Item = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut errors = results.into_iter().filter_map(Result::err);
    let Some(first) = errors.next() else { return Ok(()) };
    errors.for_each(|error| tell(&error));
    Err(first)
}

/// Result of writing to standard output. A closed pipe (`| head`) is a success; the verdict stays the same.
pub(crate) fn unless_closed(written: anyhow::Result<()>) -> anyhow::Result<()> {
    written.or_else(|error| match is_broken_pipe(&error) {
        true => Ok(()),
        false => Err(error.context("standard output: cannot write")),
    })
}

/// Prints a usage error or the help, and returns the exit code.
pub(crate) fn no_command(error: &clap::Error) -> ExitCode {
    shell::hold_given(given());
    let text = error.render().ansi().to_string();
    let text = without_passwords(&text);
    if error.use_stderr() {
        shell::note(text.trim_end());
    } else if let Err(error) = unless_closed(write!(anstream::stdout(), "{text}").map_err(anyhow::Error::from)) {
        return code(Err(error));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let twice = Err::<(), _>(anyhow!("no such host")).context("h: no such host").context("looking").unwrap_err();
        assert_eq!(whole(&twice), "looking: h: no such host");
        assert_eq!(whole(&anyhow!("b").context("a")), "a: b");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let failed = |kind: std::io::ErrorKind| unless_closed(Err(std::io::Error::from(kind).into()));
        assert!(unless_closed(Ok(())).is_ok() && failed(std::io::ErrorKind::BrokenPipe).is_ok());
        let full = failed(std::io::ErrorKind::StorageFull).unwrap_err();
        assert!(whole(&full).starts_with("standard output: cannot write: "), "{full:#}");
    }

    #[test]
    fn invalid_numbers_end_with_their_first_reason() {
        assert_eq!(Done::with(&Validity::default(), false), Done::Normally);
        let validity = Validity::of(["One.", "Two."].map(plimsoll_model::Reason::invalid));
        let expected = "the numbers are INVALID: One. (1 more in the report)".to_owned();
        assert_eq!(Done::with(&validity, false), Done::NoVerdict(expected));
        let Done::NoVerdict(said) = Done::with(&validity, true) else { panic!("they are invalid") };
        assert!(said.contains("INVALID") && !said.contains("One."), "the report has said it: {said}");
    }

    #[test]
    fn the_first_error_counts() {
        assert!(first_error([Ok(()), Ok(())]).is_ok());
        let error = first_error([Ok(()), Err(Usage("one".to_owned()).into()), Err(anyhow!("two"))]).unwrap_err();
        assert!(error.is::<Usage>());
    }
}
