//! Where findings go: the terminal, `--json`, `--html`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_recording::{RecordingError, TransactionsFile};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::Comparison;
use plimsoll_report::text::Sections;
use plimsoll_report::{html, json, text};
use serde::Serialize;

use crate::exit::{Usage, first_error, unless_closed};

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

impl Output {
    /// Refuses what cannot work, before anything long begins.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        page_is_a_file(self.html.as_deref())?;
        self.json.iter().chain(&self.html).try_for_each(|file| has_folder(file))
    }

    /// A page is written in any case: to `file` where no other was named. Tells which.
    pub(crate) fn page_at_least(&mut self, file: &str) -> &Path {
        self.html.get_or_insert_with(|| PathBuf::from(file))
    }

    /// Writes the findings wherever they are wanted. Where one place takes nothing, the others get theirs all the same.
    pub(crate) fn write(&self, findings: &Findings) -> anyhow::Result<()> {
        let page = self.html.as_ref().map_or(Ok(()), |file| page_to(findings, file));
        let (sections, more) = match findings.run {
            _ if self.full || self.appendix_a => (Sections::ALL, None),
            Some(_) => (Sections::BRIEF, Some("commands, distributions, percentiles, the slowest operations")),
            None => {
                let long = findings.operations.iter().any(|row| !row.service_octaves.is_empty());
                (Sections::CAPTURE, long.then_some("service times of each operation in powers of two"))
            }
        };
        let report = || match self.appendix_a {
            true => text::appendix_a(findings, &style(sections)),
            false => text::to_string(findings, &style(sections)),
        };
        first_error([page, json_and_text(findings, self.json.as_deref(), self.quiet, report)])?;
        if let Some(more) = more
            && !self.quiet
            && !self.json.as_deref().is_some_and(is_standard_output)
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

impl ComparisonOutput {
    /// Refuses what cannot work, before anything long begins.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        page_is_a_file(self.html.as_deref())?;
        self.json.iter().chain(&self.html).try_for_each(|file| has_folder(file))
    }

    /// Writes the comparison wherever it is wanted; `findings` are those of its subjects, or none.
    pub(crate) fn write(&self, comparison: &Comparison, findings: &[Findings]) -> anyhow::Result<()> {
        if let Some(file) = &self.html {
            let page = match self.compact {
                true => html::compact(comparison),
                false => html::comparison(comparison, findings),
            };
            let page = page.context("the page")?;
            std::fs::write(file, page).with_context(|| file.display().to_string())?;
        }
        let brief = comparison.ranking.is_some() && !self.full && !self.compact;
        let report = || match self.compact {
            true => text::compact_to_string(comparison, &style(Sections::ALL)),
            false => {
                text::comparison_to_string(comparison, &style(if brief { Sections::BRIEF } else { Sections::ALL }))
            }
        };
        json_and_text(comparison, self.json.as_deref(), self.quiet, report)?;
        if brief && !self.quiet && !self.json.as_deref().is_some_and(is_standard_output) {
            anstream::eprintln!("\nMore with --full: every number of each load level, group and procedure.");
        }
        Ok(())
    }
}

fn page_is_a_file(page: Option<&Path>) -> anyhow::Result<()> {
    if page.is_some_and(is_standard_output) {
        return Err(Usage("--html - : the page goes to a file, name one".to_owned()).into());
    }
    Ok(())
}

/// Refuses a file for which there is no folder.
pub(crate) fn has_folder(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !is_standard_output(file));
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Usage(format!("{}: no such folder", file.display())).into());
    }
    Ok(())
}

/// JSON on standard output stands there alone.
fn json_and_text(
    findings: &impl Serialize,
    json: Option<&Path>,
    quiet: bool,
    report: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let json = match json {
        Some(file) if is_standard_output(file) => return unless_closed(json_to(findings, io::stdout().lock())),
        Some(file) => json_file(findings, file),
        None => Ok(()),
    };
    if quiet {
        return json;
    }
    let printed = io::stdout().lock().write_all(report().as_bytes());
    first_error([json, unless_closed(printed.map_err(anyhow::Error::from))])
}

/// The transactions table of `--transactions`.
pub(crate) fn table(path: &Path) -> anyhow::Result<TransactionsFile> {
    TransactionsFile::create(path).map_err(|error| match error {
        RecordingError::UnknownFormat { .. } | RecordingError::NotAFile { .. } => Usage(error.to_string()).into(),
        error => error.into(),
    })
}

fn is_standard_output(file: &Path) -> bool {
    file == Path::new("-")
}

fn page_to(findings: &Findings, file: &Path) -> anyhow::Result<()> {
    let page = html::page(findings).context("the page")?;
    std::fs::write(file, page).with_context(|| file.display().to_string())
}

fn json_file(findings: &impl Serialize, file: &Path) -> anyhow::Result<()> {
    let out = File::create(file).with_context(|| file.display().to_string());
    out.and_then(|out| json_to(findings, out).with_context(|| file.display().to_string()))
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
