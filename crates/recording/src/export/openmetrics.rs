//! OpenMetrics text: the sums of each stage and procedure, with the end of the stage as their time.

use std::fmt::Write as _;
use std::io::Write;

use plimsoll_model::{About, Names, Procedure, SystemUnderTest};
use plimsoll_stats::{Accumulator, FineHistogram, Headline, Times};

use crate::error::Cause;
use crate::folder::{Recording, Stage};

/// Buckets end at one below these powers of two, ns: there all cells of our histograms end, so that their counts are exact. From
/// 1 µs to 18 minutes.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=40;

/// Times by octave, and together.
struct Distribution {
    /// How many are at most so long, octave by octave.
    so_far: Vec<u64>,
    count: u64,
    sum_s: f64,
}

impl Distribution {
    fn of(times: &Times) -> Self {
        let cells = FineHistogram::from(times);
        let at_most = |octave: u32| cells.iter().filter(|cell| cell.to_ns < 1 << octave).map(|cell| cell.count).sum();
        let moments = times.moments();
        Self { so_far: OCTAVES.map(at_most).collect(), count: moments.count(), sum_s: moments.sum_ns() as f64 / 1e9 }
    }
}

/// A procedure of a stage.
struct Row {
    labels: String,
    time: String,
    requests: u64,
    expected: u64,
    refused: u64,
    failed: u64,
    unanswered: u64,
    /// None where nothing is known of it: no number is no counter.
    payload_bytes: Option<u64>,
    payload_unknown: u64,
    response: Distribution,
    /// Under a schedule alone.
    from_intended: Option<Distribution>,
    service: Distribution,
}

pub(super) fn write(recording: &Recording, out: &mut impl Write) -> Result<(), Cause> {
    let mut rows = Vec::new();
    for stage in &recording.manifest.stages {
        let (statistics, _) = recording.statistics(stage, &mut Names::default())?;
        let headline = statistics.headline();
        rows.extend(statistics.operations().map(|(procedure, row)| Row::of(stage, procedure, row, headline)));
    }
    about(recording, out)?;
    counter(out, "requests", "Requests, including requests without a response.", &rows, |row| Some(row.requests))?;
    counter(out, "errors", "Requests refused or failed.", &rows, |row| Some(row.refused + row.failed))?;
    let expected = "Responses with an expected status, such as end of file; not counted as errors.";
    counter(out, "expected", expected, &rows, |row| Some(row.expected))?;
    counter(out, "refused", "Requests refused by the server.", &rows, |row| Some(row.refused))?;
    counter(out, "failed", "Requests that failed.", &rows, |row| Some(row.failed))?;
    counter(out, "unanswered", "Requests without a response.", &rows, |row| Some(row.unanswered))?;
    let moved = "File data moved: a lower bound where payload_unknown is not 0.";
    counter(out, "payload_bytes", moved, &rows, |row| row.payload_bytes)?;
    let unknown = "Operations with an unknown amount of file data.";
    counter(out, "payload_unknown", unknown, &rows, |row| Some(row.payload_unknown))?;
    let response = "From the first byte of the request to the last byte of the response.";
    histogram(out, "response_time_seconds", response, &rows, |row| Some(&row.response))?;
    if rows.iter().any(|row| row.from_intended.is_some()) {
        let intended = "From the intended start of the request to the last byte of the response.";
        histogram(out, "response_time_from_intended_seconds", intended, &rows, |row| row.from_intended.as_ref())?;
    }
    let service = "From the last byte of the request to the first byte of the response.";
    histogram(out, "service_time_seconds", service, &rows, |row| Some(&row.service))?;
    writeln!(out, "# EOF")?;
    Ok(())
}

impl Row {
    fn of(stage: &Stage, procedure: Procedure, sums: &Accumulator, headline: Headline) -> Self {
        let row = procedure.row();
        let mut labels = in_stage(stage);
        for (name, value) in [
            ("protocol", row.protocol.label()),
            ("procedure", &procedure.name()),
            ("operation", row.operation.label()),
            ("group", row.group.label()),
        ] {
            label(&mut labels, name, value);
        }
        Self {
            labels,
            time: time(stage),
            requests: sums.count(),
            expected: sums.expected(),
            refused: sums.refused(),
            failed: sums.failed(),
            unanswered: sums.unanswered(),
            payload_bytes: sums.payload().at_least(),
            payload_unknown: sums.payload().unknown(),
            response: Distribution::of(&sums.response()),
            from_intended: (headline == Headline::FromIntended).then(|| Distribution::of(&sums.leading(headline))),
            service: Distribution::of(&sums.service()),
        }
    }
}

/// What the recording is, and how long its stages took.
fn about(recording: &Recording, out: &mut impl Write) -> Result<(), Cause> {
    let manifest = &recording.manifest;
    family(out, "recording", "info", "Program that made the recording, title, labels and the system under test.")?;
    let mut labels = String::new();
    label(&mut labels, "tool", &manifest.tool);
    described(&manifest.about()?, &mut labels);
    writeln!(out, "plimsoll_recording_info{{{labels}}} 1")?;
    if let Some(verdict) = &manifest.validity {
        family(out, "valid", "gauge", "1 if the numbers may be used, 0 if not.")?;
        writeln!(out, "plimsoll_valid {}", u8::from(verdict.valid))?;
    }
    family(out, "stage_duration_seconds", "gauge", "Length of the measured phase.")?;
    for stage in &manifest.stages {
        if let (Some(first), Some(last)) = (stage.first_ns, stage.last_ns) {
            let seconds = last.saturating_sub(first) as f64 / 1e9;
            writeln!(out, "plimsoll_stage_duration_seconds{{{}}} {seconds}{}", in_stage(stage), time(stage))?;
        }
    }
    Ok(())
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

fn family(out: &mut impl Write, name: &str, kind: &str, help: &str) -> Result<(), Cause> {
    writeln!(out, "# TYPE plimsoll_{name} {kind}")?;
    if let Some(unit) = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(unit)) {
        writeln!(out, "# UNIT plimsoll_{name} {unit}")?;
    }
    writeln!(out, "# HELP plimsoll_{name} {help}")?;
    Ok(())
}

fn counter(
    out: &mut impl Write,
    name: &str,
    help: &str,
    rows: &[Row],
    number: impl Fn(&Row) -> Option<u64>,
) -> Result<(), Cause> {
    family(out, name, "counter", help)?;
    for (row, number) in rows.iter().filter_map(|row| Some((row, number(row)?))) {
        writeln!(out, "plimsoll_{name}_total{{{}}} {number}{}", row.labels, row.time)?;
    }
    Ok(())
}

fn histogram(
    out: &mut impl Write,
    name: &str,
    help: &str,
    rows: &[Row],
    of: impl Fn(&Row) -> Option<&Distribution>,
) -> Result<(), Cause> {
    family(out, name, "histogram", help)?;
    for row in rows {
        let Row { labels, time, .. } = row;
        let Some(found) = of(row) else { continue };
        for (octave, so_far) in OCTAVES.zip(&found.so_far) {
            let at_most = seconds((1 << octave) - 1);
            writeln!(out, "plimsoll_{name}_bucket{{{labels},le=\"{at_most}\"}} {so_far}{time}")?;
        }
        writeln!(out, "plimsoll_{name}_bucket{{{labels},le=\"+Inf\"}} {}{time}", found.count)?;
        writeln!(out, "plimsoll_{name}_count{{{labels}}} {}{time}", found.count)?;
        writeln!(out, "plimsoll_{name}_sum{{{labels}}} {}{time}", found.sum_s)?;
    }
    Ok(())
}

fn in_stage(stage: &Stage) -> String {
    let mut labels = String::new();
    label(&mut labels, "stage", &stage.number.to_string());
    label(&mut labels, "level", stage.level.as_deref().unwrap_or_default());
    labels
}

fn label(labels: &mut String, name: &str, value: &str) {
    let comma = if labels.is_empty() { "" } else { "," };
    // Some readers take other control characters for ends of lines, and the format has no escape for them.
    let shown = |c: char| if c.is_control() && c != '\n' { c.escape_unicode().to_string() } else { c.to_string() };
    let value: String = value.chars().map(shown).collect();
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    // Writing to a string cannot fail.
    let _ = write!(labels, "{comma}{name}=\"{value}\"");
}

/// The end of the stage, behind a space, where it is known.
fn time(stage: &Stage) -> String {
    stage.last_ns.map_or_else(String::new, |ns| {
        let sign = if ns < 0 { "-" } else { "" };
        format!(" {sign}{}.{:09}", ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000)
    })
}

/// Exact, as OpenMetrics has numbers in labels: short, and with an exponent below 0.0001.
fn seconds(ns: u64) -> String {
    let digits = ns.to_string();
    let exponent = digits.len() as i32 - 10;
    let short = digits.trim_end_matches('0');
    match short.split_at_checked(1) {
        Some((first, rest)) if exponent < -4 => {
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e-{:02}", -exponent)
        }
        Some(_) => {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            let text = text.trim_end_matches('0');
            if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
        }
        None => "0.0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_labels_are_exact_and_canonical() {
        for (ns, text) in [
            (0, "0.0"),
            (1, "1e-09"),
            (1023, "1.023e-06"),
            (65_535, "6.5535e-05"),
            (100_000, "0.0001"),
            (1_048_575, "0.001048575"),
            (3_000_000_000, "3.0"),
            ((1 << 40) - 1, "1099.511627775"),
        ] {
            assert_eq!(seconds(ns), text);
        }
    }

    #[test]
    fn labels_are_escaped() {
        let mut labels = String::new();
        label(&mut labels, "a", "x\"\\\ny");
        assert_eq!(labels, "a=\"x\\\"\\\\\\ny\"");
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

    /// Every cell ends where a bucket does, or within it.
    #[test]
    fn no_cell_lies_in_two_buckets() {
        for octave in OCTAVES {
            let mut cells = FineHistogram::default();
            cells.record((1 << octave) - 1);
            cells.record(1 << octave);
            let ends: Vec<(u64, u64)> = cells.iter().map(|cell| (cell.from_ns, cell.to_ns)).collect();
            assert!(ends[0].1 == (1 << octave) - 1 && ends[1].0 == 1 << octave, "{octave}: {ends:?}");
        }
    }
}
