//! `plimsoll gate`: two servers in turns, until conditions are decided; or recordings, or a run against recordings.

mod candidate;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::parser::ValueSource;
use clap::{Args as _, CommandFactory as _};
use plimsoll_experiment::gate::{Gate, GateResult, GateSpec, GateSummary, Recordings, judgement, note_decisions};
use plimsoll_report::collect::comparison::Order;
use plimsoll_report::findings::Report;
use plimsoll_results::comparison::compare;

use crate::compare::Conditions;
use crate::drive::two_sides::{DriveFlags, Sides};
use crate::exit::{Done, Usage, first_error, unless_closed};
use crate::flags::output::{OpenOutput, show_instants};
use crate::shell;
use candidate::Candidate;
use plimsoll_console::output_file::{Files, OutputFile};
use plimsoll_live::RunMonitor;

const EXAMPLES: &str = "Examples:
  plimsoll gate nfs://old/export nfs://new/export --fail-if \"read.p95 > +3%\"
  plimsoll gate \"$OLD\" \"$NEW\" --fail-if \"mean > +5%\" --junit gate.xml
  plimsoll gate good new --fail-if \"read.p95 > +3%\"
  plimsoll gate --fail-if \"mean > +5%\" monday tuesday wednesday -- new-1 new-2
  plimsoll gate --fail-if \"mean > +5%\" monday -- run --from monday --record new

Exit code 0: all conditions passed. 1: a condition failed. 4: none failed, but at least one is undecided.";

const USAGE: &str = "plimsoll gate [OPTIONS] <BASELINE> <CANDIDATE> [WORKLOAD]
       plimsoll gate [OPTIONS] <RECORDING>... [-- <RECORDING>...]
       plimsoll gate [OPTIONS] <RECORDING>... -- run [WORKLOAD] --record <DIR> [OPTIONS OF RUN]";

/// Drives a baseline and a candidate alternately (A B B A, repeated) until every --fail-if condition is decided or the
/// budget is spent. The conditions' confidence intervals stay valid although the gate checks them after every round.
///
/// With recordings (folders written with --record) in place of targets, it measures nothing and judges the recorded runs. With
/// `-- run …` after recordings of the baseline, it measures only the candidate and judges it against them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct Arguments {
    /// Targets of baseline and candidate, and a workload [default: mixed]. Options that apply only to one side follow its target in
    /// the same argument, e.g. "smb://u@old/data --depth 4". Or recordings: the last one is the candidate, the others are the
    /// baseline
    #[arg(required = true, value_name = "SIDE")]
    sides: Vec<String>,
    /// Recordings of the candidate, if all recordings before `--` are the baseline. Or `run` with its arguments, to measure the
    /// candidate now. Options of gate go before `--`
    #[arg(last = true, value_name = "RECORDING")]
    candidates: Vec<PathBuf>,
    /// Time limit, e.g. 10m. After the first round, the gate starts another round only if that round will probably
    /// end within the limit
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
    budget: Duration,
    /// Maximum number of rounds; each round has four runs (A B B A)
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    most_rounds: u32,
    #[command(flatten)]
    drive: DriveFlags,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: GateOutput,
}

/// Where the decisions go, as flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct GateOutput {
    /// Write the decisions as a Markdown table, e.g. for a comment on a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the decisions as JUnit XML, one test case per condition and load level
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write one line per run and load level as CSV, with the value measured for each condition
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the comparison of all runs as JSON (schemas/plimsoll.report.2.schema.json); - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the comparison of all runs as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show dates and times in UTC [default: local time]
    #[arg(long)]
    utc: bool,
    /// Print no decisions and no progress; `--json -` still prints JSON
    #[arg(long, short)]
    quiet: bool,
}

/// The same with their files open.
struct OpenGateOutput {
    markdown: Option<OutputFile>,
    junit: Option<OutputFile>,
    csv: Option<OutputFile>,
    report: OpenOutput,
    /// The decisions are printed.
    prints: bool,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { sides, candidates, budget, most_rounds, drive, conditions, output } = arguments;
    let measured = Candidate::named(&candidates)?;
    let option = || candidates.iter().find(|path| path.as_os_str().as_encoded_bytes().starts_with(b"-"));
    if let Some(option) = option().filter(|_| measured.is_none()) {
        return Err(Usage(format!("{}: options go before --", option.display())).into());
    }
    if conditions.wanted().is_empty() {
        return Err(Usage("gate needs at least one condition, e.g. --fail-if \"read.p95 > +3%\"".to_owned()).into());
    }
    if let Some(candidate) = measured {
        return run_against(&sides, candidate, &conditions, &output);
    }
    if let Some(recordings) = Recordings::named(&sides, &candidates)? {
        return run_on(&recordings, &conditions, &output);
    }
    let (baseline, candidate, name) = match sides.as_slice() {
        [baseline, candidate] => (baseline, candidate, "mixed".to_owned()),
        [baseline, candidate, workload] => (baseline, candidate, workload.clone()),
        [only] => bail!(Usage(format!(
            "{only}: gate needs a baseline and a candidate; give two targets, or at least two recordings"
        ))),
        _ => bail!(Usage(
            "expected two targets and at most one workload; put each target and its options in quotes".to_owned()
        )),
    };
    let sides = Sides::read([baseline, candidate])?;
    let terminal = RunMonitor::new(output.quiet);
    let output = output.open(&mut drive.files(&sides, &name)?)?;
    let workload = drive.workload(&name)?;
    let mut both = drive.ready(&sides, (&name, &workload), &terminal, most_rounds)?;
    let (wanted, ignore) = (conditions.wanted(), conditions.ignore());
    let mut gate = Gate::new(GateSpec { conditions: wanted.to_vec(), budget, most_rounds, ignore });
    let (whole, came) = both.drive(|_, arms, names| gate.over(arms, names));
    if whole == 0 {
        both.keep(came)?;
        return Ok(conditions.without_rounds());
    }
    let contestants = gate.contestants(&both.arms, &both.names);
    let result = gate.finish(&both.arms, &came[0]);
    let kept = both.keep(came);
    let (mut report, _) = compare(contestants, (Order::InPairs, Vec::new()), &[], ignore)?;
    let warnings = note_decisions(&mut report, &result, wanted);
    let names = [0, 1].map(|side| report.sides.get(side).map(|side| side.name.clone()).unwrap_or_default());
    let sides = [names[0].as_str(), names[1].as_str()];
    let summary = GateSummary { gate: &result, conditions: wanted, sides, workload: &name, warnings: &warnings };
    let (printed, written) = (output.prints, output.write(&summary, &report));
    first_error([kept, written])?;
    Ok(done((&result, printed), &report, &conditions))
}

/// The same of recordings.
fn run_on(recordings: &Recordings, conditions: &Conditions, output: &GateOutput) -> anyhow::Result<Done> {
    refuse_load_options("because gate judges these recordings and measures nothing; remove these options")?;
    let output = output.open(&mut Files::reading(recordings.paths()))?;
    judge(recordings, conditions, output)
}

/// The same of a candidate that is measured now, once, and recordings of the baseline.
fn run_against(
    baseline: &[String],
    candidate: Candidate,
    conditions: &Conditions,
    output: &GateOutput,
) -> anyhow::Result<Done> {
    refuse_load_options(
        "because the command after `--` defines the load, and runs once; give load options to that command",
    )?;
    let folders = Recordings::baseline(baseline)?;
    let open = output.open(&mut Files::reading(folders.iter().map(PathBuf::as_path)))?;
    let folder = candidate.measure(&folders, output.quiet)?;
    match Recordings::named(baseline, &[folder])? {
        Some(recordings) => judge(&recordings, conditions, open),
        None => bail!("the recordings are gone"),
    }
}

fn judge(recordings: &Recordings, conditions: &Conditions, output: OpenGateOutput) -> anyhow::Result<Done> {
    let (result, mut report) =
        recordings.judge(conditions.wanted(), conditions.ignore(), plimsoll_observe::status_name)?;
    let warnings = note_decisions(&mut report, &result, conditions.wanted());
    let names = recordings.names();
    let workload = report.sides.first().and_then(|side| Some(side.run.as_ref()?.workload.clone()));
    let summary = GateSummary {
        gate: &result,
        conditions: conditions.wanted(),
        sides: [&names[0], &names[1]],
        workload: workload.as_deref().unwrap_or("none (captures)"),
        warnings: &warnings,
    };
    let printed = output.prints;
    output.write(&summary, &report)?;
    Ok(done((&result, printed), &report, conditions))
}

/// Recordings have their load, and so has the candidate's own command.
fn refuse_load_options(why: &str) -> Result<(), Usage> {
    let without_effect = load_options();
    if without_effect.is_empty() {
        return Ok(());
    }
    Err(Usage(format!("{}: without effect, {why}", without_effect.join(", "))))
}

/// Options of the load on the command line.
fn load_options() -> Vec<String> {
    let given = crate::Arguments::command().get_matches();
    let is_given = |option: &clap::Id| {
        let gate = given.subcommand_matches("gate");
        gate.and_then(|gate| gate.value_source(option.as_str())) == Some(ValueSource::CommandLine)
    };
    let load = DriveFlags::augment_args(clap::Command::new("gate"));
    let gate = Arguments::augment_args(clap::Command::new("gate"));
    let limits = gate.get_arguments().filter(|option| ["budget", "most_rounds"].contains(&option.get_id().as_str()));
    let options = load.get_arguments().chain(limits).filter(|option| is_given(option.get_id()));
    options.filter_map(|option| Some(format!("--{}", option.get_long()?))).collect()
}

/// `printed`: whether the decisions were printed.
fn done((result, printed): (&GateResult, bool), report: &Report, conditions: &Conditions) -> Done {
    let refused = report.comparison.as_ref().and_then(|comparison| comparison.refused.as_deref());
    conditions.done(&judgement(result, printed), refused)
}

impl GateOutput {
    fn open(&self, files: &mut Files) -> anyhow::Result<OpenGateOutput> {
        show_instants(self.utc);
        let report = OpenOutput::unprinted(self.json.as_deref(), self.html.as_deref(), files)?;
        Ok(OpenGateOutput {
            markdown: files.open_if("--markdown", self.markdown.as_deref())?,
            junit: files.open_if("--junit", self.junit.as_deref())?,
            csv: files.open_if("--csv", self.csv.as_deref())?,
            prints: !self.quiet && !report.is_on_standard_output(),
            report,
        })
    }
}

impl OpenGateOutput {
    /// Writes the decisions to each destination. An error at one does not stop the others.
    fn write(self, summary: &GateSummary<'_>, report: &Report) -> anyhow::Result<()> {
        let Self { markdown, junit, csv, report: output, prints } = self;
        let to = |file: Option<OutputFile>, text: String| match file {
            Some(file) => file.write(|mut out| out.write_all(text.as_bytes())),
            None => Ok(()),
        };
        let files = [
            to(markdown, summary.markdown()),
            to(junit, summary.junit()),
            to(csv, summary.csv()),
            output.write(report),
        ];
        let printed = if prints {
            let text = shell::in_locale(summary.text(shell::columns().into()));
            unless_closed(std::io::stdout().lock().write_all(text.as_bytes()).context("standard output"))
        } else {
            Ok(())
        };
        first_error(files.into_iter().chain([printed]))
    }
}
