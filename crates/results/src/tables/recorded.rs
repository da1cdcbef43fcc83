//! What a recording knows of its table of transactions, and the rows do not show: the verdict, the losses, and the load.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::{Coverage, Names, Reason, Validity};
use plimsoll_recording::folder::{RecordedLevel, Recording};
use plimsoll_report::collect::comparison::LoadPoint;
use plimsoll_report::findings::Parameter;
use plimsoll_stats::Headline;

use crate::Usage;
use crate::record::Measurement;
use crate::recording_findings::{OF_LEVEL, incomplete, measured};
use crate::{cautions, read_level};

/// The files of an input, and what a recording knows of them.
pub(super) struct Input {
    pub(super) files: Vec<PathBuf>,
    pub(super) recorded: Option<Recorded>,
}

/// What a recording knows of a load level, or of an analysis.
pub(super) struct Recorded {
    /// Whether an earlier file of the same level has all that is to be said of it.
    pub(super) is_repeated: bool,
    pub(super) headline: Headline,
    /// Why its numbers are PARTIAL or INVALID.
    pub(super) reasons: Vec<Reason>,
    /// Warnings about valid numbers.
    pub(super) cautions: Vec<String>,
    /// The missing part of the recording, as the rest of a sentence.
    pub(super) unfinished: Option<String>,
    /// All about the same rows as the table; `None` if the table has only some of them, or the recording has no verdict.
    pub(super) whole: Option<WholeLevel>,
}

/// What is true only of all rows of a level together.
pub(super) struct WholeLevel {
    /// Of captures: what they lost.
    pub(super) coverage: Option<Coverage>,
    /// Of a run: its load.
    pub(super) point: Option<LoadPoint>,
    /// Its time.
    pub(super) span_ns: Option<(i64, i64)>,
}

impl Input {
    /// The tables that paths stand for. A level may have many files: its first one has what the recording knows.
    ///
    /// # Errors
    /// A recording has only some of its transactions, or several load levels, or cannot be read.
    pub(super) fn open_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        let mut known: BTreeMap<PathBuf, Headline> = BTreeMap::new();
        paths.iter().map(|path| Self::open(path, &mut known)).collect()
    }

    /// `known`: the files of all levels of which something was said.
    fn open(path: &Path, known: &mut BTreeMap<PathBuf, Headline>) -> anyhow::Result<Self> {
        if !path.is_dir() {
            let headline = fs::canonicalize(path).ok().and_then(|file| known.get(&file).copied());
            let recorded = match headline {
                Some(headline) => Some(Recorded::repeated(headline)),
                None => around(path).map(|(recorded, files)| {
                    known.extend(files.into_iter().map(|file| (file, recorded.headline)));
                    recorded
                }),
            };
            return Ok(Self { files: vec![path.to_owned()], recorded });
        }
        let shown = path.display();
        let recording = Recording::open(path)?;
        let level = only_level(&recording, path)?;
        let files = recording.transactions(level).with_context(|| shown.to_string())?;
        let recorded = Recorded::of(&recording, level).with_context(|| shown.to_string())?;
        Ok(Self { files, recorded: Some(recorded) })
    }
}

impl Recorded {
    fn of(recording: &Recording, level: &RecordedLevel) -> anyhow::Result<Self> {
        let (statistics, coverage) = recording.statistics(level, &mut Names::default())?;
        let is_run = level.load_name.is_some();
        let about = is_run.then(|| read_level(&level.about)).transpose()?;
        let validity = match &about {
            Some(about) => Some(about.about.facts.validity.clone()),
            None => recording.manifest.validity.clone(),
        };
        let measurement = measured(recording)?;
        // The report of a later file of a capture is of all files so far, its rows are of that file alone.
        let is_later_file = matches!(&measurement, Measurement::Analyze { link: Some(link), .. } if link.number > 1);
        let whole = (validity.is_some() && !is_later_file).then(|| WholeLevel {
            coverage: (!is_run).then_some(coverage),
            point: about.as_ref().zip(level.load_name.clone()).map(|(about, load_name)| {
                let point = about.point();
                // The words of a level that was stopped early say so. Another workload is another load, too.
                LoadPoint { load_name, pace: [point.pace, work(&measurement)].concat(), ..point }
            }),
            span_ns: level.first_ns.zip(level.last_ns).filter(|(first, last)| first <= last),
        });
        let of_run = recording.manifest.validity.as_ref().filter(|_| is_run).map(of_no_level).unwrap_or_default();
        let reasons = validity.map(|validity| reasons(&validity, level.load_name.as_deref())).unwrap_or_default();
        Ok(Self {
            is_repeated: false,
            headline: statistics.headline(),
            reasons: [of_run, reasons].concat(),
            cautions: about.as_ref().map(cautions).unwrap_or_default(),
            unfinished: incomplete(recording),
            whole,
        })
    }

    /// That of another file of a level of which all is said.
    fn repeated(headline: Headline) -> Self {
        let (reasons, cautions) = (Vec::new(), Vec::new());
        Self { is_repeated: true, headline, reasons, cautions, unfinished: None, whole: None }
    }
}

/// The workload of a run and its parameters, in words.
fn work(measurement: &Measurement) -> Vec<String> {
    let Measurement::Run { run, .. } = measurement else { return Vec::new() };
    // 1GiB and 1024MiB are one size.
    let value = |one: &Parameter| one.bytes.map_or_else(|| one.value.clone(), |bytes| format!("{bytes} B"));
    let parameters = run.parameters.iter().map(|one| format!("{}={}", one.name, value(one)));
    std::iter::once(format!("workload {}", run.workload)).chain(parameters).collect()
}

/// The reasons of a run that are of none of its levels, such as the error that ended it.
fn of_no_level(validity: &Validity) -> Vec<Reason> {
    let of_run = validity.each_reason().filter(|(_, text)| !text.starts_with(OF_LEVEL));
    of_run.map(|(verdict, text)| Reason { verdict, text: text.to_owned() }).collect()
}

/// The reasons of a verdict; those of a load level say where, as in a report.
fn reasons(validity: &Validity, load_name: Option<&str>) -> Vec<Reason> {
    let text = |text: &str| load_name.map_or_else(|| text.to_owned(), |words| format!("{OF_LEVEL}{words}: {text}"));
    validity.each_reason().map(|(verdict, reason)| Reason { verdict, text: text(reason) }).collect()
}

/// What the recording around a file knows of it, and all files of the same level; `None` if the file is in no recording. Other programs
/// write a manifest.json, too, so one that cannot be read is none.
fn around(file: &Path) -> Option<(Recorded, Vec<PathBuf>)> {
    let file = fs::canonicalize(file).ok()?;
    let level_folder = file.parent()?;
    let folder = level_folder.parent().filter(|folder| Recording::is_in(folder))?;
    let recording = Recording::open(folder).ok()?;
    let is_its = |level: &&RecordedLevel| {
        let is_name = |its: &PathBuf| its.file_name() == file.file_name();
        // Other files of the level may be missing: the verdict is of this one, too.
        level_folder.file_name().is_some_and(|name| name == level.folder.as_str())
            && recording.transactions_present(level).is_ok_and(|files| files.iter().any(is_name))
    };
    let level = recording.manifest.levels.iter().find(is_its)?;
    let recorded = Recorded::of(&recording, level).ok()?;
    let names = recording.transactions_present(level).ok()?;
    let files = names.iter().filter_map(|its| Some(level_folder.join(its.file_name()?))).collect();
    // It may be one of several, or a sample.
    Some((Recorded { whole: None, ..recorded }, files))
}

/// The level of a recording with all its transactions.
fn only_level<'r>(recording: &'r Recording, folder: &Path) -> anyhow::Result<&'r RecordedLevel> {
    let shown = folder.display();
    let kept = &recording.manifest.transactions.which;
    if kept != "all" {
        let why = format!(
            "{shown}: recorded with --record-transactions {kept}, but this command line needs all transactions; \
            record again with --record-transactions all (`plimsoll report` prints the report of the recording as it is)"
        );
        return Err(Usage(why).into());
    }
    match recording.manifest.levels.as_slice() {
        [] => anyhow::bail!("{shown}: the recording has no finished load level; record again"),
        [level] if level.is_so_far() => {
            anyhow::bail!("{shown}: the recording gets its transactions only when its program ends; read it then")
        }
        [level] => Ok(level),
        levels => {
            let folders: Vec<&str> = levels.iter().map(|level| level.folder.as_str()).collect();
            let why = format!(
                "{shown}: the recording has {} load levels; choose one: {shown}/FOLDER/transactions-*.parquet, \
                where FOLDER is one of {}",
                levels.len(),
                folders.join(", ")
            );
            Err(Usage(why).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::{Parameter, Run, Source};
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_workload_of_a_run_is_a_part_of_its_load() {
        let (name, value) = ("block".to_owned(), "4 KiB".to_owned());
        let parameters = vec![Parameter { name, value, ..Parameter::default() }];
        let run = Box::new(Run { workload: "random-read".to_owned(), parameters, ..Run::default() });
        let (workload_text, source) = (String::new(), Source::default());
        let of_run = Measurement::Run { run, workload_text, spec: Value::Null, source };
        assert_eq!(work(&of_run), ["workload random-read", "block=4 KiB"]);
        let of_capture = Measurement::Analyze { source: Source::default(), captures: Vec::new(), link: None };
        assert_eq!(work(&of_capture), Vec::<String>::new());
    }

    #[test]
    fn the_reasons_of_a_run_are_those_of_no_level() {
        let [late, error] =
            ["At 8 clients: late", "The run ended with an error: Connection refused"].map(Reason::partial);
        let of_run = of_no_level(&Validity::of([late, error.clone()]));
        assert_eq!(of_run, [error]);
    }
}
