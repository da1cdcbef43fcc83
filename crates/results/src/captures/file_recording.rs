//! The recording of one analysis.

use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::{Coverage, Names, Reason};
use plimsoll_recording::folder::{Progress, RecordedLevel, Recording};
use plimsoll_report::collect::StatusName;
use plimsoll_report::findings::{Findings, Source};
use plimsoll_stats::Statistics;

use crate::record::{Capture, Link, Measurement};
use crate::recording_findings::{measured, only_recorded};

/// The recording of one analysis that finished.
pub(super) struct FileRecording {
    /// Its folder, for messages.
    pub(super) shown: String,
    /// The same without links and detours; `None` where it is unknown.
    real: Option<PathBuf>,
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
                let (shown, real) = (folder.display().to_string(), folder.canonicalize().ok());
                Ok(Self { shown, real, recording, source, captures, link, level })
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

impl FileRecording {
    /// The reasons of its verdict that its statistics do not give, such as a recording that is missing in a merged one.
    pub(super) fn recorded_reasons(
        &self,
        (statistics, coverage, names): (&Statistics, &Coverage, &Names),
        status_name: StatusName,
    ) -> Vec<Reason> {
        let recorded = self.recording.manifest.validity.as_ref();
        let Some(recorded) = recorded.filter(|recorded| !recorded.reasons.is_empty()) else { return Vec::new() };
        let findings = Findings::collect(statistics, coverage, names, self.source.clone(), status_name);
        let mut reasons = only_recorded(&findings, recorded);
        reasons.iter_mut().for_each(|reason| reason.text = format!("{}: {}", self.shown, reason.text));
        reasons
    }
}

/// The contents of a recording that tell whether another one has requests of the same capture.
struct Contents<'r> {
    captures: &'r [Capture],
    link: Option<&'r Link>,
    span_ns: (Option<i64>, Option<i64>),
    /// Whether a filter chose the time: other captures then have the same.
    is_cut: bool,
}

impl FileRecording {
    fn contents(&self) -> Contents<'_> {
        let Self { captures, link, level, source, .. } = self;
        let is_cut = source.filters.iter().any(|filter| filter.starts_with("--from ") || filter.starts_with("--to "));
        Contents { captures, link: link.as_ref(), span_ns: (level.first_ns, level.last_ns), is_cut }
    }

    /// Whether both are the same folder, or have requests of the same capture, which must not count twice.
    fn repeats(&self, other: &Self) -> bool {
        self.real.as_ref().is_some_and(|real| Some(real) == other.real.as_ref())
            || self.contents().overlaps(&other.contents())
    }
}

impl Contents<'_> {
    /// Captures have names that may lead to the same file, and different files may have the same name. So the times decide, too.
    fn overlaps(&self, other: &Self) -> bool {
        if let (Some(mine), Some(theirs)) = (self.link, other.link)
            && mine.chain == theirs.chain
        {
            // Each has the statistics of all files so far, but only its own rows.
            return mine.id == theirs.id;
        }
        let ((Some(from), Some(to)), (Some(their_from), Some(their_to))) = (self.span_ns, other.span_ns) else {
            return false;
        };
        let shares = || self.captures.iter().any(|capture| capture.is_file() && other.captures.contains(capture));
        let is_same_time = (from, to) == (their_from, their_to) && (!self.is_cut || self.has_same_sizes(other));
        is_same_time || from <= their_to && their_from <= to && shares()
    }

    /// Whether both are of files of the same sizes.
    fn has_same_sizes(&self, other: &Self) -> bool {
        let sizes = |one: &Self| -> Option<Vec<u64>> { one.captures.iter().map(Capture::bytes).collect() };
        sizes(self).is_some_and(|own| sizes(other).is_some_and(|others| own == others))
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
        let fits = FileRecording::open(folder).and_then(|one| {
            if let Some(why) = opened.first().and_then(|first| one.differs(first)) {
                anyhow::bail!(why);
            }
            if let Some(same) = opened.iter().find(|other| one.repeats(other)) {
                anyhow::bail!("its capture is also in {}, and would count twice", same.shown);
            }
            Ok(one)
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
    use std::slice::from_ref;

    use super::*;

    #[test]
    fn recordings_of_the_same_capture_are_found_under_other_names() {
        let capture = |name: &str, bytes: Option<u64>| -> Capture {
            serde_json::from_value(serde_json::json!({"name": name, "bytes": bytes})).unwrap()
        };
        let of = |captures: &[Capture], span_ns: (i64, i64), other: &[Capture], other_ns: (i64, i64)| {
            let contents = |captures, (first, last)| Contents {
                captures,
                link: None,
                span_ns: (Some(first), Some(last)),
                is_cut: false,
            };
            contents(captures, span_ns).overlaps(&contents(other, other_ns))
        };
        let [monday, alias, tuesday] = [("mon.pcap", Some(9)), ("./mon.pcap", Some(9)), ("tue.pcap", Some(9))]
            .map(|(name, size)| capture(name, size));
        let (day, next, piped) = ((100, 200), (300, 400), capture("-", None));
        let both = [monday, tuesday];
        let ([monday, tuesday], alias, piped) = (both.each_ref().map(from_ref), from_ref(&alias), from_ref(&piped));
        assert!(of(monday, day, alias, day), "the times are the same");
        assert!(!of(monday, day, tuesday, next));
        assert!(of(&both, (100, 400), tuesday, next), "a merged recording");
        assert!(!of(monday, day, monday, next), "a folder per day, with the same names of files");
        assert!(!of(piped, day, piped, (150, 250)), "two pipes");
        assert!(of(piped, day, piped, day));
    }

    /// With --from 10:00 and --to 11:00, the captures of two servers have the same times.
    #[test]
    fn the_same_times_from_a_filter_are_no_sign_of_the_same_capture() {
        let capture = |name: &str, bytes: Option<u64>| -> Capture {
            serde_json::from_value(serde_json::json!({"name": name, "bytes": bytes})).unwrap()
        };
        let [one, other, alias] =
            [("one.pcap", 9), ("other.pcap", 8), ("./one.pcap", 9)].map(|(name, bytes)| capture(name, Some(bytes)));
        let piped = capture("-", None);
        let of = |a: &Capture, b: &Capture| {
            let span_ns = (Some(100), Some(200));
            let contents = |captures| Contents { captures, link: None, span_ns, is_cut: true };
            contents(from_ref(a)).overlaps(&contents(from_ref(b)))
        };
        assert!(!of(&one, &other) && !of(&piped, &piped) && !of(&one, &piped));
        assert!(of(&one, &one) && of(&one, &alias));
    }

    #[test]
    fn files_of_one_capture_that_continue_each_other_are_not_the_same() {
        let link = |number, id: &str| Link { chain: "a".to_owned(), number, id: id.to_owned(), after: None };
        let (first, second) = (link(1, "a"), link(2, "b"));
        let of = |link| Contents { captures: &[], link: Some(link), span_ns: (Some(1), Some(2)), is_cut: false };
        assert!(!of(&first).overlaps(&of(&second)), "the second file is empty");
        assert!(of(&first).overlaps(&of(&first)));
    }

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
