//! Where findings go: the terminal, `--json`, `--html`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_recording::{RecordingError, TableFormat, TransactionsFile, Written};
use plimsoll_report::findings::Report;
use plimsoll_report::text::{Section, Sections};
use plimsoll_report::{html, json, text};

use crate::exit::{Usage, first_error, unless_closed};
use crate::output_file::{Files, OutputFile, Readers};

/// Where the report goes, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the report as JSON (schemas/plimsoll.report.2.schema.json); - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print all sections. Default: runs print load levels and the summary; captures print all but per-operation service-time
    /// histograms
    #[arg(long, conflicts_with = "quiet")]
    full: bool,
    /// Print what Swartz's Appendix A (1997) has and nothing else: of a run, a report for each load level
    #[arg(long, conflicts_with_all = ["quiet", "full"])]
    appendix_a: bool,
    /// No report, no progress; only --json - output
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where a comparison goes, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ComparisonOutput {
    /// Write the comparison as JSON (schemas/plimsoll.report.2.schema.json); - for standard output
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
    /// No report, no progress; only --json - output
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where a report goes, with its files open.
pub(crate) struct OpenOutput {
    json: Json,
    html: Option<OutputFile>,
    form: Form,
    full: bool,
    quiet: bool,
}

/// What becomes of a report for a person to read.
#[derive(Clone, Copy)]
enum Form {
    Sections,
    AppendixA,
    Compact,
}

impl Output {
    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenOutput> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        let form = if self.appendix_a { Form::AppendixA } else { Form::Sections };
        Ok(OpenOutput { json, html, form, full: self.full, quiet: self.quiet })
    }

    /// A page is written in any case: to `file` where no other was named. Tells which.
    pub(crate) fn page_at_least(&mut self, file: &str) -> &Path {
        self.html.get_or_insert_with(|| PathBuf::from(file))
    }
}

impl ComparisonOutput {
    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenOutput> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        let form = if self.compact { Form::Compact } else { Form::Sections };
        Ok(OpenOutput { json, html, form, full: self.full, quiet: self.quiet })
    }
}

impl OpenOutput {
    /// Whether the report is printed for a person to read.
    pub(crate) fn prints(&self) -> bool {
        !self.quiet && !matches!(self.json, Json::StandardOutput)
    }

    /// Writes the report wherever it is wanted. Where one place takes nothing, the others get theirs all the same.
    pub(crate) fn write(self, report: &Report) -> anyhow::Result<()> {
        let printed = self.prints();
        let Self { json, html, form, full, quiet } = self;
        let page = || match form {
            Form::Compact => html::compact(report),
            Form::Sections | Form::AppendixA => html::page(report),
        };
        let page = html.map_or(Ok(()), |file| page_to(file, page));
        let (sections, more) = match form {
            Form::Sections if !full => sections(report),
            _ => (Sections::ALL, None),
        };
        let text = || match form {
            Form::Sections => text::to_string(report, &style(sections)),
            Form::AppendixA => text::appendix_a(report, &style(sections)),
            Form::Compact => text::compact_to_string(report, &style(sections)),
        };
        first_error([page, json_and_text(report, json, quiet, text)])?;
        if let Some(more) = more
            && printed
        {
            anstream::eprintln!("\nMore with --full: {more}.");
        }
        Ok(())
    }
}

/// What is printed by default, and what --full adds.
fn sections(report: &Report) -> (Sections, Option<&'static str>) {
    if let Some(comparison) = &report.comparison {
        // A line for every run of a duel is for those who ask.
        let in_pairs = comparison.levels.iter().any(|level| level.from == "paired");
        return match (&comparison.ranking, in_pairs) {
            (Some(_), _) => (Sections::BRIEF, Some("every number of each load level, group and procedure")),
            (None, true) => (Sections::ALL.without(Section::Run), Some("every run of each side")),
            (None, false) => (Sections::ALL, None),
        };
    }
    if report.sides.iter().any(|side| side.run.is_some()) {
        return (Sections::BRIEF, Some("commands, distributions, percentiles, the slowest operations"));
    }
    let mut operations = report.sides.iter().flat_map(|side| &side.operations);
    let long = operations.any(|row| !row.service_octaves.is_empty());
    (Sections::CAPTURE, long.then_some("service times of each operation in powers of two"))
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
fn json_and_text(report: &Report, json: Json, quiet: bool, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    let json = match json {
        Json::StandardOutput => return unless_closed(json_to(report, io::stdout().lock())),
        Json::File(file) => file.write(|out| json_to(report, out)),
        Json::Nowhere => Ok(()),
    };
    if quiet {
        return json;
    }
    let printed = io::stdout().lock().write_all(text().as_bytes());
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

fn json_to(report: &Report, out: impl Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    json::write(report, json::Layout::Pretty, &mut out)?;
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
