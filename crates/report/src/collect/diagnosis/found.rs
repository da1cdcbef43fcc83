//! The result of a rule.

use crate::findings::{Confidence, Rule, Statement};

/// Maximum number of causes or clients that a sentence names.
pub(super) const NAMED: usize = 3;

/// The subject of a sentence. Of two that explain the same waiting, the one listed first here comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What keeps requests from being answered, which no response time tells.
    Trouble,
    /// What requests waited for instead of being answered. Rules of this kind see only a part of what their cause makes clients wait.
    Explanation,
    /// Why requests take long.
    Mechanism,
    /// Whose requests, or what for.
    Place,
    /// Which requests, and when.
    Symptom,
    /// Unnecessary requests of clients. This does not explain their duration, so it comes after every cause.
    Habit,
    /// Something that explains no waiting.
    Remark,
}

/// The result of a rule.
pub(super) struct Found {
    pub(super) kind: Kind,
    /// The part of all waiting that it explains.
    pub(super) explains: f64,
    pub(super) statement: Statement,
    pub(super) look: Option<Look>,
}

/// Filter for the next command, which narrows it down to the cause.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) operation: &'static str,
    pub(super) by: &'static str,
    /// A filter and its value.
    pub(super) only: Option<(&'static str, String)>,
}

impl Found {
    pub(super) fn new(kind: Kind, rule: Rule, share: Option<f64>, text: String) -> Self {
        let statement = Statement { rule, text, share, confidence: Confidence::Measured };
        Self { kind, explains: share.unwrap_or(0.0), statement, look: None }
    }

    pub(super) fn inferred(mut self) -> Self {
        self.statement.confidence = Confidence::Inferred;
        self
    }

    /// Sets an explained fraction of the waiting that differs from the one in the sentence.
    pub(super) fn explaining(mut self, share: f64) -> Self {
        self.explains = share;
        self
    }

    pub(super) fn look(mut self, operation: &'static str, by: &'static str) -> Self {
        self.look = Some(Look { operation, by, only: None });
        self
    }

    pub(super) fn only(mut self, flag: &'static str, value: String) -> Self {
        self.look = self.look.map(|look| Look { only: Some((flag, value)), ..look });
        self
    }

    /// Its place: a mechanism comes before the place that it explains half of, an explanation before the symptom of which it explains a
    /// sixth.
    pub(super) fn rank(&self) -> (bool, f64) {
        let factor = match self.kind {
            Kind::Explanation => 6.0,
            Kind::Trouble | Kind::Mechanism => 2.0,
            Kind::Place => 1.5,
            Kind::Symptom => 1.0,
            Kind::Habit => 0.25,
            Kind::Remark => 0.0,
        };
        (self.kind == Kind::Trouble, factor * self.explains)
    }
}
