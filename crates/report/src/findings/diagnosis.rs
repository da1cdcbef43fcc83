//! What a report says before anything else: who waited for what, and where to look next.

use serde::{Deserialize, Serialize};

/// The answer before the tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// How long clients waited for answers, all together, s; null where no response time is known.
    pub waited_s: Option<f64>,
    /// Most important first.
    pub statements: Vec<Statement>,
    /// The command that shows more.
    pub next: Option<String>,
}

/// A sentence that a rule found to be true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The rule.
    pub rule: Rule,
    /// The sentence.
    pub text: String,
    /// The part of all waiting that it speaks of, 0..=1; null where it speaks of something else.
    pub share: Option<f64>,
    /// Whether it follows from the numbers alone.
    pub confidence: Confidence,
}

/// The rules, each with its threshold in MEASUREMENT.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Which operation clients waited for longest.
    Operation,
    /// Few requests that are a large part of all waiting.
    FewSlowRequests,
    /// A short time that is a large part of all waiting.
    Burst,
    /// Service time against sending and receiving.
    ServiceTime,
    /// Bytes that TCP had to send again.
    Retransmission,
    /// Requests that failed.
    Failures,
    /// A key of `--by` that is a large part of all waiting.
    Key,
    /// No other rule found anything.
    Nothing,
}

/// How a statement was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It is what the numbers say.
    Measured,
    /// It follows from them where nothing unusual is the case.
    Inferred,
}
