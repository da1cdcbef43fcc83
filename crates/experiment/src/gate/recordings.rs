//! A gate on recordings: nothing is measured.

use std::path::{Path, PathBuf};

use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::comparison::{Contestant, Ignore, Order};
use plimsoll_report::findings::{Report, letter};
use plimsoll_results::Usage;
use plimsoll_results::comparison::{ComparedSide, Condition, compare, read_recording, read_runs, refuse_repeated};

use super::recorded::{RecordedSide, judge_recordings};
use super::result::{Basis, GateResult};

/// Note about recordings that were not made alternately.
const APART: &str = "The sides were not measured alternately (in the order A B B A). Any change between the measurements, for \
    example other load on the machine, counts as a difference between the servers";
/// Note about single recordings with repeats.
const ONE_START: &str = "Each side has only one recording, so the confidence intervals do not include differences between starts of the \
    server; make several recordings of each side";

/// Recordings of the baseline and of the candidate.
#[derive(Debug, PartialEq, Eq)]
pub struct Recordings([Vec<PathBuf>; 2]);

impl Recordings {
    /// Those among the arguments, before and after `--`; `None` where the sides are targets.
    ///
    /// # Errors
    /// Only some of the arguments are recordings, a side has none, or a recording is given twice.
    pub fn named(sides: &[String], candidates: &[PathBuf]) -> Result<Option<Self>, Usage> {
        let before: Vec<PathBuf> = sides.iter().map(PathBuf::from).collect();
        let (baseline, candidate) = match (candidates, before.split_last()) {
            ([], Some(_)) if !before.iter().take(2).any(|path| path.is_dir()) => return Ok(None),
            ([], Some((last, others))) => (others.to_vec(), vec![last.clone()]),
            (after, _) => (before, after.to_vec()),
        };
        let mut all = baseline.iter().chain(&candidate);
        if let Some(other) = all.find(|path| !path.is_dir()) {
            return Err(Usage(format!(
                "{}: not a recording, but other arguments are recordings; give recordings of the baseline and of the candidate, or \
                recordings of the baseline followed by a command that measures the candidate (-- run WORKLOAD --target URL --record DIR)",
                other.display()
            )));
        }
        if baseline.is_empty() {
            return Err(Usage(format!(
                "{}: gate needs at least one recording of the baseline and one of the candidate",
                candidate[0].display()
            )));
        }
        refuse_repeated(baseline.iter().chain(&candidate).map(PathBuf::as_path))?;
        Ok(Some(Self([baseline, candidate])))
    }

    /// The baseline's recordings.
    ///
    /// # Errors
    /// One of them is none, or is given twice.
    pub fn baseline(sides: &[String]) -> Result<Vec<PathBuf>, Usage> {
        match sides.iter().find(|side| !Path::new(side).is_dir()) {
            Some(other) => Err(Usage(format!(
                "{other}: not a recording; give recordings of the baseline (plimsoll run … --record DIR) before `-- run`"
            ))),
            None => {
                refuse_repeated(sides.iter().map(Path::new))?;
                Ok(sides.iter().map(PathBuf::from).collect())
            }
        }
    }

    /// All recordings.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flatten().map(PathBuf::as_path)
    }

    /// The names of the sides in outputs. The letters are those of the comparison.
    pub fn names(&self) -> [String; 2] {
        let mut letters = (0..).map(letter);
        let only = self.0.iter().all(|side| side.len() == 1);
        let mut name = |path: &PathBuf| match letters.next().filter(|_| !only) {
            Some(letter) => format!("{letter} {}", path.display()),
            None => path.display().to_string(),
        };
        let [baseline, candidate] = &self.0;
        [baseline, candidate].map(|side| side.iter().map(&mut name).collect::<Vec<_>>().join(", "))
    }

    /// Compares all recordings and judges the conditions.
    ///
    /// # Errors
    /// A recording cannot be read, or they have no load level in common.
    pub fn judge(
        &self,
        conditions: &[Condition],
        ignore: Ignore,
        status_name: StatusName,
    ) -> anyhow::Result<(GateResult, Report)> {
        let read = |path: &PathBuf| read_recording(path, status_name);
        let sides = self.0.iter().flatten().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let said =
            |(place, side): (usize, &ComparedSide)| Some(format!("{} {}", letter(place), side.unfinished.as_ref()?));
        let unfinished: Vec<String> = sides.iter().enumerate().filter_map(said).collect();
        let contestants: Vec<Contestant> = sides.into_iter().map(|side| side.contestant).collect();
        let compared = |order| compare(contestants.clone(), (order, unfinished.clone()), &[], ignore);
        let (mut report, _) = compared(Order::Apart)?;
        let runs =
            |side: &Vec<PathBuf>| side.iter().map(|path| read_runs(path)).collect::<anyhow::Result<RecordedSide>>();
        let [baseline, candidate] = &self.0;
        let result = judge_recordings(&[runs(baseline)?, runs(candidate)?], conditions, &report)?;
        let single = baseline.len() + candidate.len() == 2;
        match result.basis {
            Basis::Rounds { .. } if single => report = compared(Order::InPairs)?.0,
            Basis::Rounds { .. } => {}
            Basis::Apart => {
                let warnings = report.comparison.iter_mut().map(|comparison| &mut comparison.warnings);
                warnings.for_each(|all| {
                    all.extend([APART].into_iter().chain(single.then_some(ONE_START)).map(str::to_owned))
                });
            }
        }
        Ok((result, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_recordings_and_the_last_is_the_candidate() {
        let folder = |name: &str| std::env::temp_dir().join(name);
        let names = ["plimsoll-gate-a", "plimsoll-gate-b", "plimsoll-gate-c"].map(|name| {
            std::fs::create_dir_all(folder(name)).unwrap();
            folder(name).display().to_string()
        });
        let paths = |names: &[String]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let named = |sides: &[String], after: &[PathBuf]| Recordings::named(sides, after);
        let [all, two] = [&names[..], &names[..2]];
        assert_eq!(named(all, &[]).unwrap(), Some(Recordings([paths(two), paths(&names[2..])])));
        let split = named(two, &paths(&names[2..])).unwrap().unwrap();
        assert_eq!(split, Recordings([paths(two), paths(&names[2..])]));
        assert_eq!(split.names()[1], format!("C {}", names[2]));
        let targets = ["nfs://a/x".to_owned(), "nfs://b/x".to_owned()];
        assert_eq!(named(&targets, &[]).unwrap(), None);
        let mixed = [names[0].clone(), targets[0].clone()];
        assert!(named(&mixed, &[]).unwrap_err().0.starts_with("nfs://a/x: not a recording"));
        assert!(named(&names[..1], &[]).unwrap_err().0.contains("needs at least one recording of the baseline"));
        assert!(named(&targets, &paths(&names[2..])).is_err());
        let twice = [names[0].clone(), names[0].clone()];
        assert!(named(&twice, &[]).unwrap_err().0.contains("given twice"));
        assert!(named(&twice[..1], &paths(&twice[..1])).unwrap_err().0.contains("given twice"));
    }
}
