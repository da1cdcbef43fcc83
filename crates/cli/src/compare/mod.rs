//! `plimsoll compare`: recordings and captures side by side.

mod capture;
mod comparable;
mod condition;
mod judge;
mod recording;

use std::path::{Path, PathBuf};

use plimsoll_report::collect::comparison::{Contestant, Order, letter};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::Comparison;

use crate::exit::{self, Done, Usage};
use crate::filter::Filter;
use crate::keys::Keys;
use crate::output::{ComparisonOutput, OpenComparison};
use crate::output_file::Files;

pub(crate) use condition::{Condition, Conditions, Threshold};

/// Puts recordings and captures side by side: throughput, response times and errors of every operation, each with a 95 %
/// interval, and what may be said of the differences.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to compare, at least two: recordings (the folders of --record) or captures. The first is the baseline
    #[arg(required = true, num_args = 2.., value_name = "RECORDING|CAPTURE")]
    subjects: Vec<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: ComparisonOutput,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let inputs = arguments.subjects.iter().map(PathBuf::as_path).chain(arguments.keys.files());
    let output = arguments.output.open(&mut Files::reading(inputs))?;
    if arguments.subjects.iter().any(|path| path == Path::new("-")) {
        return Err(Usage("-: a comparison reads files".to_owned()).into());
    }
    let recordings = arguments.subjects.iter().filter(|path| path.is_dir()).count();
    let filters = arguments.filter.describe();
    if recordings > 0 && !filters.is_empty() {
        let why = "a recording keeps what was wanted when it was made; filters are for captures";
        return Err(Usage(format!("{}: {why}", filters.join(" "))).into());
    }
    if recordings == arguments.subjects.len() && arguments.keys.given() {
        return Err(Usage("session keys are for captures, and there is none".to_owned()).into());
    }
    let read = |path: &PathBuf| match path.is_dir() {
        true => recording::read(path),
        false => capture::read(path, &arguments.filter, &arguments.keys, arguments.output.quiet),
    };
    let sides = arguments.subjects.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let said = |(place, side): (usize, &Side)| Some(format!("{} {}", letter(place), side.unfinished.as_ref()?));
    let unfinished = sides.iter().enumerate().filter_map(said).collect();
    let (contestants, findings): (Vec<Contestant>, Vec<Findings>) =
        sides.into_iter().map(|side| (side.contestant, side.findings)).unzip();
    finish(&contestants, &findings, (Order::Apart, unfinished), &arguments.conditions, output)
}

/// The load level that a capture is, in words.
const WHOLE_CAPTURE: &str = "whole capture";

/// One of the things that are compared.
struct Side {
    contestant: Contestant,
    /// Its own report, for the page.
    findings: Findings,
    /// What is missing of a recording, as the rest of a sentence.
    unfinished: Option<String>,
}

/// Compares, judges what is to fail, writes. `findings` are the contestants' own reports, for the page; or none. Besides their
/// order comes what else a reader must know before believing the differences.
pub(crate) fn finish(
    contestants: &[Contestant],
    findings: &[Findings],
    (order, more): (Order, Vec<String>),
    conditions: &Conditions,
    output: OpenComparison,
) -> anyhow::Result<Done> {
    // Whether the numbers may be used comes first.
    let warnings = [comparable::warnings(contestants)?, more].concat();
    let tool = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
    let mut comparison = Comparison::collect(tool, contestants, order, warnings);
    let judged = judge::judge(&mut comparison, conditions);
    let printed = output.prints();
    output.write(&comparison, findings)?;
    let invalid = (0..).zip(contestants).find(|(_, one)| !one.about.validity.valid);
    Ok(match (judged, invalid) {
        // What was printed says why.
        (Done::Normally, Some((place, _))) if printed => Done::NoVerdict(format!("{} is INVALID", letter(place))),
        (Done::Normally, Some((place, one))) => {
            Done::NoVerdict(format!("{} is INVALID: {}", letter(place), exit::first(&one.about.validity.reasons)))
        }
        (judged, _) => judged,
    })
}
