//! Damage in the capture files themselves. It comes first, because all other results depend on it.

use plimsoll_model::{Anomaly, Coverage, Reason};

use super::counts::plural;
use crate::instant;

/// Damage for which numbers are incomplete, or there is no time to measure. `any` says whether there is an operation.
pub(super) fn reasons(coverage: &Coverage, any: bool) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = no_time(coverage).filter(|_| any).into_iter().collect();
    if coverage.anomalies.count(Anomaly::ReadingInterrupted) > 0 {
        let interrupted = "Reading was interrupted: the numbers lack the rest of the input.";
        reasons.push(Reason::partial(interrupted));
    }
    let mut say = |kind, what: &str, happened: &str, therefore: &str| {
        let count = coverage.anomalies.count(kind);
        if count > 0 {
            reasons.push(Reason::partial(format!("{}: {happened}. {therefore}", plural(count, what))));
        }
    };
    say(
        Anomaly::CaptureFileTruncated,
        "capture file",
        "cut off in the middle of a record",
        "The numbers lack all packets after the cut.",
    );
    say(
        Anomaly::CaptureRecordBad,
        "capture record",
        "damaged",
        "The rest of the file may be missing from the numbers.",
    );
    say(
        Anomaly::TimeOutlier,
        "packet",
        "left out because the timestamp is more than a day away from those of the packets before and after",
        "Operations in such packets are missing from the numbers.",
    );
    reasons
}

/// Damage that leaves the numbers whole.
pub(super) fn warnings(coverage: &Coverage) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut say = |kind, what: &str, happened: &str, therefore: &str| {
        let count = coverage.anomalies.count(kind);
        if count > 0 {
            warnings.push(format!("{}: {happened}. {therefore}", plural(count, what)));
        }
    };
    say(
        Anomaly::CaptureFileReordered,
        "capture file",
        "read in the order of their first timestamps, not in the given order",
        "Frame numbers count over all files in the order of the timestamps.",
    );
    say(
        Anomaly::CaptureFileRepeated,
        "capture file",
        "given twice (the first packets are equal)",
        "Packets of the copy count as retransmissions; name each file once.",
    );
    say(
        Anomaly::TimeJump,
        "timestamp jump",
        "by more than a day",
        "The span, the rates and the charts over time include each such jump.",
    );
    say(
        Anomaly::ResponseBehindJump,
        "response",
        "without a response time, because the timestamps jump between request and response",
        "These responses count as operations.",
    );
    warnings
}

/// All packets have the same timestamp: 0, as written by a program without a clock, or another one.
fn no_time(coverage: &Coverage) -> Option<Reason> {
    let (first, last) = coverage.capture_ns.or(coverage.first_ns.zip(coverage.last_ns))?;
    (first == last && coverage.packets.total > 1).then(|| {
        Reason::invalid(format!(
            "Times cannot be measured: all {} have the same timestamp, {}. Capture again with a program that records timestamps.",
            plural(coverage.packets.total, "packet"),
            instant::microsecond(first)
        ))
    })
}
