//! Merges recordings of capture files: files of one capture, analysed by a chain of jobs, and captures that were analysed separately.
//!
//! The last job of a chain has the statistics of all, and each job has the intervals and rows of its own files; so the merged result
//! equals one analysis of all files. For separately analysed captures all numbers are sums.
//!
//! The state that a job passes to the next one is every field of the observer and the statistics, written by `analysis::chain`.

mod chain;
mod file_recording;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use plimsoll_model::{Coverage, Names, Reason};
use plimsoll_recording::folder::{Finished, Recording};
use plimsoll_report::collect::StatusName;
use plimsoll_report::findings::{Findings, Source};
use plimsoll_stats::{Breakdown, Intervals, Statistics};

use chain::Chain;
use file_recording::FileRecording;

use crate::record::{Measurement, RecordTo, Recorder, Rows, about_of};
use crate::recording_findings::{host_names, measured};

/// Whether a folder has the recording of an analysis.
pub fn is_of_captures(folder: &Path) -> bool {
    let measured = Recording::open(folder).ok().and_then(|recording| measured(&recording).ok());
    matches!(measured, Some(Measurement::Analyze { .. }))
}

/// Merges recordings of captures; `to` is the optional recording of the result. Other failures are in the findings.
///
/// # Errors
/// None of them can be used.
pub fn merge(
    folders: &[PathBuf],
    to: Option<RecordTo>,
    status_name: StatusName,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let (recordings, mut reasons) = file_recording::opened(folders);
    let chains = chain::chains(&recordings, &mut reasons);
    if chains.is_empty() {
        let why = reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ");
        anyhow::bail!("cannot merge, because no folder has a usable recording of a capture: {why}");
    }
    let whole = Whole::of(&chains, status_name, &mut reasons)?;
    let findings =
        Findings::collect(&whole.statistics, &whole.coverage, &whole.names, whole.source.clone(), status_name)
            .with_host_names(|ip| whole.host_names.get(&ip).map(String::as_str));
    let findings = if reasons.is_empty() { findings } else { findings.and(reasons) };
    let recorded = to.map_or(Ok(()), |to| whole.record(to, &findings));
    Ok((findings, recorded))
}

/// The beginning of a reason, also in merged recordings: operations across the ends of captures are lost.
const APART: &str = "Several captures were analysed separately.";

/// The merged result.
struct Whole<'c, 'r> {
    /// The chains that are merged.
    chains: Vec<&'c Chain<'r>>,
    statistics: Statistics,
    coverage: Coverage,
    names: Names,
    source: Source,
    host_names: BTreeMap<IpAddr, String>,
}

impl<'c, 'r> Whole<'c, 'r> {
    /// Adds the reasons against the result to `reasons`.
    fn of(chains: &'c [Chain<'r>], status_name: StatusName, reasons: &mut Vec<Reason>) -> anyhow::Result<Self> {
        let (mut names, mut host_names) = (Names::default(), BTreeMap::new());
        let (mut merged, mut earlier) = (Vec::new(), Vec::new());
        let mut sum: Option<(Statistics, Coverage, Source)> = None;
        for chain in chains {
            let last = chain.last();
            let (mut statistics, coverage) = last.recording.statistics(&last.level, &mut names)?;
            if let Some((all, ..)) = &sum
                && all.breakdown().map(Breakdown::dimensions) != statistics.breakdown().map(Breakdown::dimensions)
            {
                let (mine, theirs) = (by(&statistics), by(all));
                let why = format!("{} is not merged: it was made {mine}, not {theirs}", last.shown);
                reasons.push(Reason::invalid(why));
                continue;
            }
            earlier.extend(last.recorded_reasons((&statistics, &coverage, &names), status_name));
            host_names.extend(host_names_of(last)?);
            merged.push(chain);
            let Some((all, seen, source)) = &mut sum else {
                sum = Some((statistics, coverage, last.source.clone()));
                continue;
            };
            // Each analysis counts its connections from 0.
            statistics.renumber_connections(all.connections_end());
            // A longer list would lack requests of the analysis with the shorter one.
            let slowest = all.slowest_limit().min(statistics.slowest_limit());
            all.merge(&statistics);
            all.shorten_slowest(slowest);
            seen.add(&coverage);
            source.inputs.extend(last.source.inputs.iter().cloned());
        }
        let (statistics, coverage, mut source) = sum.ok_or_else(|| anyhow::anyhow!("there is no recording"))?;
        merged.iter().flat_map(|chain| chain.recordings()).for_each(|part| add_options(&mut source, &part.source));
        let whole = Self { chains: merged, statistics, coverage, names, source, host_names };
        let apart = whole.apart();
        // The counts of this reason include those of merged recordings.
        earlier.retain(|reason| apart.is_none() || !reason.text.contains(APART));
        reasons.extend(apart.into_iter().chain(earlier));
        Ok(whole)
    }

    /// A note about separately analysed captures: operations across their ends are lost.
    fn apart(&self) -> Option<Reason> {
        let unseen = &self.coverage.unseen;
        let (requests, responses) = (unseen.requests_waiting, unseen.responses_before_start);
        (self.chains.len() > 1 && requests + responses > 0).then(|| {
            Reason::partial(format!(
                "{APART} {requests} requests have no response, because their capture ended too early, and {responses} responses have no \
                request, because their capture began too late. If the captures are consecutive, analyse them again with --hand-over-to and \
                --hand-over-from"
            ))
        })
    }

    /// Writes the recording of the result. After an error, the folder has no recording, or the one that was to be replaced.
    fn record(&self, to: RecordTo, findings: &Findings) -> anyhow::Result<()> {
        let rows = match self.parts().next().map(|part| part.recording.manifest.transactions.which.as_str()) {
            Some("all") => Rows::All,
            Some("none") | None => Rows::None,
            Some(_) => Rows::Sample,
        };
        let captures = self.parts().flat_map(|part| part.captures.iter().cloned()).collect();
        let measured = Measurement::Analyze { source: self.source.clone(), captures, link: None };
        let mut recorder = RecordTo { rows, ..to }.begin(&measured, "the clock of the capture", 1)?;
        if let Err(error) = self.write(&mut recorder) {
            // The user must see this error, so a second one is not reported.
            let _ = recorder.writer.discard();
            return Err(error);
        }
        recorder.finish(false, findings)
    }

    fn parts(&self) -> impl Iterator<Item = &'r FileRecording> {
        self.chains.iter().flat_map(|chain| chain.recordings())
    }

    fn write(&self, recorder: &mut Recorder) -> anyhow::Result<()> {
        let mut level = recorder.writer.begin(0, None)?;
        let mut intervals = Intervals::growing();
        for part in self.parts() {
            intervals.merge(&part.recording.intervals(&part.level)?);
            level.adopt(&part.recording, &part.level);
        }
        level.rest(&intervals);
        let finished = Finished {
            load_name: None,
            span_ns: (self.coverage.first_ns, self.coverage.last_ns),
            state: self.statistics.to_bytes(&self.coverage, &self.names),
            about: about_of(&self.host_names),
            part: None,
        };
        Ok(recorder.writer.end(level, finished, &self.names)?)
    }
}

/// The dimensions of the sums, in words.
fn by(statistics: &Statistics) -> String {
    let labels = |by: &Breakdown| by.dimensions().iter().map(|one| one.label()).collect::<Vec<_>>().join(",");
    statistics.breakdown().map_or_else(|| "without --by".to_owned(), |by| format!("with --by {}", labels(by)))
}

/// Adds the options of another source that the first one lacks: its inputs cannot be read without them.
fn add_options(source: &mut Source, other: &Source) {
    for option in &other.options {
        if !source.options.contains(option) {
            source.options.push(option.clone());
        }
    }
}

fn host_names_of(part: &FileRecording) -> anyhow::Result<BTreeMap<IpAddr, String>> {
    host_names(&part.level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_merged_is_read_with_the_options_of_all() {
        let source = |input: &str, options: &[&str]| Source {
            inputs: vec![input.to_owned()],
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..Source::default()
        };
        let mut merged = source("a.pcap", &[Source::UTC]);
        assert!(merged.is_readable_again());
        add_options(&mut merged, &source("b.pcap", &[Source::UTC, Source::SESSION_KEY]));
        assert_eq!(merged.options, [Source::UTC, Source::SESSION_KEY]);
        assert!(!merged.is_readable_again(), "no report has the key");
    }
}
