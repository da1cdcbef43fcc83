//! Where findings go: the terminal, `--json`, `--html`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_recording::{RecordingError, TableFormat, TransactionsFile, Written};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::Comparison;
use plimsoll_report::text::Sections;
use plimsoll_report::{html, json, text};
use serde::Serialize;

use crate::exit::{Usage, first_error, unless_closed};
use crate::output_file::{Files, OutputFile, Readers};

/// Where the report goes, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the report as JSON (schemas/plimsoll.report.1.schema.json); - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print every section of the report; by default of a run its load levels and what users felt, of a capture all but each
    /// operation's service times in powers of two
    #[arg(long, conflicts_with = "quiet")]
    full: bool,
    /// Print what Swartz's Appendix A (1997) has and nothing else: of a run, a report for each load level
    #[arg(long, conflicts_with_all = ["quiet", "full"])]
    appendix_a: bool,
    /// Print nothing but what was asked for with --json -, and no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where the report goes, with its files open.
pub(crate) struct OpenOutput {
    flags: Output,
    json: Json,
    html: Option<OutputFile>,
}

impl Output {
    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenOutput> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        Ok(OpenOutput { flags: self.clone(), json, html })
    }

    /// A page is written in any case: to `file` where no other was named. Tells which.
    pub(crate) fn page_at_least(&mut self, file: &str) -> &Path {
        self.html.get_or_insert_with(|| PathBuf::from(file))
    }
}

impl OpenOutput {
    /// Whether the report is printed for a person to read.
    pub(crate) fn prints(&self) -> bool {
        !self.flags.quiet && !matches!(self.json, Json::StandardOutput)
    }

    /// Writes the findings wherever they are wanted. Where one place takes nothing, the others get theirs all the same.
    pub(crate) fn write(self, findings: &Findings) -> anyhow::Result<()> {
        let printed = self.prints();
        let Self { flags, json, html } = self;
        let page = html.map_or(Ok(()), |file| page_to(file, || html::page(findings)));
        let (sections, more) = match findings.run {
            _ if flags.full || flags.appendix_a => (Sections::ALL, None),
            Some(_) => (Sections::BRIEF, Some("commands, distributions, percentiles, the slowest operations")),
            None => {
                let long = findings.operations.iter().any(|row| !row.service_octaves.is_empty());
                (Sections::CAPTURE, long.then_some("service times of each operation in powers of two"))
            }
        };
        let report = || match flags.appendix_a {
            true => text::appendix_a(findings, &style(sections)),
            false => text::to_string(findings, &style(sections)),
        };
        first_error([page, json_and_text(findings, json, flags.quiet, report)])?;
        if let Some(more) = more
            && printed
        {
            anstream::eprintln!("\nMore with --full: {more}.");
        }
        Ok(())
    }
}

/// Where a comparison goes, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ComparisonOutput {
    /// Write the comparison as JSON (schemas/plimsoll.comparison.1.schema.json); - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the comparison as one self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// On one page: every load level of every side as a line of one table, and as charts on --html's page
    #[arg(long)]
    compact: bool,
    /// Print every number of each load level, too, where a ranking says who is ahead
    #[arg(long, conflicts_with = "quiet")]
    full: bool,
    /// Print nothing but what was asked for with --json -, and no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where a comparison goes, with its files open.
pub(crate) struct OpenComparison {
    flags: ComparisonOutput,
    json: Json,
    html: Option<OutputFile>,
}

impl ComparisonOutput {
    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenComparison> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        Ok(OpenComparison { flags: self.clone(), json, html })
    }
}

impl OpenComparison {
    /// Whether the comparison is printed for a person to read.
    pub(crate) fn prints(&self) -> bool {
        !self.flags.quiet && !matches!(self.json, Json::StandardOutput)
    }

    /// Writes the comparison wherever it is wanted; `findings` are those of its subjects, or none. Where one place takes nothing,
    /// the others get theirs all the same.
    pub(crate) fn write(self, comparison: &Comparison, findings: &[Findings]) -> anyhow::Result<()> {
        let printed = self.prints();
        let Self { flags, json, html } = self;
        let page = || match flags.compact {
            true => html::compact(comparison),
            false => html::comparison(comparison, findings),
        };
        let page = html.map_or(Ok(()), |file| page_to(file, page));
        let brief = comparison.ranking.is_some() && !flags.full && !flags.compact;
        let report = || match flags.compact {
            true => text::compact_to_string(comparison, &style(Sections::ALL)),
            false => text::comparison_to_string(
                comparison,
                findings,
                &style(if brief { Sections::BRIEF } else { Sections::ALL }),
            ),
        };
        first_error([page, json_and_text(comparison, json, flags.quiet, report)])?;
        if brief && printed {
            anstream::eprintln!("\nMore with --full: every number of each load level, group and procedure.");
        }
        Ok(())
    }
}

/// Where JSON goes.
enum Json {
    Nowhere,
    StandardOutput,
    File(OutputFile),
}

fn open(json: Option<&Path>, html: Option<&Path>, files: &mut Files) -> anyhow::Result<(Json, Option<OutputFile>)> {
    if html.is_some_and(is_standard_output) {
        return Err(Usage("--html - : the page goes to a file, name one".to_owned()).into());
    }
    let json = match json {
        None => Json::Nowhere,
        Some(file) if is_standard_output(file) => Json::StandardOutput,
        Some(file) => Json::File(files.open("--json", file, Readers::Usual)?),
    };
    Ok((json, files.open_if("--html", html)?))
}

/// JSON on standard output stands there alone.
fn json_and_text(
    findings: &impl Serialize,
    json: Json,
    quiet: bool,
    report: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let json = match json {
        Json::StandardOutput => return unless_closed(json_to(findings, io::stdout().lock())),
        Json::File(file) => file.write(|out| json_to(findings, out)),
        Json::Nowhere => Ok(()),
    };
    if quiet {
        return json;
    }
    let printed = io::stdout().lock().write_all(report().as_bytes());
    first_error([json, unless_closed(printed.map_err(anyhow::Error::from))])
}

/// The transactions table of `--transactions`, and its file.
pub(crate) fn table(path: &Path, files: &mut Files) -> anyhow::Result<(TransactionsFile, OutputFile)> {
    let format = TableFormat::of(path).map_err(|error| Usage(format!("--transactions {error}")))?;
    let file = files.open("--transactions", path, Readers::Usual)?;
    let begun = file.file().map_err(anyhow::Error::from).and_then(|out| Ok(TransactionsFile::new(out, format)?));
    match begun {
        Ok(table) => Ok((table, file)),
        Err(error) => Err(file.failed(error)),
    }
}

/// A table that all rows went to gets its name.
pub(crate) fn finish_table(written: Result<Written, RecordingError>, file: OutputFile) -> anyhow::Result<()> {
    match written {
        Ok(_) => file.finish(),
        Err(error) => Err(file.failed(error)),
    }
}

fn is_standard_output(file: &Path) -> bool {
    file == Path::new("-")
}

fn page_to(file: OutputFile, page: impl FnOnce() -> serde_json::Result<String>) -> anyhow::Result<()> {
    let page = page().context("the page")?;
    file.write(|mut out| out.write_all(page.as_bytes()))
}

fn json_to(findings: &impl Serialize, out: impl Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    json::write(findings, json::Layout::Pretty, &mut out)?;
    out.flush()?;
    Ok(())
}

/// Columns of a report that no terminal asked for: a file, a pipe.
const COLUMNS: u16 = 80;
/// Wider lines are hard to follow, however wide the terminal.
const MOST_COLUMNS: u16 = 132;

/// As wide as the terminal; colour only where a terminal shows it and the user has not said NO_COLOR (no-color.org).
fn style(sections: Sections) -> text::Style {
    let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let shows_colour = io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
    let width = terminal_size::terminal_size_of(io::stdout()).map_or(COLUMNS, |(width, _)| width.0.min(MOST_COLUMNS));
    text::Style { colour: unset("NO_COLOR") && shows_colour, width, sections }
}
