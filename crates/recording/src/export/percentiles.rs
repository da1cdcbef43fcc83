//! HdrHistogram's percentiles of the leading response times as text (`outputPercentileDistribution`), in ms as its `HistogramLogProcessor` writes them.

use std::io::Write;

use plimsoll_model::Names;
use plimsoll_stats::comparison::Scope;
use plimsoll_stats::{FineHistogram, Moments};

use super::{are_mixed, headlines, histogram};
use crate::error::Cause;
use crate::folder::Recording;

const MS: f64 = 1e6;
/// Lines per halving of the distance to 100 %, as in HdrHistogram's own tools.
const TICKS: u32 = 5;
/// Counters that HdrHistogram has for the shortest times where it tells three digits apart.
const SUB_BUCKETS: u32 = 2048;

/// Why there is no file: it has one distribution of all levels.
const MIXED: &str = "some load levels have a schedule and others do not, so their response times have different starts and cannot be \
    added up; export .hlog, which has the histograms of each level";

pub(super) fn write(recording: &Recording, out: &mut impl Write) -> Result<(), Cause> {
    if are_mixed(&headlines(recording)?) {
        return Err(MIXED.into());
    }
    let (mut times, mut moments) = (FineHistogram::default(), Moments::default());
    for level in &recording.manifest.levels {
        let (statistics, _) = recording.statistics(level, &mut Names::default())?;
        for (_, row) in statistics.operations().filter(|(procedure, _)| Scope::All.holds(*procedure)) {
            let response = row.leading(statistics.headline());
            times.merge(&FineHistogram::from(&*response));
            moments.merge(response.moments());
        }
    }
    let histogram = histogram(&times)?;
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut so_far = 0;
    for line in histogram.iter_quantiles(TICKS) {
        so_far += line.count_since_last_iteration();
        let (value, share) = (line.value_iterated_to() as f64 / MS, line.quantile_iterated_to());
        write!(out, "{value:12.6} {share:14.12} {so_far:10}")?;
        // The reciprocal of the last line is infinite, so it is left out.
        if share < 1.0 { writeln!(out, " {:14.2}", 1.0 / (1.0 - share))? } else { writeln!(out)? }
    }
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / MS;
    let (mean, deviation) = (ms(moments.mean_ns()), ms(moments.stddev_ns()));
    let longest = ms(moments.max_ns().map(|ns| ns as f64));
    writeln!(out, "#[Mean    = {mean:12.6}, StdDeviation   = {deviation:12.6}]")?;
    writeln!(out, "#[Max     = {longest:12.6}, Total count    = {so_far:12}]")?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]", histogram.buckets())?;
    Ok(())
}
