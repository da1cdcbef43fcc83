//! `plimsoll gate BASELINE… -- run WORKLOAD …`: a candidate that is measured now, against recordings made earlier.

use std::path::PathBuf;

use clap::Parser as _;
use plimsoll_console::output_file::Files;
use plimsoll_experiment::gate::{check_earlier, ended_by_error, was_interrupted};

use crate::drive::run;
use crate::exit::{Interrupted, Usage};
use crate::shell::ShellFlags;

/// The subcommand that measures it.
const RUN: &str = "run";

/// A command that measures, as it is without `gate`.
#[derive(Debug, clap::Parser)]
#[command(name = "plimsoll")]
struct RunCommand {
    #[command(flatten)]
    _shell: ShellFlags,
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Debug, clap::Subcommand)]
enum Measurement {
    Run(Box<run::Arguments>),
}

/// The run of a candidate, as flags.
pub(super) struct Candidate(Box<run::Arguments>);

impl Candidate {
    /// From the words after `--`; `None` where they name recordings.
    pub(super) fn named(after: &[PathBuf]) -> Result<Option<Self>, Usage> {
        let is_run = after.first().is_some_and(|word| word.as_os_str() == RUN);
        if !is_run || after.iter().all(|path| path.is_dir()) {
            return Ok(None);
        }
        let words = [PathBuf::from("plimsoll")].into_iter().chain(after.iter().cloned()).map(PathBuf::into_os_string);
        let parsed = RunCommand::try_parse_from(words).map_err(|error| {
            let said = error.to_string();
            let said = said.strip_prefix("error: ").unwrap_or(&said);
            Usage(format!("-- run: {}", said.lines().next().unwrap_or_default()))
        })?;
        let Measurement::Run(arguments) = parsed.measurement;
        if arguments.continues() {
            return Err(Usage("--continue: gate measures the candidate from the start; remove --continue".to_owned()));
        }
        Ok(Some(Self(arguments)))
    }

    /// Measures it; returns its recording. Prints no report: the gate prints the decisions.
    pub(super) fn measure(self, baseline: &[PathBuf], quiet: bool) -> anyhow::Result<PathBuf> {
        let Self(arguments) = self;
        let Some(folder) = arguments.recording().map(PathBuf::from) else {
            anyhow::bail!(Usage("-- run: add --record DIR, because gate judges the candidate's recording".to_owned()));
        };
        Files::reading(baseline.iter().map(PathBuf::as_path)).fills("-- run --record", Some(&folder))?;
        check_earlier(baseline, &arguments.spec()?)?;
        // INVALID numbers are the gate's to judge.
        run::run_unprinted(*arguments, quiet)?;
        if let Some(error) = ended_by_error(&folder)? {
            anyhow::bail!("-- run: {error}");
        }
        if was_interrupted(&folder)? {
            return Err(Interrupted("the candidate's run was complete: no decision").into());
        }
        Ok(folder)
    }
}
