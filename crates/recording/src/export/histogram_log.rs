//! HdrHistogram's interval log, version 1.3, the input of its own tools and plotters.

use std::io::Write;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use plimsoll_model::{Procedure, Validity, Verdict};
use plimsoll_stats::comparison::Scope;
use plimsoll_stats::{FineHistogram, Headline, Interval};

use super::{are_mixed, headlines, histogram};
use crate::error::Cause;
use crate::folder::{Progress, RecordedLevel, Recording};

/// The column of the longest time is for people to read: in ms.
const LONGEST_DIVISOR: f64 = 1e6;

pub(super) fn write(recording: &Recording, validity: &Validity, out: &mut impl Write) -> Result<(), Cause> {
    let manifest = &recording.manifest;
    let began_ns = manifest.levels.iter().filter_map(|level| level.first_ns).min().unwrap_or(manifest.started_ns);
    let mut serializer = V2DeflateSerializer::new();
    let mut head = IntervalLogWriterBuilder::new();
    let headlines = headlines(recording)?;
    let mixed = are_mixed(&headlines);
    let from = match headlines.first() {
        Some(Headline::FromIntended) if !mixed => " from the intended start",
        _ => "",
    };
    head.add_comment(&plain(&format!("[Response times{from} in ns, recorded by {}]", manifest.tool)));
    if mixed {
        head.add_comment("[The start of response times differs between levels: do not add up their histograms]");
    }
    head.add_comment("[Histogram log format version 1.3]");
    for comment in remarks(validity, manifest.state) {
        head.add_comment(&plain(&comment));
    }
    let began = SystemTime::UNIX_EPOCH + since(0, began_ns);
    head.with_start_time(began).with_base_time(began).with_max_value_divisor(LONGEST_DIVISOR);
    let mut log = head.begin_log_with(out, &mut serializer)?;
    for (level, headline) in manifest.levels.iter().zip(headlines) {
        if let Some(load_name) = &level.load_name {
            let start = if mixed { start(headline) } else { "" };
            log.write_comment(&plain(&format!("[Level {}: {load_name}{start}]", level.number)))?;
        }
        for interval in recording.intervals(level)?.iter() {
            let (from_ns, to_ns) = within(level, interval);
            let (at, length) = (since(began_ns, from_ns), since(from_ns, to_ns));
            for (tag, times) in lines(interval) {
                let tag = tag
                    .as_deref()
                    .map(|tag| Tag::new(tag).ok_or("the tag of a histogram contains a space or a comma"))
                    .transpose()?;
                log.write_histogram(&histogram(&times)?, at, length, tag)?;
            }
        }
    }
    Ok(())
}

/// The verdict, unless the numbers are valid, and whether the recording is finished.
fn remarks(validity: &Validity, state: Progress) -> impl Iterator<Item = String> {
    let verdict = match validity.verdict {
        Verdict::Valid => None,
        Verdict::Partial => Some(format!("[PARTIAL: {}]", validity.reasons.join("; "))),
        Verdict::Invalid => Some(format!("[INVALID: {}]", validity.invalidating().join("; "))),
    };
    let unfinished = (state != Progress::Finished).then(|| "[The recording is not finished]".to_owned());
    verdict.into_iter().chain(unfinished)
}

/// The start of a level's response times, as a suffix of its name.
fn start(headline: Headline) -> &'static str {
    match headline {
        Headline::Response => "; response times from the first byte of the request",
        Headline::FromIntended => "; response times from the intended start",
    }
}

/// The time from one instant to another, none where it is not later.
fn since(from_ns: i64, to_ns: i64) -> Duration {
    Duration::from_nanos(u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0))
}

/// The interval's time, cut at the level's begin and end.
fn within(level: &RecordedLevel, interval: &Interval) -> (i64, i64) {
    let (start, end) = (interval.start_ns(), interval.end_ns());
    let inside = |ns: Option<i64>| ns.filter(|ns| (start..end).contains(ns));
    (inside(level.first_ns).unwrap_or(start), inside(level.last_ns).unwrap_or(end))
}

/// First all user operations together, without a tag (HdrHistogram's tools show this by default); then each procedure with its tag.
fn lines(interval: &Interval) -> Vec<(Option<String>, FineHistogram)> {
    let mut all = FineHistogram::default();
    let mut lines = Vec::new();
    for (procedure, row) in interval.rows().filter(|(_, row)| !row.histogram.is_empty()) {
        if Scope::All.holds(procedure) {
            all.merge(&row.histogram);
        }
        lines.push((Some(tag(procedure)), row.histogram.clone()));
    }
    if !all.is_empty() {
        lines.insert(0, (None, all));
    }
    lines
}

/// Without spaces, which a tag cannot have.
fn tag(procedure: Procedure) -> String {
    format!("{}.{}", procedure.row().protocol.label(), procedure.name()).replace(' ', "_")
}

/// Nothing in a comment may end it.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Reason;

    use super::*;

    #[test]
    fn a_log_says_what_its_numbers_are_worth() {
        let of = |reasons: &[Reason], state| -> Vec<String> {
            remarks(&Validity::of(reasons.iter().cloned()), state).collect()
        };
        let (half, late) = (Reason::partial("half of it"), Reason::invalid("late"));
        assert!(of(&[], Progress::Finished).is_empty());
        assert_eq!(of(std::slice::from_ref(&half), Progress::Finished), ["[PARTIAL: half of it]"]);
        assert_eq!(of(&[half, late], Progress::Running), ["[INVALID: late]", "[The recording is not finished]"]);
    }

    #[test]
    fn every_procedure_has_a_tag_of_its_own() {
        let mut tags: Vec<String> = Procedure::all().map(tag).collect();
        assert_eq!(tags.iter().find(|tag| Tag::new(tag).is_none()), None);
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), Procedure::COUNT);
    }
}
