//! `plimsoll history`: recordings of the same workload over time, and where their numbers change.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use plimsoll_report::collect::history::HistoryCollector;
use plimsoll_report::findings::history::History;
use plimsoll_report::html;
use plimsoll_report::json::{Layout, write_history};
use plimsoll_report::text::{self, Sections};
use plimsoll_results::history::{read, recordings};

use crate::exit::{Done, first_error, whole};
use crate::flags::output::{json_and_text, open, page_to, show_instants, style};
use plimsoll_console::output_file::Files;

const EXAMPLES: &str = "Examples:
  plimsoll history recordings
  plimsoll history monday tuesday --html history.html --json history.json";

/// Shows recordings of the same workload over time: throughput and response times of each run, the runs at which these
/// numbers changed, and the labels that changed at the same run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Recordings (folders written with --record), or folders that contain recordings
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Write the history as JSON (schemas/plimsoll.history.1.schema.json); - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    /// Write the history as one self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Print all series, numbers and changes [default: at most 40 lines]
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    full: bool,
    /// Show dates and times in UTC [default: local time]
    #[arg(long, help_heading = "Output")]
    utc: bool,
    /// Print no history; `--json -` still prints JSON
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { folders, json, html, full, utc, quiet } = arguments;
    let mut files = Files::reading(folders.iter().map(PathBuf::as_path));
    let (json, html) = open(json.as_deref(), html.as_deref(), &mut files)?;
    show_instants(utc);
    let history = collect(&folders)?;
    let page = html.map_or(Ok(()), |file| page_to(file, || html::history(&history)));
    let write = |out: &mut dyn Write| write_history(&history, Layout::Pretty, out);
    let text = || text::history(&history, &style(Sections::ALL), full);
    first_error([page, json_and_text(write, json, quiet, text)])?;
    Ok(Done::Normally)
}

/// Reads the recordings. One among several that cannot be read is no reason to show none.
fn collect(folders: &[PathBuf]) -> anyhow::Result<History> {
    let recordings = recordings(folders)?;
    let (mut collector, mut warnings, mut usable) = (HistoryCollector::default(), Vec::new(), 0);
    for folder in &recordings {
        match read(folder, plimsoll_observe::status_name) {
            Ok(recorded) => {
                usable += 1;
                collector.add(&recorded);
            }
            Err(error) => warnings.push(format!("Left out: {}", whole(&error))),
        }
    }
    if usable == 0 {
        bail!("no recording can be read: {}", warnings.join("; "));
    }
    Ok(collector.finish(warnings))
}
