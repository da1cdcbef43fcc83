//! Which transactions count: filters in front of another sink.

mod address;
mod pattern;
mod status;
mod term;
mod time_range;

use plimsoll_model::{Coverage, Names, Sink, Transaction};

pub use address::Address;
pub use pattern::{NameFilter, Pattern};
pub use status::Status;
pub use term::{Term, Terms};
pub use time_range::{Moment, TimeRange};

/// The filters; `None` matches everything.
pub struct Filters {
    /// When a request was sent.
    pub range: TimeRange,
    /// Clients.
    pub clients: Option<Terms<Address>>,
    /// Servers.
    pub servers: Option<Terms<Address>>,
    /// Shares and exports.
    pub shares: Option<NameFilter>,
    /// Paths within the share.
    pub paths: Option<NameFilter>,
    /// Users.
    pub users: Option<NameFilter>,
    /// Whether each procedure is wanted.
    pub procedures: Option<Vec<bool>>,
    /// Results.
    pub statuses: Option<Terms<Status>>,
    /// Requests that took longer than this, ns.
    pub slower_than_ns: Option<i64>,
    /// Whether they took as long as from their intended start, where there is one.
    pub from_intended: bool,
}

/// Results of the filters: the time range, known when the capture begins, and the number of rejected transactions.
pub type FilterState = (Option<i64>, Option<i64>, u64);

/// Lets the wanted transactions through.
pub struct Filtered<S> {
    /// `None`: nothing is filtered.
    filters: Option<Box<Filters>>,
    /// Transactions that were not let through.
    refused: u64,
    /// Where they go.
    pub sink: S,
}

impl<S> Filtered<S> {
    /// In front of `sink`; without filters everything passes.
    pub fn new(filters: Option<Filters>, sink: S) -> Self {
        Self { filters: filters.map(Box::new), refused: 0, sink }
    }

    /// Whether a request that waits at `now_ns` would be let through if its response came now.
    pub fn wants(&mut self, waiting: &Transaction, now_ns: i64, names: &Names) -> bool {
        let Some(filters) = &mut self.filters else { return true };
        let mut now = waiting.clone();
        now.timeline.response_last = Some(now_ns);
        filters.pass(&now, names)
    }

    /// The results so far.
    pub fn state(&self) -> FilterState {
        let range = self.filters.as_ref().map(|filters| &filters.range);
        let (from_ns, to_ns) = range.map_or((None, None), |range| (range.from_ns, range.to_ns));
        (from_ns, to_ns, self.refused)
    }

    /// The same filters, which go on from there.
    #[must_use]
    pub fn of_state(mut self, (from_ns, to_ns, refused): FilterState) -> Self {
        if let Some(filters) = &mut self.filters {
            (filters.range.from_ns, filters.range.to_ns) = (from_ns, to_ns);
        }
        self.refused = refused;
        self
    }

    /// The time that is left of a capture's, ns since the Unix epoch.
    pub fn span(&self, (first, last): (i64, i64)) -> (i64, i64) {
        let Some(filters) = &self.filters else { return (first, last) };
        let range = &filters.range;
        (range.from_ns.map_or(first, |from| from.max(first)), range.to_ns.map_or(last, |to| to.min(last)))
    }

    /// Limits `coverage` to the time range of the filters, and describes the filters there.
    pub fn narrow(&self, coverage: &mut Coverage) {
        coverage.filtered_out = self.refused;
        let Some(whole) = coverage.first_ns.zip(coverage.last_ns) else { return };
        let (first, last) = self.span(whole);
        // Rates are of the time that is looked at.
        (coverage.first_ns, coverage.last_ns) = (Some(first), Some(last.max(first)));
        coverage.capture_ns = self.filters.is_some().then_some(whole);
    }
}

impl Filters {
    fn pass(&mut self, t: &Transaction, names: &Names) -> bool {
        let protocol = t.procedure.row().protocol;
        let intended = || t.timeline.response_time_from_intended().filter(|_| self.from_intended);
        let took = || intended().or_else(|| t.timeline.response_time());
        self.range.holds(t.timeline.request_first)
            && self.procedures.as_ref().is_none_or(|wanted| wanted.get(t.procedure.index()) == Some(&true))
            && self.slower_than_ns.is_none_or(|limit| took().is_some_and(|took| took > limit))
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
        if let Some(filters) = &mut self.filters {
            filters.range.begin(start_ns);
        }
        self.sink.begin(start_ns);
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if self.filters.as_mut().is_none_or(|filters| filters.pass(transaction, names)) {
            self.sink.transaction(transaction, names);
        } else {
            self.refused += 1;
        }
    }
}
