//! `plimsoll merge`: the recordings of the parts of a run, or of the files of a capture, become one.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_experiment::merge_parts;
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_results::{is_of_captures, merge_captures};

use super::capacity::ended;
use crate::exit::{Done, Usage, first_error};
use crate::flags::output::Output;
use plimsoll_console::output_file::Files;
use plimsoll_console::secrecy;

const EXAMPLES: &str = "Examples:
  plimsoll merge part-1 part-2 part-3 part-4
  plimsoll merge parts/* --record all --html all.html
  plimsoll merge monday/* --json monday.json";

/// Merges the recordings of the parts of a run (`plimsoll run --part`) or of captures (`plimsoll analyze --record`) into one
/// recording, one report and one verdict.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Recordings of all parts of a run, or of captures, in any order
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Largest difference between the clocks of the parts after the run, e.g. 50us, as measured by a launcher such as
    /// plimsoll-mpi. If this difference exceeds --clock-bound, the result is invalid
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    clock_difference: Option<Duration>,
    /// Write the merged recording to this folder, for `plimsoll report DIR` and SQL (docs/recordings.md)
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    record: Option<PathBuf>,
    /// Replace an existing recording in the folder
    #[arg(long, requires = "record", help_heading = "Output")]
    overwrite: bool,
    #[command(flatten)]
    output: Output,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut files = Files::reading(arguments.folders.iter().map(PathBuf::as_path));
    files.fills("--record", arguments.record.as_deref())?;
    let output = arguments.output.open(&mut files)?;
    let command = secrecy::command_line(secrecy::given().iter().cloned());
    let to = arguments.record.map(|folder| RecordTo {
        folder,
        // As the parts have it.
        rows: Rows::None,
        overwrite: arguments.overwrite,
        command,
    });
    // Folders of the other kind are named in the error.
    let (findings, recorded) = match arguments.folders.iter().any(|folder| is_of_captures(folder)) {
        true if arguments.clock_difference.is_some() => anyhow::bail!(Usage(
            "--clock-difference applies only to parts of a run: remove it to merge captures".to_owned()
        )),
        true => merge_captures(&arguments.folders, to, plimsoll_observe::status_name)?,
        false => merge_parts(&arguments.folders, arguments.clock_difference, to)?,
    };
    let done = ended(&findings, output.prints());
    first_error([output.write(&findings.into()), recorded])?;
    Ok(done)
}
