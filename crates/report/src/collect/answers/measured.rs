//! Sentences that numbers say by themselves.

use crate::collect::counts::thousands;
use crate::findings::{Confidence, Rule, Statement, Times};
use crate::text::duration;
use plimsoll_stats::comparison::fewest_of_percentile;

/// A sentence that the numbers say by themselves.
pub(in crate::collect) fn measured(rule: Rule, text: String) -> Statement {
    Statement { rule, text, share: None, confidence: Confidence::Measured }
}

/// The p50 and the p99, each behind its name. A p99 of too few requests is left out: it is one of the slowest requests, and no more.
pub(super) fn percentiles(times: &Times, between: &str) -> String {
    let p50 = format!("p50 {}", duration(times.p50_s));
    match times.count >= fewest_of_percentile(99.0) {
        true => format!("{p50}{between}p99 {}", duration(times.p99_s)),
        false => p50,
    }
}

/// A rate of three digits.
pub(super) fn rate(value: f64) -> String {
    match value {
        v if v >= 99.95 => thousands(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
