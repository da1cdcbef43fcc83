//! `plimsoll history`: recordings of the same workload over time, and where their numbers change.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use plimsoll_report::collect::history::HistoryCollector;
use plimsoll_report::findings::history::History;
use plimsoll_report::html;
use plimsoll_report::json::{Layout, write_history};
use plimsoll_report::text::{self, Sections};
use plimsoll_results::history::{read, recordings};

use crate::exit::{Done, Usage, first_error, unless_closed, whole};
use crate::flags::output::show_instants;
use crate::shell;
use plimsoll_console::output_file::{Files, OutputFile, Readers};

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
    if html.as_deref() == Some(Path::new("-")) {
        return Err(Usage("--html -: cannot write the page to standard output; name a file".to_owned()).into());
    }
    let mut files = Files::reading(folders.iter().map(PathBuf::as_path));
    let to_output = json.as_deref() == Some(Path::new("-"));
    let json = json.filter(|_| !to_output);
    let json = json.map(|file| files.open("--json", &file, Readers::Usual)).transpose()?;
    let html = files.open_if("--html", html.as_deref())?;
    show_instants(utc);
    let history = collect(&folders)?;
    let written = [page(html, &history), json_file(json, &history)];
    let printed = match (to_output, quiet) {
        (true, _) => unless_closed(json_to(&history, io::stdout().lock())),
        (false, true) => Ok(()),
        (false, false) => {
            let style =
                text::Style { colour: shell::colours_output(), width: shell::columns(), sections: Sections::ALL };
            let text = shell::in_locale(text::history(&history, &style, full));
            unless_closed(io::stdout().lock().write_all(text.as_bytes()).map_err(anyhow::Error::from))
        }
    };
    first_error(written.into_iter().chain([printed]))?;
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

fn page(file: Option<OutputFile>, history: &History) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    let page = html::history(history).context("the page")?;
    file.write(|mut out| out.write_all(page.as_bytes()))
}

fn json_file(file: Option<OutputFile>, history: &History) -> anyhow::Result<()> {
    file.map_or(Ok(()), |file| file.write(|out| json_to(history, out)))
}

fn json_to(history: &History, out: impl io::Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    write_history(history, Layout::Pretty, &mut out)?;
    out.flush()?;
    Ok(())
}
