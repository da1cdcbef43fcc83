//! Which transactions count: filters in front of another sink.

mod address;
mod pattern;
mod status;
mod term;

use plimsoll_model::{Coverage, Names, Sink, Transaction};

use pattern::NameFilter;

pub use address::Address;
pub use pattern::Pattern;
pub use status::Status;
pub use term::{Term, Terms};

/// Maps the start of a capture to a point in time; both in ns since the Unix epoch.
pub type Moment = Box<dyn Fn(i64) -> i64 + Send>;

/// The filters; an empty one matches everything.
#[derive(Default)]
pub struct Criteria {
    /// Requests sent at or after the first time and before the second.
    pub times: (Option<Moment>, Option<Moment>),
    /// Clients.
    pub clients: Vec<Term<Address>>,
    /// Servers.
    pub servers: Vec<Term<Address>>,
    /// Shares and exports.
    pub shares: Vec<Term<Pattern>>,
    /// Paths within the share.
    pub paths: Vec<Term<Pattern>>,
    /// Users.
    pub users: Vec<Term<Pattern>>,
    /// Whether each procedure is wanted.
    pub procedures: Option<Vec<bool>>,
    /// Results.
    pub statuses: Vec<Term<Status>>,
    /// Requests that took longer than this, ns; from the intended start, where there is one.
    pub slower_than_ns: Option<i64>,
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

/// The criteria at work.
struct Filters {
    times: (Option<Moment>, Option<Moment>),
    /// The same, known when the capture begins.
    from_ns: Option<i64>,
    to_ns: Option<i64>,
    clients: Option<Terms<Address>>,
    servers: Option<Terms<Address>>,
    shares: Option<NameFilter>,
    paths: Option<NameFilter>,
    users: Option<NameFilter>,
    procedures: Option<Vec<bool>>,
    statuses: Option<Terms<Status>>,
    slower_than_ns: Option<i64>,
}

impl<S> Filtered<S> {
    /// In front of `sink`; without criteria everything passes.
    pub fn new(criteria: Option<Criteria>, sink: S) -> Self {
        Self { filters: criteria.map(|criteria| Box::new(Filters::new(criteria))), refused: 0, sink }
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
        let (from_ns, to_ns) = self.filters.as_ref().map_or((None, None), |filters| (filters.from_ns, filters.to_ns));
        (from_ns, to_ns, self.refused)
    }

    /// The same filters, which go on from there.
    #[must_use]
    pub fn of_state(mut self, (from_ns, to_ns, refused): FilterState) -> Self {
        if let Some(filters) = &mut self.filters {
            (filters.from_ns, filters.to_ns) = (from_ns, to_ns);
        }
        self.refused = refused;
        self
    }

    /// The time that is left of a capture's, ns since the Unix epoch.
    pub fn span(&self, (first, last): (i64, i64)) -> (i64, i64) {
        let Some(filters) = &self.filters else { return (first, last) };
        (filters.from_ns.map_or(first, |from| from.max(first)), filters.to_ns.map_or(last, |to| to.min(last)))
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
    fn new(criteria: Criteria) -> Self {
        let names = |terms: &[Term<Pattern>]| Terms::of(terms).map(NameFilter::new);
        Self {
            times: criteria.times,
            from_ns: None,
            to_ns: None,
            clients: Terms::of(&criteria.clients),
            servers: Terms::of(&criteria.servers),
            shares: names(&criteria.shares),
            paths: names(&criteria.paths),
            users: names(&criteria.users),
            procedures: criteria.procedures,
            statuses: Terms::of(&criteria.statuses),
            slower_than_ns: criteria.slower_than_ns,
        }
    }

    fn pass(&mut self, t: &Transaction, names: &Names) -> bool {
        let at = t.timeline.request_first;
        let protocol = t.procedure.row().protocol;
        let took = || t.timeline.response_time_from_intended().or_else(|| t.timeline.response_time());
        self.from_ns.is_none_or(|from| at.is_some_and(|at| at >= from))
            && self.to_ns.is_none_or(|to| at.is_some_and(|at| at < to))
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
            let at = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment(start_ns));
            (filters.from_ns, filters.to_ns) = (at(&filters.times.0), at(&filters.times.1));
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
