//! OpenMetrics text: the sums of each level and procedure, with the end of the level as their time.

mod format;
mod live;

use std::io::Write;

use plimsoll_model::{About, Names, Procedure, SystemUnderTest, Validity};
use plimsoll_stats::{Accumulator, FineHistogram, Headline, Times};

use crate::error::Cause;
use crate::folder::{Progress, RecordedLevel, Recording};
use format::{Buckets, Distribution, Labelled, counter, family, histogram, label};
pub use live::LiveMetrics;

/// A procedure of a level.
struct Sums {
    requests: u64,
    expected: u64,
    refused: u64,
    failed: u64,
    unanswered: u64,
    /// None if unknown: the counter is then left out.
    payload_bytes: Option<u64>,
    payload_unknown: u64,
    response: Distribution,
    /// Under a schedule alone.
    from_intended: Option<Distribution>,
    service: Distribution,
}

pub(super) fn write(recording: &Recording, validity: &Validity, out: &mut impl Write) -> Result<(), Cause> {
    let mut rows = Vec::new();
    for level in &recording.manifest.levels {
        let (statistics, _) = recording.statistics(level, &mut Names::default())?;
        let headline = statistics.headline();
        rows.extend(statistics.operations().map(|(procedure, row)| Sums::of(level, procedure, row, headline)));
    }
    about(recording, validity, out)?;
    counter(out, "requests", "Requests, including requests without a response.", &rows, |row| Some(row.requests))?;
    counter(out, "errors", "Requests refused or failed.", &rows, |row| Some(row.refused + row.failed))?;
    let expected = "Responses with an expected status, such as end of file; not counted as errors.";
    counter(out, "expected", expected, &rows, |row| Some(row.expected))?;
    counter(out, "refused", "Requests refused by the server.", &rows, |row| Some(row.refused))?;
    counter(out, "failed", "Requests that failed.", &rows, |row| Some(row.failed))?;
    counter(out, "unanswered", "Requests without a response.", &rows, |row| Some(row.unanswered))?;
    let moved = "File data read and written; a lower bound if payload_unknown is not 0.";
    counter(out, "payload_bytes", moved, &rows, |row| row.payload_bytes)?;
    let unknown = "Operations with an unknown amount of file data.";
    counter(out, "payload_unknown", unknown, &rows, |row| Some(row.payload_unknown))?;
    let response = "From the first byte of the request to the last byte of the response.";
    histogram(out, "response_time_seconds", response, &rows, |row| Some(&row.response))?;
    if rows.iter().any(|row| row.of.from_intended.is_some()) {
        let intended = "From the intended start of the request to the last byte of the response.";
        histogram(out, "response_time_from_intended_seconds", intended, &rows, |row| row.from_intended.as_ref())?;
    }
    let service = "From the last byte of the request to the first byte of the response.";
    histogram(out, "service_time_seconds", service, &rows, |row| Some(&row.service))?;
    writeln!(out, "# EOF")?;
    Ok(())
}

impl Sums {
    fn of(level: &RecordedLevel, procedure: Procedure, sums: &Accumulator, headline: Headline) -> Labelled<Self> {
        let of = |times: &Times| {
            let cells = FineHistogram::from(times);
            Distribution::new(Buckets::ONE, cells.iter().map(|cell| (cell.to_ns, cell.count)), times.moments())
        };
        let row = procedure.row();
        let mut labels = labels_of(level);
        for (name, value) in [
            ("protocol", row.protocol.label()),
            ("procedure", &procedure.name()),
            ("operation", row.operation.label()),
            ("group", row.group.label()),
        ] {
            label(&mut labels, name, value);
        }
        let sums = Self {
            requests: sums.count(),
            expected: sums.expected(),
            refused: sums.refused(),
            failed: sums.failed(),
            unanswered: sums.unanswered(),
            payload_bytes: sums.payload().at_least(),
            payload_unknown: sums.payload().unknown(),
            response: of(&sums.response()),
            from_intended: (headline == Headline::FromIntended).then(|| of(&sums.leading(headline))),
            service: of(&sums.service()),
        };
        Labelled { labels, time: time(level), of: sums }
    }
}

/// Facts about the recording, and the length of its levels.
fn about(recording: &Recording, validity: &Validity, out: &mut impl Write) -> Result<(), Cause> {
    let manifest = &recording.manifest;
    family(out, "recording", "info", "Title, labels, system under test, and the program that made the recording.")?;
    let mut labels = String::new();
    label(&mut labels, "tool", &manifest.tool);
    described(&manifest.about()?, &mut labels);
    writeln!(out, "plimsoll_recording_info{{{labels}}} 1")?;
    family(out, "valid", "gauge", "1 if the verdict is valid or partial, 0 if it is invalid.")?;
    writeln!(out, "{}", verdict(validity))?;
    family(out, "finished", "gauge", "1 if the recording is finished, 0 if it is running, or was stopped early.")?;
    writeln!(out, "plimsoll_finished {}", u8::from(manifest.state == Progress::Finished))?;
    family(out, "level_duration_seconds", "gauge", "Length of the measured phase.")?;
    for level in &manifest.levels {
        if let (Some(first), Some(last)) = (level.first_ns, level.last_ns) {
            let seconds = last.saturating_sub(first) as f64 / 1e9;
            writeln!(out, "plimsoll_level_duration_seconds{{{}}} {seconds}{}", labels_of(level), time(level))?;
        }
    }
    Ok(())
}

/// The series of the verdict.
fn verdict(validity: &Validity) -> String {
    format!("plimsoll_valid{{verdict=\"{}\"}} {}", validity.verdict.label(), u8::from(validity.valid))
}

/// Title, labels and the system under test. Each has a prefix, so that no key is the name of another label.
fn described(about: &About, labels: &mut String) {
    if let Some(title) = &about.title {
        label(labels, "title", title);
    }
    for (key, value) in &about.labels {
        label(labels, &format!("label_{key}"), value);
    }
    for (part, lines) in about.system.iter().flat_map(SystemUnderTest::parts).filter(|(_, lines)| !lines.is_empty()) {
        label(labels, &format!("system_{}", part.to_ascii_lowercase()), &lines.join("; "));
    }
}

fn labels_of(level: &RecordedLevel) -> String {
    let mut labels = String::new();
    label(&mut labels, "level", &level.number.to_string());
    label(&mut labels, "load_name", level.load_name.as_deref().unwrap_or_default());
    labels
}

/// The end of the level, behind a space, where it is known.
fn time(level: &RecordedLevel) -> String {
    level.last_ns.map_or_else(String::new, |ns| {
        let sign = if ns < 0 { "-" } else { "" };
        format!(" {sign}{}.{:09}", ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000)
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Reason;

    use super::*;

    #[test]
    fn a_partial_verdict_is_not_that_of_valid_numbers() {
        let of = |reason: Option<Reason>| verdict(&Validity::of(reason));
        assert_eq!(of(None), "plimsoll_valid{verdict=\"valid\"} 1");
        assert_eq!(of(Some(Reason::partial("half"))), "plimsoll_valid{verdict=\"partial\"} 1");
        assert_eq!(of(Some(Reason::invalid("late"))), "plimsoll_valid{verdict=\"invalid\"} 0");
    }

    #[test]
    fn what_is_said_of_a_recording_has_prefixes_and_cannot_leave_its_quotes() {
        let title = Some("t\"} 1\r\n# EOF\u{1b}".to_owned());
        let system = Some(SystemUnderTest { cpu: vec!["a".to_owned(), "b".to_owned()], ..SystemUnderTest::default() });
        let about = About { title, labels: [("tool".to_owned(), "x".to_owned())].into(), system };
        let mut labels = String::new();
        described(&about, &mut labels);
        let expected = "title=\"t\\\"} 1\\\\u{d}\\n# EOF\\\\u{1b}\",label_tool=\"x\",system_cpu=\"a; b\"";
        assert_eq!(labels, expected);
    }
}
