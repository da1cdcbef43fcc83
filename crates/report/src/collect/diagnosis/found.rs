//! The result of a rule.

use crate::findings::{Confidence, Rule, Statement};

/// Maximum number of causes or clients that a sentence names.
pub(super) const NAMED: usize = 3;

/// The subject of a sentence. Of two that explain the same waiting, the one listed first here comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A problem that prevents answers, which no response time shows.
    Trouble,
    /// The reason for the waits of requests. Such a rule sees only a part of the waiting that its cause produces.
    Explanation,
    /// Why requests take long.
    Mechanism,
    /// The client, server, share or path of the requests.
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
    /// The part of all time waited that it explains.
    pub(super) explains: f64,
    pub(super) statement: Statement,
    pub(super) look: Option<Look>,
    /// Why response times are incomplete: a sentence about requests that never got a response.
    pub(super) unanswered: Option<String>,
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
        Self { kind, explains: share.unwrap_or(0.0), statement, look: None, unanswered: None }
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

    /// These requests never got a response, so response times do not include them.
    pub(super) fn unanswered(mut self, requests: &str) -> Self {
        self.unanswered =
            Some(format!("{requests}: response times and their percentiles do not include these requests."));
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

    /// Whether it is about statuses of responses.
    pub(super) fn is_of_statuses(&self) -> bool {
        matches!(self.statement.rule, Rule::ErrorStatuses | Rule::Grace)
    }

    /// Its rank: a mechanism comes before a place if it explains half of it, an explanation before a symptom if it explains a sixth.
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
