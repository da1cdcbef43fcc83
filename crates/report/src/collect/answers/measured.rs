//! Sentences that numbers say by themselves.

use crate::collect::counts::thousands;
use crate::findings::{Confidence, Rule, Statement};

/// A sentence that the numbers say by themselves.
pub(in crate::collect) fn measured(rule: Rule, text: String) -> Statement {
    Statement { rule, text, share: None, confidence: Confidence::Measured }
}

/// A rate of three digits.
pub(super) fn rate(value: f64) -> String {
    match value {
        v if v >= 99.95 => thousands(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
