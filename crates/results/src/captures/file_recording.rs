//! The recording of one analysis.

use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::Reason;
use plimsoll_recording::folder::{Progress, RecordedLevel, Recording};
use plimsoll_report::findings::Source;

use crate::record::{Capture, Link, Measurement};
use crate::recording_findings::measured;

/// The recording of one analysis that finished.
pub(super) struct FileRecording {
    /// Its folder, for messages.
    pub(super) shown: String,
    pub(super) recording: Recording,
    pub(super) source: Source,
    pub(super) captures: Vec<Capture>,
    pub(super) link: Option<Link>,
    pub(super) level: RecordedLevel,
}

impl FileRecording {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let recording = Recording::open(folder)?;
        let Measurement::Analyze { source, captures, link } = measured(&recording)? else {
            anyhow::bail!("it is the recording of a run, not of a capture");
        };
        let unfinished = match recording.manifest.state {
            Progress::Finished => None,
            Progress::Running => Some("the analysis did not finish: its process was killed, or is still running"),
            Progress::Interrupted => Some("the analysis did not finish: the user interrupted it"),
        };
        let level = recording.manifest.levels.first().cloned();
        match (unfinished, level) {
            (Some(why), _) => anyhow::bail!(why),
            (None, level) => {
                let level = level.context("the analysis did not finish: the recording has no results")?;
                Ok(Self { shown: folder.display().to_string(), recording, source, captures, link, level })
            }
        }
    }

    /// Why it cannot be added to `first`; `None` where it can.
    fn differs(&self, first: &Self) -> Option<String> {
        let (mine, theirs) = (&self.recording.manifest, &first.recording.manifest);
        if mine.tool != theirs.tool {
            return Some(format!("it was made by {}, not by {}", mine.tool, theirs.tool));
        }
        if mine.transactions != theirs.transactions {
            let [mine, theirs] = [mine, theirs].map(|manifest| &manifest.transactions.which);
            return Some(format!("it was made with --record-transactions {mine}, not {theirs}"));
        }
        let [mine, theirs] = [self, first].map(|one| filters_of(&one.source));
        (mine != theirs).then(|| format!("it was made with {mine}, not with {theirs}"))
    }
}

/// The filters, and the files of host names: they decide which clients and servers a name in a filter means.
fn filters_of(source: &Source) -> String {
    if source.filters.is_empty() {
        return "no filters".to_owned();
    }
    let hosts = source.options.iter().filter(|option| option.starts_with("--hosts ")).cloned();
    std::iter::once(source.filter_words()).chain(hosts).collect::<Vec<_>>().join(" ")
}

/// The recordings that can be merged, and the reasons for the others.
pub(super) fn opened(folders: &[PathBuf]) -> (Vec<FileRecording>, Vec<Reason>) {
    let (mut opened, mut reasons) = (Vec::<FileRecording>::new(), Vec::new());
    for folder in folders {
        let fits =
            FileRecording::open(folder).and_then(|one| match opened.first().and_then(|first| one.differs(first)) {
                Some(why) => Err(anyhow::anyhow!(why)),
                None => Ok(one),
            });
        match fits {
            Ok(one) => opened.push(one),
            Err(error) => reasons.push(Reason::invalid(format!("{} is not merged: {error:#}", folder.display()))),
        }
    }
    (opened, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_host_names_belong_to_filters() {
        let of = |filters: &[&str]| {
            filters_of(&Source {
                filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
                options: vec![Source::SESSION_KEY.to_owned(), "--hosts lab".to_owned()],
                ..Source::default()
            })
        };
        assert_eq!(of(&["--client alice"]), "--client alice --hosts lab");
        assert_eq!(of(&[]), "no filters", "names of hosts alone change no number");
    }
}
