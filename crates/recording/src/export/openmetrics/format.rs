//! The format: families of samples, labels, numbers.
//!
//! Spec: OpenMetrics 1.0

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use plimsoll_stats::Moments;
use plimsoll_stats::live::Exemplar;

/// Powers of two with buckets, ns: from 1 µs to 18 minutes.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=40;

/// The buckets of a histogram. They end at one below the powers of two, and below values between these: there all cells of our histograms
/// end, so that the counts are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    /// How many of equal width there are between two powers of two. A quantile that a program interpolates is off by less than the reciprocal.
    per_octave: u64,
}

impl Buckets {
    pub(super) const ONE: Buckets = Buckets { per_octave: 1 };
    pub(super) const TWO: Buckets = Buckets { per_octave: 2 };
    pub(super) const FOUR: Buckets = Buckets { per_octave: 4 };

    /// The first value beyond each bucket, ns; rising.
    fn ends(self) -> impl Iterator<Item = u64> {
        let (first, last) = (*OCTAVES.start(), *OCTAVES.end());
        let within = move |octave: u32| {
            let part = move |part: u64| (1 << octave) + (part << octave) / self.per_octave;
            (1..=self.per_octave).map(part)
        };
        std::iter::once(1 << first).chain((first..last).flat_map(within))
    }
}

/// Times by bucket, and together.
pub(super) struct Distribution {
    buckets: Buckets,
    /// Cumulative counts, bucket by bucket.
    so_far: Vec<u64>,
    count: u64,
    sum_s: f64,
    /// A request of each bucket, as far as there is one; the last is of longer times than all.
    exemplars: Vec<Option<Exemplar>>,
}

impl Distribution {
    /// From the cells of a histogram, rising: the longest time that counts in a cell, and how many do.
    pub(super) fn new(buckets: Buckets, cells: impl Iterator<Item = (u64, u64)>, moments: &Moments) -> Self {
        let mut cells = cells.peekable();
        let mut so_far = 0;
        let below = |end: u64| {
            while let Some((_, count)) = cells.next_if(|&(to_ns, _)| to_ns < end) {
                so_far += count;
            }
            so_far
        };
        let (so_far, sum_s) = (buckets.ends().map(below).collect(), moments.sum_ns() as f64 / 1e9);
        Self { buckets, so_far, count: moments.count(), sum_s, exemplars: Vec::new() }
    }

    /// The same with exemplars, which have rising response times.
    pub(super) fn with_exemplars<'a>(self, exemplars: impl Iterator<Item = &'a Exemplar>) -> Self {
        let ends: Vec<u64> = self.buckets.ends().collect();
        let mut by_bucket = vec![None; ends.len() + 1];
        for exemplar in exemplars {
            by_bucket[ends.partition_point(|&end| end <= exemplar.response_ns)] = Some(*exemplar);
        }
        Self { exemplars: by_bucket, ..self }
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
        for (end, so_far) in found.buckets.ends().zip(&found.so_far) {
            let (at_most, exemplar) = (seconds(end - 1), exemplars.next().unwrap_or_default());
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
        for end in Buckets::FOUR.ends() {
            let mut cells = FineHistogram::default();
            cells.record(end - 1);
            cells.record(end);
            let ends: Vec<(u64, u64)> = cells.iter().map(|cell| (cell.from_ns, cell.to_ns)).collect();
            assert!(ends[0].1 == end - 1 && ends[1].0 == end, "{end}: {ends:?}");
        }
    }

    /// A program that interpolates is wrong by the width of a bucket at most.
    #[test]
    fn buckets_are_as_narrow_as_documented() {
        for (buckets, count, widest) in [(Buckets::ONE, 31, 1.0), (Buckets::TWO, 61, 0.5), (Buckets::FOUR, 121, 0.25)] {
            let ends: Vec<u64> = buckets.ends().collect();
            assert_eq!((ends.len(), ends[0], ends[count - 1]), (count, 1 << 10, 1 << 40), "{buckets:?}");
            let width = |pair: &[u64]| (pair[1] - pair[0]) as f64 / pair[0] as f64;
            let widths: Vec<f64> = ends.windows(2).map(width).collect();
            assert!(widths.iter().all(|&width| width > 0.0 && width <= widest), "{buckets:?}: {widths:?}");
        }
    }
}
