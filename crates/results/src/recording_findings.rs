//! The findings of a recording for `plimsoll report`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use anyhow::Context;
use plimsoll_model::{Names, Reason, Validity};
use plimsoll_recording::folder::{Progress, RecordedLevel, Recording};
use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_report::findings::{About, Findings, Run, Source};
use serde::Deserialize;
use serde_json::Value;

use crate::record::{HOST_NAMES, Measurement};
use crate::{cautions, read_level};

/// The findings of a recording: a pure function of it. `status_name` names the statuses of its protocol.
///
/// # Errors
/// The recording is damaged, or of another version.
pub fn findings(recording: &Recording, status_name: StatusName) -> anyhow::Result<Findings> {
    let mut findings = match measured(recording)? {
        Measurement::Run { run, source, .. } => of_run(recording, *run, source, status_name)?,
        Measurement::Analyze { source, .. } => of_analysis(recording, source, status_name)?,
    };
    findings.warnings.extend(incomplete(recording).map(|what| format!("This recording {what}")));
    findings.warnings.extend(earlier(recording));
    Ok(match &recording.manifest.validity {
        Some(recorded) => with_recorded(findings, recorded),
        None => findings,
    })
}

/// Adds the reasons of the manifest that do not follow from the statistics, such as the error that ended a run, or a recording that is
/// missing in a merged one.
fn with_recorded(findings: Findings, recorded: &Validity) -> Findings {
    let more = only_recorded(&findings, recorded);
    if more.is_empty() { findings } else { findings.and(more) }
}

/// The reasons of a recorded verdict that do not follow from the statistics, whose findings these are.
pub(crate) fn only_recorded(findings: &Findings, recorded: &Validity) -> Vec<Reason> {
    // Instants in the reasons of a capture may have been written in another time zone. The reasons of a run begin with their level.
    let before_numbers =
        |text: &str| text.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or_default().to_owned();
    let is_same = |one: &str, other: &str| {
        let begin = before_numbers(one);
        one == other || findings.run.is_none() && !begin.is_empty() && begin == before_numbers(other)
    };
    let known = |text: &str| findings.validity.reasons.iter().any(|reason| is_same(reason, text));
    let more = recorded.each_reason().filter(|(_, text)| !known(text));
    more.map(|(verdict, text)| Reason { verdict, text: text.to_owned() }).collect()
}

/// The user's title, labels and description of a recording.
///
/// # Errors
/// There is no recording in the folder, or it is of another version.
pub fn about(folder: &Path) -> anyhow::Result<About> {
    Ok(Recording::open(folder)?.manifest.about()?)
}

/// The measurement.
///
/// # Errors
/// The manifest is of another version.
pub fn measured(recording: &Recording) -> anyhow::Result<Measurement> {
    serde_json::from_value(recording.manifest.measured.clone()).context(
        "manifest.json: unknown format of the field `measured`; another version of plimsoll wrote this recording",
    )
}

fn of_run(recording: &Recording, mut run: Run, source: Source, status_name: StatusName) -> anyhow::Result<Findings> {
    let mut names = Names::default();
    let recorded = &recording.manifest.levels;
    let mut read = |level: &RecordedLevel| -> anyhow::Result<MeasuredLevel> {
        let statistics = recording.statistics(level, &mut names)?.0;
        Ok(MeasuredLevel { statistics, ..read_level(&level.about)? })
    };
    let mut read: Vec<MeasuredLevel> = recorded.iter().map(&mut read).collect::<Result<_, _>>()?;
    let (unfinished, mut remarks) = unfinished(recording, &mut names)?;
    read.extend(unfinished);
    if recorded.is_empty() && !read.is_empty() {
        // It is noted when a level ends.
        remarks.push(
            "The recording lacks the negotiated dialect, signing and maximum sizes, because no level finished"
                .to_owned(),
        );
    }
    run.threads = read.iter().map(|level| level.threads).max().unwrap_or(0);
    let levels: Vec<&MeasuredLevel> = read.iter().collect();
    let mut findings = Findings::collect_run(run, &levels, &names, source, status_name);
    findings.warnings.extend(read.iter().flat_map(cautions));
    findings.warnings.extend(remarks);
    Ok(findings)
}

/// Unfinished levels with data, and remarks about them.
type Unfinished = (Vec<MeasuredLevel>, Vec<String>);

fn unfinished(recording: &Recording, names: &mut Names) -> anyhow::Result<Unfinished> {
    let (mut levels, mut remarks) = (Vec::new(), Vec::new());
    for folder in &recording.partial {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        match recording.progress(folder, names) {
            Ok(Some((level, statistics, _))) => {
                let load_name = level.load_name.as_deref().unwrap_or_default();
                remarks.push(format!(
                    "{load_name}: the level did not finish. Its results end with the last saved state (saved about every second), and \
                    lack queue depth and transaction rows"
                ));
                levels.push(MeasuredLevel { statistics, ..read_level(&level.about)? });
            }
            Ok(None) => remarks.push(format!("{name} has no results: its measured phase ran for less than one second")),
            // A damaged level does not hide the finished ones.
            Err(error) => remarks.push(format!("{name} is omitted, because it is unreadable: {error}")),
        }
    }
    Ok((levels, remarks))
}

fn of_analysis(recording: &Recording, source: Source, status_name: StatusName) -> anyhow::Result<Findings> {
    let mut names = Names::default();
    let why = match recording.manifest.state {
        Progress::Running => {
            "the recording has no results yet: its program was killed, or is still running; plimsoll watch records results about every 5 s"
        }
        _ => "the analysis did not finish, so the recording has no results; analyse the capture again",
    };
    let earlier = earlier(recording).map_or_else(String::new, |earlier| format!(". {earlier}"));
    let level = recording.manifest.levels.first().with_context(|| format!("{why}{earlier}"))?;
    let (statistics, coverage) = recording.statistics(level, &mut names)?;
    let findings = Findings::collect(&statistics, &coverage, &names, source, status_name);
    let hosts = host_names(level)?;
    Ok(findings.with_host_names(|ip| hosts.get(&ip).map(String::as_str)))
}

/// The host names from a capture, as in its report.
///
/// # Errors
/// The manifest is of another version.
pub(crate) fn host_names(level: &RecordedLevel) -> anyhow::Result<BTreeMap<IpAddr, String>> {
    let names = level.about.get(HOST_NAMES).map(BTreeMap::deserialize).transpose();
    Ok(names.context("manifest.json: unknown format of `about`")?.unwrap_or_default())
}

/// Where the old recording is that a recording without results has not replaced.
fn earlier(recording: &Recording) -> Option<String> {
    let folder = recording.replaced()?;
    Some(format!("The old recording is still there: plimsoll report {}", folder.display()))
}

/// A note about an unfinished recording, as the rest of a sentence.
pub fn incomplete(recording: &Recording) -> Option<String> {
    // Results so far belong to a level in `partial`.
    let levels = || recording.manifest.levels.iter().filter(|level| !level.is_so_far());
    // A stopped level is present but not finished.
    let whole = |level: &&RecordedLevel| {
        level.load_name.is_none() || read_level(&level.about).is_ok_and(|level| level.complete)
    };
    let finished = levels().filter(whole).count();
    let stopped = levels().count() - finished;
    let left = match recording.partial.len() + stopped {
        0 => String::new(),
        1 => " and part of one unfinished level".to_owned(),
        many => format!(" and parts of {many} unfinished levels"),
    };
    let what = match recording.manifest.state {
        Progress::Finished => return None,
        Progress::Running => "is unfinished (its process was killed, or is still running)",
        Progress::Interrupted => "ended early (the user or an error stopped it)",
    };
    let levels = if finished == 1 { "level" } else { "levels" };
    let missing = planned_levels(recording).filter(|(number, _)| {
        let is_finished = |level: &RecordedLevel| u64::from(level.number) == *number && whole(&level);
        !recording.manifest.levels.iter().any(is_finished)
    });
    Some(format!("{what}: it contains {finished} finished {levels}{left}{}.", listed(missing.map(|(_, words)| words))))
}

/// Number and words of each load level that a run planned, as far as that is known: the levels of a search, and those after a limit of
/// --stop-above, follow from measurements.
fn planned_levels(recording: &Recording) -> impl Iterator<Item = (u64, String)> {
    let spec = recording.manifest.measured.get("spec");
    let has = |name: &str| spec.and_then(|spec| spec.get(name)).is_some_and(|value| !value.is_null());
    let variants = spec.filter(|_| !has("search") && !has("stop_above_s")).and_then(|spec| spec.get("variants"));
    let levels = variants.and_then(Value::as_array).into_iter().flatten().filter_map(|variant| variant.get("levels"));
    levels.filter_map(Value::as_array).flatten().filter_map(|level| {
        let words = level.get("load_name")?.as_str()?;
        let curve = level.get("curve").and_then(Value::as_str).map(|curve| format!(" ({curve})")).unwrap_or_default();
        Some((level.pointer("/plan/level")?.as_u64()?, format!("{words}{curve}")))
    })
}

/// The load levels that a recording lacks, as the rest of a sentence; empty if it lacks none.
fn listed(missing: impl Iterator<Item = String>) -> String {
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() { String::new() } else { format!("; not finished: {}", first_levels(&missing)) }
}

/// The beginning of a reason that is of one load level, as in a report.
pub const OF_LEVEL: &str = "At ";

/// The first of these load levels, and the number of the others: a run may have thousands.
#[must_use]
pub fn first_levels(levels: &[String]) -> String {
    const MOST: usize = 5;
    let shown = levels.get(..MOST).unwrap_or(levels).join(", ");
    match levels.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Verdict;

    use super::*;

    #[test]
    fn reasons_of_the_manifest_are_added_once() {
        let of = |reasons: &[Reason]| Validity::of(reasons.iter().cloned());
        let (late, error) = (Reason::partial("At 1 client: late"), Reason::invalid("MOUNT: Connection refused"));
        let before = of(std::slice::from_ref(&late));
        let same = with_recorded(Findings { validity: before.clone(), ..Findings::default() }, &before);
        assert_eq!((same.validity.verdict, same.validity.reasons.len()), (Verdict::Partial, 1));
        let both = with_recorded(same, &of(&[error, late])).validity;
        assert_eq!(both.verdict, Verdict::Invalid);
        assert_eq!(both.reasons, ["MOUNT: Connection refused", "At 1 client: late"]);
        let down = |at: &str| of(&[Reason::partial(format!("The interface was down from {at}"))]);
        let capture = Findings { validity: down("09:00 UTC"), ..Findings::default() };
        assert_eq!(
            with_recorded(capture.clone(), &down("10:00 CET")).validity.reasons,
            ["The interface was down from 09:00 UTC"]
        );
        let run = Findings { run: Some(Run::default()), ..capture };
        assert_eq!(with_recorded(run, &down("10:00 CET")).validity.reasons.len(), 2);
    }

    #[test]
    fn a_list_of_missing_levels_is_short() {
        let levels = |count: usize| listed((1..=count).map(|clients| format!("{clients} clients")));
        assert_eq!(levels(0), "");
        assert_eq!(levels(2), "; not finished: 1 clients, 2 clients");
        assert!(levels(40).ends_with("4 clients, 5 clients and 35 more"), "{}", levels(40));
    }
}
