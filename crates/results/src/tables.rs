//! Transactions tables and recordings of all transactions, in the place of captures.

mod first_pass;
mod recorded;

use std::path::PathBuf;

use plimsoll_model::{Coverage, Names, Reason, Sink, Vantage};
use plimsoll_recording::folder::Recording;
use plimsoll_recording::{TableFormat, read_transactions};
use plimsoll_report::collect::TableFacts;
use plimsoll_report::collect::comparison::LoadPoint;
use plimsoll_stats::Headline;

use crate::Usage;
use crate::comparison::{WHOLE_TABLE, level_name, refuse_repeated_tables};
use first_pass::{FirstPass, Phase};
use recorded::{Input, Recorded, WholeLevel};

/// A warning about a table of a run whose manifest is not there.
const UNKNOWN_SCHEDULE: &str = "The table does not show whether the run had a schedule (--rate, --users). Response times count from the \
    first byte of the request; with a schedule, they then lack the delay of late starts.";

/// Tables to read, with the facts found before filtering.
pub struct Tables {
    files: Vec<PathBuf>,
    /// Whether only the rows of the measured phase count.
    measured_only: bool,
    span_ns: Option<(i64, i64)>,
    connections: u64,
    vantage: Vantage,
    headline: Headline,
    facts: TableFacts,
    unfinished: Option<String>,
    point: Option<LoadPoint>,
}

impl Tables {
    /// `None` where none of the inputs is a table or a recording. A folder without a recording is one of captures.
    ///
    /// # Errors
    /// The inputs mix tables and captures, or rows of captures and of runs; a table is given twice; a recording has only some of its
    /// transactions; there are several load levels; or a file cannot be read.
    pub fn open(inputs: &[PathBuf]) -> anyhow::Result<Option<Self>> {
        let is_one = |path: &&PathBuf| Recording::is_in(path) || TableFormat::of(path).is_ok();
        match inputs.iter().filter(is_one).count() {
            0 => return Ok(None),
            count if count < inputs.len() => {
                return Err(Usage(
                    "cannot analyze captures together with transactions tables or recordings; \
                give inputs of one kind"
                        .to_owned(),
                )
                .into());
            }
            _ => {}
        }
        let opened = Input::open_all(inputs)?;
        refuse_repeated_tables(opened.iter().flat_map(|input| &input.files).map(PathBuf::as_path))?;
        let mut first_pass = FirstPass::default();
        for file in opened.iter().flat_map(|input| &input.files) {
            read_transactions(file, &mut Names::default(), &mut first_pass)?;
        }
        first_pass.check(inputs)?;
        Ok(Some(Self::of(inputs, opened, &first_pass)))
    }

    fn of(inputs: &[PathBuf], opened: Vec<Input>, first_pass: &FirstPass) -> Self {
        let (files, recorded): (Vec<_>, Vec<_>) = opened.into_iter().map(|input| (input.files, input.recorded)).unzip();
        let measured_only = first_pass.is_of_a_phase();
        let rows = if measured_only { &first_pass.measured } else { &first_pass.all };
        // A table alone does not show whether its load had a schedule: every operation of a run has an intended start.
        let is_scheduled =
            |one: &Option<Recorded>| one.as_ref().is_some_and(|one| one.headline == Headline::FromIntended);
        let headline = if recorded.iter().all(is_scheduled) { Headline::FromIntended } else { Headline::Response };
        let mut facts = TableFacts::default();
        let is_known = recorded.iter().all(Option::is_some);
        facts.warnings.extend(left_out(first_pass, measured_only));
        if first_pass.is_intended && !is_known {
            facts.warnings.push(UNKNOWN_SCHEDULE.to_owned());
        }
        let alone_is_whole = recorded.len() == 1;
        let several = recorded.iter().filter(|one| !matches!(one, Some(one) if one.is_repeated)).count() > 1;
        let (mut unfinished, mut whole) = (None, None);
        for (input, one) in inputs.iter().zip(recorded) {
            let Some(one) = one.filter(|one| !one.is_repeated) else { continue };
            let at = if several { format!("{}: ", input.display()) } else { String::new() };
            let reasons = one.reasons.into_iter();
            facts.reasons.extend(reasons.map(|reason| Reason { text: format!("{at}{}", reason.text), ..reason }));
            facts.warnings.extend(one.cautions.into_iter().map(|caution| format!("{at}{caution}")));
            facts.warnings.extend(one.unfinished.iter().map(|what| format!("{at}This recording {what}")));
            (unfinished, whole) = (one.unfinished, one.whole.filter(|_| alone_is_whole));
        }
        if whole.is_none() {
            facts.reasons.push(Reason::partial(alone(first_pass.vantage(), is_known)));
        }
        let WholeLevel { coverage, point, span_ns } =
            whole.unwrap_or(WholeLevel { coverage: None, point: None, span_ns: None });
        let connections = rows.connections.len() as u64;
        Self {
            files: files.concat(),
            measured_only,
            span_ns: span_ns.or(rows.span),
            connections: coverage.as_ref().map_or(connections, |coverage| coverage.connections),
            vantage: first_pass.vantage(),
            headline,
            facts: TableFacts { coverage, ..facts },
            unfinished: unfinished.filter(|_| !several),
            point,
        }
    }

    /// Where the clock stood.
    pub fn vantage(&self) -> &'static str {
        self.vantage.label()
    }

    /// Which response time leads: that from the intended start if a schedule meant requests to start, as far as recordings tell.
    pub fn headline(&self) -> Headline {
        self.headline
    }

    /// Times of the first and the last message, or of the recorded phase or capture, ns since the Unix epoch.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        self.span_ns
    }

    /// What is known of the rows besides the rows.
    pub fn facts(&self) -> TableFacts {
        self.facts.clone()
    }

    /// The load of a recorded run; `None` if it is unknown.
    pub fn point(&self) -> Option<LoadPoint> {
        self.point.clone()
    }

    /// The load level that it is in a comparison, in words.
    pub fn level_name(&self) -> String {
        match (&self.point, self.vantage) {
            (None, Vantage::Client) => WHOLE_TABLE.to_owned(),
            (point, _) => level_name(point.as_ref()),
        }
    }

    /// The missing part of a recording, as the rest of a sentence.
    pub fn unfinished(&self) -> Option<String> {
        self.unfinished.clone()
    }

    /// Passes all transactions that count to `sink`. Returns their names and the coverage.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(self, sink: &mut impl Sink) -> anyhow::Result<(Names, Coverage)> {
        let mut names = Names::default();
        sink.begin(self.span_ns.map_or(0, |(first, _)| first));
        let mut phase = Phase { sink, measured_only: self.measured_only };
        for file in &self.files {
            read_transactions(file, &mut names, &mut phase)?;
        }
        let coverage = Coverage {
            first_ns: self.span_ns.map(|(first, _)| first),
            last_ns: self.span_ns.map(|(_, last)| last),
            connections: self.connections,
            ..Coverage::default()
        };
        Ok((names, coverage))
    }
}

/// The rows of a run that do not count.
fn left_out(first_pass: &FirstPass, measured_only: bool) -> Option<String> {
    let count = first_pass.all.count - first_pass.measured.count;
    let is_of_a_run = first_pass.vantage() == Vantage::Client;
    match (measured_only, count) {
        (true, 0) => None,
        (true, 1) => Some("1 row is left out, because it is not of the measured phase (column level).".to_owned()),
        (true, many) => {
            Some(format!("{many} rows are left out, because they are not of the measured phase (column level)."))
        }
        (false, _) => is_of_a_run.then(|| {
            "No row is of a measured phase (column level), so the numbers are of all rows, for example of the warm-up.".to_owned()
        }),
    }
}

/// Why a table alone is not all that there is to know.
fn alone(vantage: Vantage, is_recorded: bool) -> &'static str {
    match (vantage, is_recorded) {
        (_, true) => {
            "The input may be a part of what was recorded, so the report does not show everything that the recording knows. `plimsoll \
             report` with the folder of the recording does."
        }
        (Vantage::Wire, false) => {
            "The input is a table of transactions without packets, so it does not show whether the capture dropped packets. If you have \
             the capture, analyze the capture instead."
        }
        (Vantage::Client, false) => {
            "The input is a table of a run without its recording, so it does not show the load, the lateness of the load generator and \
             the verdict of the run. Analyze a recording instead (run --record DIR --record-transactions all)."
        }
    }
}

#[cfg(test)]
mod tests;
