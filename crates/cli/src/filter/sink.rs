//! The filters at work, in front of another sink.

use plimsoll_model::{Coverage, Names, Procedure, Sink, Transaction};
use plimsoll_stats::Headline;

use super::address::Address;
use super::pattern::NameFilter;
use super::status::Status;
use super::term::Terms;
use crate::when::When;

/// Lets the wanted transactions through.
#[derive(Debug)]
pub(crate) struct Filtered<S> {
    /// `None`: nothing is filtered.
    pub(super) criteria: Option<Box<Criteria>>,
    /// Transactions that were not let through.
    pub(super) refused: u64,
    /// Where they go.
    pub(crate) sink: S,
}

/// The filters; `None` matches everything.
#[derive(Debug)]
pub(super) struct Criteria {
    /// As the user wrote it.
    pub(super) times: (Option<When>, Option<When>),
    /// The same, known when the capture begins.
    pub(super) from_ns: Option<i64>,
    pub(super) to_ns: Option<i64>,
    pub(super) clients: Option<Terms<Address>>,
    pub(super) servers: Option<Terms<Address>>,
    pub(super) shares: Option<NameFilter>,
    pub(super) paths: Option<NameFilter>,
    pub(super) users: Option<NameFilter>,
    /// By procedure.
    pub(super) procedures: Option<Vec<bool>>,
    pub(super) statuses: Option<Terms<Status>>,
    pub(super) slower_than_ns: Option<i64>,
}

impl<S> Filtered<S> {
    /// The time that is left of a capture's, ns since the Unix epoch.
    pub(crate) fn span(&self, (first, last): (i64, i64)) -> (i64, i64) {
        let Some(criteria) = &self.criteria else { return (first, last) };
        (criteria.from_ns.map_or(first, |from| from.max(first)), criteria.to_ns.map_or(last, |to| to.min(last)))
    }

    /// Limits `coverage` to the time range of the filters, and describes the filters there.
    pub(crate) fn narrow(&self, coverage: &mut Coverage) {
        coverage.filtered_out = self.refused;
        let Some(whole) = coverage.first_ns.zip(coverage.last_ns) else { return };
        let (first, last) = self.span(whole);
        // Rates are of the time that is looked at.
        (coverage.first_ns, coverage.last_ns) = (Some(first), Some(last.max(first)));
        coverage.capture_ns = self.criteria.is_some().then_some(whole);
    }
}

impl Criteria {
    fn pass(&mut self, t: &Transaction, names: &Names) -> bool {
        let at = t.timeline.request_first;
        let protocol = t.procedure.row().protocol;
        self.from_ns.is_none_or(|from| at.is_some_and(|at| at >= from))
            && self.to_ns.is_none_or(|to| at.is_some_and(|at| at < to))
            && self.procedures.as_ref().is_none_or(|wanted| wanted[t.procedure.index()])
            && self
                .slower_than_ns
                .is_none_or(|limit| Headline::FromIntended.of(&t.timeline).is_some_and(|took| took > limit))
            && self.clients.as_ref().is_none_or(|terms| terms.pass(|address| address.holds(t.client)))
            && self.servers.as_ref().is_none_or(|terms| terms.pass(|address| address.holds(t.server)))
            && self.statuses.as_ref().is_none_or(|terms| terms.pass(|status| status.is_of(t)))
            && self.shares.as_mut().is_none_or(|shares| shares.pass(t.share, protocol, names))
            && self.users.as_mut().is_none_or(|users| users.pass(t.user, protocol, names))
            && self.paths.as_mut().is_none_or(|paths| paths.pass(t.path, protocol, names))
    }
}

impl<S: Sink> Sink for Filtered<S> {
    fn begin(&mut self, start_ns: i64) {
        if let Some(criteria) = &mut self.criteria {
            let (from, to) = criteria.times;
            criteria.from_ns = from.map(|when| when.resolve(start_ns));
            criteria.to_ns = to.map(|when| when.resolve(start_ns));
        }
        self.sink.begin(start_ns);
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if self.criteria.as_mut().is_none_or(|criteria| criteria.pass(transaction, names)) {
            self.sink.transaction(transaction, names);
        } else {
            self.refused += 1;
        }
    }
}

/// Which procedures the terms of `--operation` leave.
pub(super) fn procedures(terms: &Terms<plimsoll_results::ProcedureSet>) -> Vec<bool> {
    Procedure::all().map(|procedure| terms.pass(|set| set.contains(procedure))).collect()
}
