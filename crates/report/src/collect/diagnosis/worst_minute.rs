//! The minute in which clients waited longest, of captures that last longer.

use plimsoll_stats::tallies::MIN_COMPARED;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Length of the interval, s.
const MINUTE_S: f64 = 60.0;
/// Minimum length of the capture, minutes: for shorter ones *burst* and *slow_interval* are more specific.
const MINUTES: f64 = 10.0;
/// Minimum waiting in it, as a multiple of the mean of all minutes with requests.
const TIMES: f64 = 2.0;

/// The minute, as the bins of the series allow: it may be up to a bin longer.
pub(super) fn worst_minute(evidence: &Evidence<'_>) -> Option<Found> {
    let series = &evidence.findings.series;
    let bins = (MINUTE_S / series.bin_s).ceil() as usize;
    let minutes = series.operations.len() as f64 * series.bin_s / MINUTE_S;
    if !(series.bin_s > 0.0 && series.bin_s <= MINUTE_S && minutes >= MINUTES) {
        return None;
    }
    let means = series.response_mean_s.iter().map(|mean| mean.unwrap_or(0.0));
    let waited: Vec<f64> = series.operations.iter().zip(means).map(|(count, mean)| *count as f64 * mean).collect();
    let sum: f64 = waited.iter().sum();
    let windows = waited.windows(bins).map(|window| window.iter().sum::<f64>()).enumerate();
    let (first, most) = windows.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|&(_, most)| most > 0.0)?;
    let length_s = bins as f64 * series.bin_s;
    // Between the files of a capture nothing was captured, so only intervals with requests are compared.
    let intervals = || series.operations.chunks(bins);
    let used = intervals().filter(|interval| interval.iter().any(|&count| count > 0));
    let usual = sum / used.clone().map(|interval| interval.len() as f64 / bins as f64).sum::<f64>();
    let with_requests = if used.count() < intervals().count() { " with requests" } else { "" };
    let requests: u64 = series.operations.get(first..first + bins)?.iter().sum();
    if most < TIMES * usual || requests < MIN_COMPARED || most * 1e9 < evidence.least_ns() {
        return None;
    }
    let from = series.start_ns.checked_add((first as f64 * series.bin_s * 1e9) as i64)?;
    let share = most / sum;
    let text = format!(
        "The worst {length} began at {start}: the {requests} that ended in this interval account for {share} of all time waited ({mean} \
        each on average). An average interval of this length{with_requests} accounts for {usual_share}.",
        length = duration(length_s),
        start = instant::second(from),
        requests = plural(requests, "request"),
        share = percent(share),
        mean = duration(most / requests.max(1) as f64),
        usual_share = percent(usual / sum),
    );
    Some(Found::new(Kind::Remark, Rule::WorstMinute, Some(share), text))
}
