//! The format: families of samples, labels, numbers.
//!
//! Spec: OpenMetrics 1.0

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use plimsoll_stats::Moments;
use plimsoll_stats::live::Exemplar;

/// Buckets end at one below these powers of two, ns: there all cells of our histograms end, so that their counts are exact. From
/// 1 µs to 18 minutes.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=40;

/// Times by octave, and together.
pub(super) struct Distribution {
    /// Cumulative counts, octave by octave.
    so_far: Vec<u64>,
    count: u64,
    sum_s: f64,
    /// A request of each bucket, as far as there is one; the last is of longer times than all.
    exemplars: Vec<Option<Exemplar>>,
}

impl Distribution {
    /// From the cells of a histogram, rising: the longest time that counts in a cell, and how many do.
    pub(super) fn new(cells: impl Iterator<Item = (u64, u64)>, moments: &Moments) -> Self {
        let mut cells = cells.peekable();
        let mut so_far = 0;
        let mut up_to = |octave: u32| {
            while let Some((_, count)) = cells.next_if(|&(to_ns, _)| to_ns < 1 << octave) {
                so_far += count;
            }
            so_far
        };
        let (so_far, sum_s) = (OCTAVES.map(&mut up_to).collect(), moments.sum_ns() as f64 / 1e9);
        Self { so_far, count: moments.count(), sum_s, exemplars: Vec::new() }
    }

    /// The same with exemplars: that at place n has less than 2^n ns, and not less than half of that.
    pub(super) fn with_exemplars(self, places: &[Option<Exemplar>]) -> Self {
        let latest =
            |from: usize, to: usize| places.get(from..=to).and_then(|places| places.iter().rev().find_map(|it| *it));
        let (shortest, longest) = (*OCTAVES.start() as usize, *OCTAVES.end() as usize);
        let bucket = |octave: usize| latest(if octave == shortest { 0 } else { octave }, octave);
        let beyond = latest(longest + 1, places.len().saturating_sub(1));
        Self { exemplars: (shortest..=longest).map(bucket).chain([beyond]).collect(), ..self }
    }
}

/// A labelled sample of a family.
pub(super) struct Labelled<T> {
    pub(super) labels: String,
    /// The time of the samples, behind a space; nothing where they are of now.
    pub(super) time: String,
    pub(super) of: T,
}

pub(super) fn family(out: &mut impl Write, name: &str, kind: &str, help: &str) -> io::Result<()> {
    writeln!(out, "# TYPE plimsoll_{name} {kind}")?;
    if let Some(unit) = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(unit)) {
        writeln!(out, "# UNIT plimsoll_{name} {unit}")?;
    }
    writeln!(out, "# HELP plimsoll_{name} {help}")?;
    Ok(())
}

pub(super) fn counter<T, N: Display>(
    out: &mut impl Write,
    name: &str,
    help: &str,
    rows: &[Labelled<T>],
    number: impl Fn(&T) -> Option<N>,
) -> io::Result<()> {
    family(out, name, "counter", help)?;
    for (row, number) in rows.iter().filter_map(|row| Some((row, number(&row.of)?))) {
        writeln!(out, "plimsoll_{name}_total{{{}}} {number}{}", row.labels, row.time)?;
    }
    Ok(())
}

pub(super) fn histogram<T>(
    out: &mut impl Write,
    name: &str,
    help: &str,
    rows: &[Labelled<T>],
    of: impl Fn(&T) -> Option<&Distribution>,
) -> io::Result<()> {
    family(out, name, "histogram", help)?;
    for row in rows {
        let Labelled { labels, time, of: whose } = row;
        let Some(found) = of(whose) else { continue };
        let mut exemplars = found.exemplars.iter().map(|exemplar| exemplar.as_ref().map_or_else(String::new, shown));
        for (octave, so_far) in OCTAVES.zip(&found.so_far) {
            let (at_most, exemplar) = (seconds((1 << octave) - 1), exemplars.next().unwrap_or_default());
            writeln!(out, "plimsoll_{name}_bucket{{{labels},le=\"{at_most}\"}} {so_far}{time}{exemplar}")?;
        }
        let exemplar = exemplars.next().unwrap_or_default();
        writeln!(out, "plimsoll_{name}_bucket{{{labels},le=\"+Inf\"}} {}{time}{exemplar}", found.count)?;
        writeln!(out, "plimsoll_{name}_count{{{labels}}} {}{time}", found.count)?;
        writeln!(out, "plimsoll_{name}_sum{{{labels}}} {}{time}", found.sum_s)?;
    }
    Ok(())
}

/// An exemplar behind the count of its bucket.
fn shown(exemplar: &Exemplar) -> String {
    let Exemplar { frame, response_ns, ended_ns } = exemplar;
    let (whole, rest) = (ended_ns.div_euclid(1_000_000_000), ended_ns.rem_euclid(1_000_000_000));
    format!(" # {{frame=\"{frame}\"}} {} {whole}.{rest:09}", *response_ns as f64 / 1e9)
}

pub(super) fn label(labels: &mut String, name: &str, value: &str) {
    let comma = if labels.is_empty() { "" } else { "," };
    // Some readers treat other control characters as line ends, and the format has no escape for them.
    let shown = |c: char| if c.is_control() && c != '\n' { c.escape_unicode().to_string() } else { c.to_string() };
    let value: String = value.chars().map(shown).collect();
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    // Writing to a string cannot fail.
    let _ = write!(labels, "{comma}{name}=\"{value}\"");
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
    use plimsoll_stats::FineHistogram;

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

    /// Every cell ends at a bucket's end, or within the bucket.
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
