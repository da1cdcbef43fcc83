//! Exports of a recording: HdrHistogram's interval log and percentiles, OpenMetrics.
//!
//! Histograms are exported exactly: each cell is one of an HdrHistogram with three significant digits and a lowest value of 1 ns, so
//! counts are equal bucket by bucket.

mod histogram_log;
mod openmetrics;
mod percentiles;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use hdrhistogram::Histogram;
use plimsoll_model::{Names, Validity};
use plimsoll_stats::{FineHistogram, Headline, SIGNIFICANT_DIGITS};

use crate::error::Cause;
use crate::folder::{FolderError, RecordedLevel, Recording};

pub use openmetrics::LiveMetrics;

/// Export formats of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// HdrHistogram's interval log: a line an interval and procedure, and one of all together. Values are ns.
    HistogramLog,
    /// HdrHistogram's percentiles of the response times of all operations of all levels. Values are ms.
    Percentiles,
    /// OpenMetrics: counters and histograms by level and procedure. Times are seconds.
    OpenMetrics,
}

impl Export {
    /// Every format with the end of its files' names.
    pub const ALL: [(&str, Export); 3] =
        [("hlog", Export::HistogramLog), ("hgrm", Export::Percentiles), ("om", Export::OpenMetrics)];

    /// The format of a file by its name.
    pub fn of(file: &Path) -> Option<Export> {
        let end = file.extension()?.to_str()?;
        Self::ALL.into_iter().find(|(known, _)| end.eq_ignore_ascii_case(known)).map(|(_, export)| export)
    }

    /// Writes a recording, whose report has the verdict `validity`, to an empty file.
    ///
    /// # Errors
    /// If a level cannot be read or the file cannot be written; the message calls the file `name`.
    pub fn write(
        self,
        (recording, validity): (&Recording, &Validity),
        file: File,
        name: &Path,
    ) -> Result<(), FolderError> {
        let write = || -> Result<(), Cause> {
            let mut out = BufWriter::new(file);
            match self {
                Export::HistogramLog => histogram_log::write(recording, validity, &mut out)?,
                Export::Percentiles => percentiles::write(recording, &mut out)?,
                Export::OpenMetrics => openmetrics::write(recording, validity, &mut out)?,
            }
            Ok(out.flush()?)
        };
        write().map_err(|cause| FolderError::file(name, cause))
    }
}

/// The kind of leading response time of each level, in the manifest's order.
fn headlines(recording: &Recording) -> Result<Vec<Headline>, Cause> {
    let of = |level: &RecordedLevel| -> Result<Headline, Cause> {
        let (statistics, _) = recording.statistics(level, &mut Names::default())?;
        Ok(statistics.headline())
    };
    recording.manifest.levels.iter().map(of).collect()
}

/// Whether times of levels have different starts, so that they cannot be added up.
fn are_mixed(headlines: &[Headline]) -> bool {
    headlines.iter().any(|one| Some(one) != headlines.first())
}

/// The same counts in the same cells.
fn histogram(of: &FineHistogram) -> Result<Histogram<u64>, Cause> {
    // Its least range is 2.
    let highest = of.iter().last().map_or(0, |cell| cell.to_ns).max(2);
    let mut same = Histogram::new_with_bounds(1, highest, SIGNIFICANT_DIGITS)?;
    for cell in of.iter() {
        same.record_n(cell.to_ns, cell.count)?;
    }
    Ok(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_ends_of_their_own() {
        assert_eq!(Export::of(Path::new("a/b.HLOG")), Some(Export::HistogramLog));
        assert_eq!(Export::of(Path::new("b.om")), Some(Export::OpenMetrics));
        assert_eq!(Export::of(Path::new("hgrm")), None);
    }

    #[test]
    fn levels_are_mixed_if_one_differs() {
        let (closed, scheduled) = (Headline::Response, Headline::FromIntended);
        let found = [vec![], vec![scheduled], vec![closed; 2], vec![scheduled, scheduled, closed]];
        assert_eq!(found.map(|headlines| are_mixed(&headlines)), [false, false, false, true]);
    }

    #[test]
    fn a_histogram_is_the_same_cell_for_cell() {
        let mut fine = FineHistogram::default();
        (0..4_000u64).for_each(|i| fine.record(i * i * i));
        let same = histogram(&fine).unwrap();
        let ours: Vec<(u64, u64)> = fine.iter().map(|cell| (cell.to_ns, cell.count)).collect();
        let theirs = same.iter_recorded().map(|cell| (cell.value_iterated_to(), cell.count_at_value()));
        assert_eq!(theirs.collect::<Vec<_>>(), ours);
        assert_eq!(histogram(&FineHistogram::default()).unwrap().len(), 0);
    }
}
