//! `plimsoll compare`: recordings and captures side by side.

use std::path::{Path, PathBuf};

use plimsoll_analysis::SideReader;
use plimsoll_observe::status_name;
use plimsoll_report::collect::comparison::{Contestant, Ignore, Order};
use plimsoll_report::findings::letter;
use plimsoll_results::comparison::points;
use plimsoll_results::comparison::{
    ComparedSide, Condition, Judgement, compare, invalid_sides, nothing_judged, read_recording, refuse_repeated,
};

use crate::exit::{Done, NO_VERDICT, Usage};
use crate::flags::analysis::source_options;
use crate::flags::filter::FilterFlags;
use crate::flags::keys::Keys;
use crate::flags::output::{ComparisonOutput, OpenOutput};
use plimsoll_console::output_file::Files;

const EXAMPLES: &str = "Examples:
  plimsoll compare before after
  plimsoll compare before after --fail-if \"read.p99 > +10%\"
  plimsoll compare monday.pcapng tuesday.pcapng --html compared.html
  plimsoll compare old@20=a.pcap old@40=b.pcap new@20=c.pcap new@40=d.pcap";

/// Compares throughput, response times and errors of recordings or captures, per operation and with 95 % intervals.
/// Says which differences are significant.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Two or more recordings (folders written with --record) or captures; the first is the baseline. NAME@LOAD=FILE is a
    /// capture with LOAD clients, one point of the load curve NAME
    #[arg(required_unless_present = "points", num_args = 2.., value_name = "RECORDING|CAPTURE")]
    subjects: Vec<PathBuf>,
    /// File with one NAME@LOAD=FILE per line, for many points. Paths of captures are relative to the folder of FILE
    #[arg(long, value_name = "FILE")]
    points: Option<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: ComparisonOutput,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut filter = arguments.filter.filter();
    filter.resolve()?;
    let points = points::points(&arguments.subjects, arguments.points.as_deref())?;
    let subjects: Vec<&Path> = match &points {
        Some(points) => points::files(points).collect(),
        None => arguments.subjects.iter().map(PathBuf::as_path).collect(),
    };
    // A capture may be several points of curves.
    if points.is_none() {
        refuse_repeated(subjects.iter().copied())?;
    }
    let inputs = subjects
        .iter()
        .copied()
        .chain(arguments.points.as_deref())
        .chain(arguments.keys.files())
        .chain(arguments.filter.files());
    let output = arguments.output.open(&mut Files::reading(inputs))?;
    if arguments.subjects.iter().any(|path| path == Path::new("-")) {
        return Err(Usage("-: compare cannot read standard input: name a file".to_owned()).into());
    }
    let recordings = arguments.subjects.iter().filter(|path| path.is_dir()).count();
    let filters = filter.describe();
    if recordings > 0 && recordings == arguments.subjects.len() && arguments.keys.given() {
        let why = "session keys apply to captures only, but all inputs are recordings: remove the keys";
        return Err(Usage(why.to_owned()).into());
    }
    let keys = || arguments.keys.read();
    let options = source_options(arguments.output.is_utc(), &arguments.filter, &arguments.keys);
    let reader = SideReader { filter: &filter, options: &options, keys: &keys, quiet: arguments.output.quiet };
    if let Some(points) = points {
        let (sides, warnings) = points::sides(points, |file| reader.point(file), (&filters, &options, status_name))?;
        let contestants = sides.into_iter().map(|side| side.contestant).collect();
        return finish(contestants, (Order::Apart, warnings), &arguments.conditions, output);
    }
    let read = |path: &PathBuf| {
        // Of a recording, statistics are of everything; filters look at its transactions.
        if path.is_dir() && filters.is_empty() {
            return read_recording(path, status_name);
        }
        reader.side(path)
    };
    let sides = arguments.subjects.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let said = |(place, side): (usize, &ComparedSide)| Some(format!("{} {}", letter(place), side.unfinished.as_ref()?));
    let unfinished = sides.iter().enumerate().filter_map(said).collect();
    let contestants = sides.into_iter().map(|side| side.contestant).collect();
    finish(contestants, (Order::Apart, unfinished), &arguments.conditions, output)
}

/// Conditions for exit code 1, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Continuous integration")]
pub(crate) struct Conditions {
    /// Exit with code 1 if this condition is true for the whole confidence interval of the number, e.g. "read.p99 > +10%",
    /// "errors > 1%", "all.throughput < -5%" or "mean > 5ms"; may be repeated. + and - are changes from the baseline
    #[arg(long = "fail-if", value_name = "CONDITION", value_parser = Condition::parse)]
    wanted: Vec<Condition>,
    /// Exit code if no condition failed but at least one was undecided [default: 4]. For `git bisect run`, 125 skips
    /// the commit
    #[arg(long, value_name = "CODE", requires = "wanted")]
    exit_undecided: Option<u8>,
    /// Rank the servers and check --fail-if even if the servers differ in signing, encryption, stable writes, or granted oplocks and
    /// leases [default: if they differ, no ranking and exit code 4]
    #[arg(long)]
    ignore_guarantees: bool,
    /// Call differences better or worse, rank the servers and check --fail-if even if the loads or workloads differ, for
    /// example in --clients, --rate, --think or --set, or loads are unknown (captures) [default: if they differ, changes from the
    /// baseline are not judged]
    #[arg(long)]
    ignore_load: bool,
}

impl Conditions {
    /// The conditions.
    pub(crate) fn wanted(&self) -> &[Condition] {
        &self.wanted
    }

    /// Differences between the sides that are ignored.
    pub(crate) fn ignore(&self) -> Ignore {
        Ignore { guarantees: self.ignore_guarantees, load: self.ignore_load }
    }

    /// Exit status if the user interrupted the first round.
    pub(crate) fn without_rounds(&self) -> Done {
        let why = "interrupted before the first round (four runs) was complete: no verdict".to_owned();
        Done::Undecided { code: self.exit_undecided.unwrap_or(NO_VERDICT), why }
    }

    /// Exit status for these judgements.
    pub(crate) fn done(&self, Judgement { failed, undecided }: &Judgement, refused: Option<&str>) -> Done {
        if let Some(why) = refused {
            let why = format!("{why}; --ignore-guarantees ranks the sides anyway");
            return Done::Undecided { code: self.exit_undecided.unwrap_or(NO_VERDICT), why };
        }
        match (failed.as_slice(), undecided.as_slice()) {
            ([], []) => Done::Normally,
            ([], _) => {
                let why = undecided.join("; ");
                Done::Undecided { code: self.exit_undecided.unwrap_or(NO_VERDICT), why }
            }
            _ => Done::Failed(failed.join("; ")),
        }
    }
}

/// Compares, judges the conditions and writes the report with its cautions, among them the order of the contestants'
/// runs.
pub(crate) fn finish(
    contestants: Vec<Contestant>,
    (order, more): (Order, Vec<String>),
    conditions: &Conditions,
    output: OpenOutput,
) -> anyhow::Result<Done> {
    let (report, judgement) = compare(contestants, (order, more), &conditions.wanted, conditions.ignore())?;
    let refused = report.comparison.as_ref().and_then(|comparison| comparison.refused.clone());
    let judged = conditions.done(&judgement, refused.as_deref());
    let printed = output.prints();
    output.write(&report)?;
    Ok(match (judged, invalid_sides(&report.sides, printed)) {
        (Done::Normally, Some(why)) => Done::NoVerdict(why),
        (Done::Normally, None) => nothing_judged(&report).map_or(Done::Normally, Done::NoVerdict),
        (judged, _) => judged,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        conditions: Conditions,
    }

    fn done(flags: &[&str], failed: &[&str], undecided: &[&str]) -> Done {
        let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect();
        let judgement = Judgement { failed: lines(failed), undecided: lines(undecided) };
        Flags::parse_from([&["x", "--fail-if", "p99 > +5%"], flags].concat()).conditions.done(&judgement, None)
    }

    #[test]
    fn a_failed_condition_outweighs_an_undecided_one() {
        assert_eq!(done(&[], &[], &[]), Done::Normally);
        assert!(matches!(done(&[], &[], &["u"]), Done::Undecided { code: 4, why } if why == "u"));
        let skip = ["--exit-undecided", "125"];
        assert!(matches!(done(&skip, &[], &["u"]), Done::Undecided { code: 125, .. }));
        // A failed condition counts, even if others are undecided.
        assert_eq!(done(&skip, &["f"], &["u"]), Done::Failed("f".to_owned()));
    }
}
