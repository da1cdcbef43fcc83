//! `plimsoll compare`: runs and captures side by side.

mod capture;
mod comparable;
mod condition;
mod judge;

use std::path::{Path, PathBuf};

use plimsoll_report::collect::comparison::{Contestant, Order};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::Comparison;

use crate::exit::{Done, Usage};
use crate::filter::Filter;
use crate::keys::Keys;
use crate::output::ComparisonOutput;

pub(crate) use condition::Conditions;

/// Puts captures side by side: throughput, response times and errors of every operation, each with a 95 % interval, and
/// what may be said of the differences.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to compare, at least two: captures. The first is the baseline
    #[arg(required = true, num_args = 2.., value_name = "CAPTURE")]
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
    arguments.output.check()?;
    if arguments.subjects.iter().any(|path| path == Path::new("-")) {
        return Err(Usage("-: a comparison reads files".to_owned()).into());
    }
    let subjects = arguments.subjects.iter();
    let read = |path: &PathBuf| capture::read(path, &arguments.filter, &arguments.keys, arguments.output.quiet);
    let read = subjects.map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let (contestants, findings): (Vec<Contestant>, Vec<Findings>) = read.into_iter().unzip();
    finish(&contestants, &findings, Order::Apart, &arguments.conditions, &arguments.output)
}

/// Compares, judges what is to fail, writes. `findings` are the contestants' own reports, for the page; or none.
pub(crate) fn finish(
    contestants: &[Contestant],
    findings: &[Findings],
    order: Order,
    conditions: &Conditions,
    output: &ComparisonOutput,
) -> anyhow::Result<Done> {
    let warnings = comparable::warnings(contestants)?;
    let tool = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
    let mut comparison = Comparison::collect(tool, contestants, order, warnings);
    let failed = judge::judge(&mut comparison, conditions);
    output.write(&comparison, findings)?;
    Ok(if failed { Done::Failed } else { Done::Valid })
}
