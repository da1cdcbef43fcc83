//! Where findings go: the terminal, `--json`, `--html`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use plimsoll_recording::{TableFormat, TransactionsFile};
use plimsoll_report::findings::{DrillDown, Report};
use plimsoll_report::text::{Section, Sections};
use plimsoll_report::{Zone, html, json, text};

use crate::exit::{Usage, first_error, unless_closed};
use crate::shell;
use plimsoll_console::output_file::{Files, OutputFile, Readers};

/// Where the report goes, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the report as JSON (schemas/plimsoll.report.2.schema.json); - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the whole report [default: a summary of at most 40 lines]
    #[arg(long, conflicts_with = "quiet")]
    full: bool,
    /// Print this section of the report instead of the summary; may be repeated
    #[arg(long, value_name = "NAME", value_parser = section_names(&Section::ALL), conflicts_with_all = ["quiet", "full"])]
    section: Vec<String>,
    /// Show dates and times in UTC [default: local time]
    #[arg(long)]
    utc: bool,
    /// Print only the tables of Appendix A in Swartz (1997) (docs/netbench-replay.md); a run prints these tables once per load level
    #[arg(long, conflicts_with_all = ["quiet", "full", "section"])]
    appendix_a: bool,
    /// Print no report and no progress; `--json -` still prints JSON
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
    /// Write the comparison as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print a single table, with one row per load level and side; the page of --html then has this table and charts
    #[arg(long)]
    compact: bool,
    /// Print the whole comparison [default: a summary of at most 40 lines]
    #[arg(long, conflicts_with = "quiet")]
    full: bool,
    /// Print this section of the comparison instead of the summary; may be repeated
    #[arg(long, value_name = "NAME", value_parser = section_names(&Section::OF_COMPARISONS), conflicts_with_all = ["quiet", "full", "compact"])]
    section: Vec<String>,
    /// Show dates and times in UTC [default: local time]
    #[arg(long)]
    utc: bool,
    /// Print no report and no progress; `--json -` still prints JSON
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Destinations of a report, with their files open.
pub(crate) struct OpenOutput {
    json: Json,
    html: Option<OutputFile>,
    form: Form,
    quiet: bool,
}

/// Form of the printed report.
#[derive(Clone, Copy)]
enum Form {
    Screen,
    Sections(Sections),
    AppendixA,
    Compact,
}

impl Form {
    fn of(full: bool, sections: &[String]) -> Form {
        let named = |section: &&Section| sections.iter().any(|name| name == section.label());
        let all = Section::ALL.iter().chain(&Section::OF_COMPARISONS);
        match (full, sections) {
            (true, _) => Form::Sections(Sections::ALL),
            (false, []) => Form::Screen,
            (false, _) => Form::Sections(all.filter(named).fold(Sections::NONE, |all, one| all.with(*one))),
        }
    }
}

/// The sections' names: clap lists them in the help and in the error for another name.
fn section_names(sections: &[Section]) -> PossibleValuesParser {
    PossibleValuesParser::new(sections.iter().map(|section| section.label()))
}

impl Output {
    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenOutput> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        let form = if self.appendix_a { Form::AppendixA } else { Form::of(self.full, &self.section) };
        show_instants(self.utc);
        Ok(OpenOutput { json, html, form, quiet: self.quiet })
    }

    /// Whether anything is written that shows how files are read and written.
    pub(crate) fn has_io(&self) -> bool {
        let section = self.section.iter().any(|name| name == Section::Io.label());
        self.full || section || self.json.is_some() || self.html.is_some()
    }

    /// Whether instants are in UTC.
    pub(crate) fn is_utc(&self) -> bool {
        self.utc
    }

    /// Whether a page is written.
    pub(crate) fn has_page(&self) -> bool {
        self.html.is_some()
    }

    /// A page is always written: by default to `file`. Returns its path.
    pub(crate) fn page_at_least(&mut self, file: &str) -> &Path {
        self.html.get_or_insert_with(|| PathBuf::from(file))
    }

    /// The same without a page.
    pub(crate) fn without_page(&self) -> Self {
        Self { html: None, ..self.clone() }
    }
}

impl ComparisonOutput {
    /// Whether instants are in UTC.
    pub(crate) fn is_utc(&self) -> bool {
        self.utc
    }

    /// Opens the files before anything long begins.
    pub(crate) fn open(&self, files: &mut Files) -> anyhow::Result<OpenOutput> {
        let (json, html) = open(self.json.as_deref(), self.html.as_deref(), files)?;
        let form = if self.compact { Form::Compact } else { Form::of(self.full, &self.section) };
        show_instants(self.utc);
        Ok(OpenOutput { json, html, form, quiet: self.quiet })
    }
}

impl OpenOutput {
    /// The files of a report that is not printed.
    pub(crate) fn unprinted(json: Option<&Path>, html: Option<&Path>, files: &mut Files) -> anyhow::Result<Self> {
        let (json, html) = open(json, html, files)?;
        Ok(Self { json, html, form: Form::Screen, quiet: true })
    }

    /// Whether JSON goes to standard output, which must then contain nothing else.
    pub(crate) fn is_on_standard_output(&self) -> bool {
        matches!(self.json, Json::StandardOutput)
    }

    /// Whether the report is printed for a person to read.
    pub(crate) fn prints(&self) -> bool {
        !self.quiet && !matches!(self.json, Json::StandardOutput)
    }

    /// Writes the report to each destination. An error at one does not stop the others.
    pub(crate) fn write(self, report: &Report) -> anyhow::Result<()> {
        self.write_with(report, None)
    }

    /// The same; the page has a drill-down where there is one.
    pub(crate) fn write_with(self, report: &Report, drill: Option<&DrillDown>) -> anyhow::Result<()> {
        let Self { json, html, form, quiet } = self;
        let page = || match form {
            Form::Compact => html::compact(report),
            Form::Screen | Form::Sections(_) | Form::AppendixA => match drill {
                Some(drill) => html::page_with_drill_down(report, drill),
                None => html::page(report),
            },
        };
        let page = html.map_or(Ok(()), |file| page_to(file, page));
        let text = || match form {
            Form::Screen => text::screen(report, &style(Sections::ALL)),
            Form::Sections(sections) => text::to_string(report, &style(sections)),
            Form::AppendixA => text::appendix_a(report, &style(Sections::ALL)),
            Form::Compact => text::compact_to_string(report, &style(Sections::ALL)),
        };
        let write = |out: &mut dyn Write| json::write(report, json::Layout::Pretty, out);
        first_error([page, json_and_text(write, json, quiet, text)])
    }
}

/// Chooses the zone of all instants. Without a local zone the report uses UTC and prints a warning.
pub(crate) fn show_instants(utc: bool) {
    let zone = if utc { Ok(Zone::utc()) } else { Zone::local() };
    zone.unwrap_or_else(|error| {
        shell::note(&format!("plimsoll: local time zone unknown ({error}); using UTC (--utc suppresses this warning)"));
        Zone::utc()
    })
    .show();
}

/// Where JSON goes.
pub(crate) enum Json {
    Nowhere,
    StandardOutput,
    File(OutputFile),
}

/// Opens the files before anything long begins.
pub(crate) fn open(
    json: Option<&Path>,
    html: Option<&Path>,
    files: &mut Files,
) -> anyhow::Result<(Json, Option<OutputFile>)> {
    if html.is_some_and(is_standard_output) {
        return Err(Usage("--html -: cannot write the page to standard output; name a file".to_owned()).into());
    }
    let json = match json {
        None => Json::Nowhere,
        Some(file) if is_standard_output(file) => Json::StandardOutput,
        Some(file) => Json::File(files.open("--json", file, Readers::Usual)?),
    };
    Ok((json, files.open_if("--html", html)?))
}

/// With JSON on standard output, nothing else is printed there.
pub(crate) fn json_and_text(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    json: Json,
    quiet: bool,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let json = match json {
        Json::StandardOutput => return unless_closed(json_to(write, io::stdout().lock())),
        Json::File(file) => file.write(|out| json_to(write, out)),
        Json::Nowhere => Ok(()),
    };
    if quiet {
        return json;
    }
    let printed = io::stdout().lock().write_all(shell::in_locale(text()).as_bytes());
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

fn is_standard_output(file: &Path) -> bool {
    file == Path::new("-")
}

/// Writes a page to its file.
pub(crate) fn page_to(file: OutputFile, page: impl FnOnce() -> serde_json::Result<String>) -> anyhow::Result<()> {
    let page = page().context("the page")?;
    file.write(|mut out| out.write_all(page.as_bytes()))
}

fn json_to(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, out: impl Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    write(&mut out)?;
    out.flush()?;
    Ok(())
}

/// As wide as the terminal, and in colour where that is wanted.
pub(crate) fn style(sections: Sections) -> text::Style {
    text::Style { colour: shell::colours_output(), width: shell::columns(), sections }
}
