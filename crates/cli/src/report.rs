//! `plimsoll report`: a recording becomes the report again.

use std::path::PathBuf;

use plimsoll_recording::Export;
use plimsoll_recording::folder::Recording;
use plimsoll_results::recording_findings::findings;

use crate::exit::{Done, first_error};
use crate::flags::output::Output;
use plimsoll_console::output_file::{Files, Readers};

const EXAMPLES: &str = "Examples:
  plimsoll report monday
  plimsoll report monday --full --html monday.html
  plimsoll report monday --export monday.om";

/// Prints the report of a recording made with `plimsoll run --record DIR` or `plimsoll analyze --record DIR`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Recording to print (the folder given to --record)
    #[arg(value_name = "DIR")]
    recording: PathBuf,
    /// Export the recording to FILE.hlog (HdrHistogram interval log), FILE.hgrm (HdrHistogram percentiles) or FILE.om
    /// (OpenMetrics); may be repeated
    #[arg(long = "export", value_name = "FILE", value_parser = Exported::parse, help_heading = "Output")]
    exports: Vec<Exported>,
    #[command(flatten)]
    output: Output,
}

/// A file for another program.
#[derive(Clone, Debug)]
struct Exported {
    file: PathBuf,
    format: Export,
}

impl Exported {
    fn parse(text: &str) -> Result<Self, String> {
        let file = PathBuf::from(text);
        let known = || Export::ALL.map(|(end, _)| format!(".{end}")).join(", ");
        let format =
            Export::of(&file).ok_or_else(|| format!("expected a file name that ends in one of {}", known()))?;
        Ok(Self { file, format })
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut files = Files::reading([arguments.recording.as_path()]);
    let output = arguments.output.open(&mut files)?;
    let open = |to: &Exported| files.open("--export", &to.file, Readers::Usual);
    let exports = arguments.exports.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let recording = Recording::open(&arguments.recording)?;
    let findings = findings(&recording, plimsoll_observe::status_name)?;
    let validity = findings.validity.clone();
    let exported = exports
        .into_iter()
        .zip(&arguments.exports)
        .map(|(file, to)| file.write(|out| to.format.write((&recording, &validity), out, &to.file)));
    let done = Done::with(&findings.validity, output.prints());
    first_error(exported.chain([output.write(&findings.into())]).collect::<Vec<_>>())?;
    Ok(done)
}
