//! Sums for one procedure, or for several together.

use std::borrow::Cow;

use plimsoll_model::{Outcome, Transaction, add_fields};
use serde::{Deserialize, Serialize};

use crate::state::Counter;
use crate::{ByteSum, Decades, Headline, Times, Waiting};

/// Maximum number of distinct statuses per row; answers with further statuses are counted together.
pub const MAX_STATUSES: usize = 64;

/// Answers with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCount {
    /// As on the wire.
    pub status: u32,
    /// The outcome of the request.
    pub outcome: Outcome,
    /// How many.
    pub count: u64,
}

/// The sums and distributions of one row.
///
/// `count` = `answered` + `unanswered` + failed without a status; a request that was never sent is in `never_sent`
/// alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accumulator {
    count: u64,
    answered: u64,
    unanswered: u64,
    expected: u64,
    refused: u64,
    failed: u64,
    status_unknown: u64,
    never_sent: u64,
    pairs: u64,
    packets: u64,
    payload: ByteSum,
    wire: ByteSum,
    waiting: Waiting,
    /// Response times that are service times too, as they are where request and answer took a packet each: most.
    both: Times,
    /// The response times of other requests.
    response: Times,
    /// The service times of other requests.
    service: Times,
    /// Boxed, for captures have none.
    from_intended: Option<Box<Times>>,
    decades: Decades,
    statuses: Vec<StatusCount>,
    other_statuses: u64,
}

impl Accumulator {
    /// Takes one transaction.
    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        match t.outcome {
            Outcome::NeverSent => {
                self.never_sent += 1;
                return;
            }
            Outcome::Unanswered => self.unanswered += u64::from(!measured.one_way),
            Outcome::Failed => {
                self.answered += u64::from(t.status.is_some());
                self.failed += 1;
            }
            Outcome::Succeeded | Outcome::Cancelled => self.answered += 1,
            Outcome::Unknown => {
                self.answered += 1;
                self.status_unknown += 1;
            }
            Outcome::Expected => {
                self.answered += 1;
                self.expected += 1;
            }
            Outcome::Refused => {
                self.answered += 1;
                self.refused += 1;
            }
        }
        self.count += 1;
        // Of a pair that is not whole some packets were not seen.
        let whole = t.timeline.request_last.is_some() && t.timeline.response_last.is_some();
        if (t.response_packets.is_some() && whole) || measured.one_way {
            self.pairs += 1;
            self.packets += u64::from(t.request_packets) + u64::from(t.response_packets.unwrap_or(0));
        }
        self.payload.add_payload(t);
        self.wire.add_messages(t);
        self.record_times(measured);
        if let Some(ns) = measured.headline_ns() {
            self.waiting.record(t, ns, measured.service_ns());
        }
        if let Some(ns) = measured.from_intended {
            self.from_intended.get_or_insert_default().record(ns);
        }
        if let Some(status) = t.status
            && (status != 0 || t.outcome != Outcome::Succeeded)
        {
            self.count_status(StatusCount { status, outcome: t.outcome, count: 1 });
        }
    }

    #[inline]
    fn record_times(&mut self, measured: &Sample) {
        match (measured.response, measured.service) {
            (Some(response), Some(service)) if response == service => self.both.record(response),
            (response, service) => {
                response.into_iter().for_each(|ns| self.response.record(ns));
                service.into_iter().for_each(|ns| self.service.record(ns));
            }
        }
        if measured.headline.is_some_and(|ns| ns >= 0) {
            self.decades.add(measured.decade);
        }
    }

    fn count_status(&mut self, new: StatusCount) {
        let known = self.statuses.iter().position(|s| s.status == new.status && s.outcome == new.outcome);
        match known {
            Some(known) => self.statuses[known].count += new.count,
            None if self.statuses.len() < MAX_STATUSES => self.statuses.push(new),
            None => self.other_statuses += new.count,
        }
    }

    /// The sum of rows, which of one row is the row itself; `None` without rows.
    pub fn sum<'a>(mut rows: impl Iterator<Item = &'a Accumulator>) -> Option<Cow<'a, Accumulator>> {
        let mut sum = Cow::Borrowed(rows.next()?);
        rows.for_each(|row| sum.to_mut().merge(row));
        Some(sum)
    }

    /// Adds another part of the same data, or another row. Exact, but for which statuses are kept beyond
    /// [`MAX_STATUSES`].
    pub fn merge(&mut self, other: &Accumulator) {
        add_fields!(self, other; count, answered, unanswered, expected, refused, failed, status_unknown, never_sent);
        add_fields!(self, other; pairs, packets);
        self.merge_bytes(other);
        self.waiting.merge(other.waiting);
        self.both.merge(&other.both);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        if let Some(theirs) = &other.from_intended {
            self.from_intended.get_or_insert_default().merge(theirs);
        }
        self.decades.merge(&other.decades);
        other.statuses.iter().for_each(|&status| self.count_status(status));
        self.other_statuses += other.other_statuses;
    }

    /// Adds only the bytes: Write_Raw's asynchronous part moves data but is not an operation.
    pub(crate) fn merge_bytes(&mut self, other: &Accumulator) {
        self.payload.merge(other.payload);
        self.wire.merge(other.wire);
    }

    /// Requests.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Answered requests.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Requests whose answer was not seen.
    pub fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Requests that were refused or failed.
    pub fn errors(&self) -> u64 {
        self.refused + self.failed
    }

    /// Answers with a status that is part of ordinary work ([`Outcome::Expected`]).
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Requests to which the server said no.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Requests that trouble kept from being carried out.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Answers whose status was not seen; they may be errors.
    pub fn status_unknown(&self) -> u64 {
        self.status_unknown
    }

    /// Planned requests that were never sent; included in no other number.
    pub fn never_sent(&self) -> u64 {
        self.never_sent
    }

    /// Mean packets a pair, both ways; `None` where no pair was whole.
    pub fn packets_mean(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.packets as f64 / self.pairs as f64)
    }

    /// File data moved.
    pub fn payload(&self) -> ByteSum {
        self.payload
    }

    /// Request and response messages.
    pub fn wire(&self) -> ByteSum {
        self.wire
    }

    /// How long clients waited for the answers.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// Response times (`Timeline::response_time`).
    pub fn response(&self) -> Cow<'_, Times> {
        together(&self.both, &self.response)
    }

    /// The response times that lead.
    pub fn leading(&self, headline: Headline) -> Cow<'_, Times> {
        match (&self.from_intended, headline) {
            (Some(times), Headline::FromIntended) => Cow::Borrowed(times),
            _ => self.response(),
        }
    }

    /// Service times (`Timeline::service_time`).
    pub fn service(&self) -> Cow<'_, Times> {
        together(&self.both, &self.service)
    }

    /// Response times from the intended start (`Timeline::response_time_from_intended`); `None` where nothing had one. Where
    /// they lead they are of every request ([`Headline::of`]).
    pub fn from_intended(&self) -> Option<&Times> {
        self.from_intended.as_deref()
    }

    /// The leading response times ([`Headline`]) by decade.
    pub fn decades(&self) -> &Decades {
        &self.decades
    }

    /// Answers by status, most frequent first, without plain success.
    pub fn statuses(&self) -> Vec<StatusCount> {
        let mut statuses = self.statuses.clone();
        statuses.sort_by_key(|s| (std::cmp::Reverse(s.count), s.status, s.outcome.label()));
        statuses
    }

    /// Answers whose status was not kept, there being more than [`MAX_STATUSES`].
    pub fn other_statuses(&self) -> u64 {
        self.other_statuses
    }
}

/// The sum of both; a copy only where both hold something.
fn together<'t>(some: &'t Times, others: &'t Times) -> Cow<'t, Times> {
    if others.is_empty() {
        Cow::Borrowed(some)
    } else if some.is_empty() {
        Cow::Borrowed(others)
    } else {
        let mut sum = some.clone();
        sum.merge(others);
        Cow::Owned(sum)
    }
}

/// Values computed once per transaction and used by several accumulators.
pub(crate) struct Sample {
    /// `Timeline::response_time`, ns; may be negative.
    pub(crate) response: Option<i64>,
    /// `Timeline::service_time`, ns; may be negative.
    pub(crate) service: Option<i64>,
    /// From the intended start, ns.
    from_intended: Option<i64>,
    /// The headline time, ns; may be negative.
    pub(crate) headline: Option<i64>,
    /// Its decade, where it is not negative.
    pub(crate) decade: usize,
    /// Write_Raw's asynchronous part, which has no answer.
    pub(crate) one_way: bool,
}

impl Sample {
    #[inline]
    pub(crate) fn of(t: &Transaction, one_way: bool, leads: Headline) -> Self {
        let (response, headline) = (t.timeline.response_time(), leads.of(&t.timeline));
        let from_intended = match leads {
            Headline::Response => t.timeline.response_time_from_intended(),
            Headline::FromIntended => headline,
        };
        let decade = headline.and_then(|ns| u64::try_from(ns).ok()).map_or(0, Decades::of);
        Self { response, service: t.timeline.service_time(), from_intended, headline, decade, one_way }
    }

    /// The service time where it is not negative, ns.
    #[inline]
    pub(crate) fn service_ns(&self) -> Option<u64> {
        u64::try_from(self.service?).ok()
    }

    /// The leading response time where it is not negative, ns.
    #[inline]
    pub(crate) fn headline_ns(&self) -> Option<u64> {
        u64::try_from(self.headline?).ok()
    }
}

crate::state::fields!("status"; StatusCount { status, outcome, count } if |status| Counter::all(&[status.count]));
crate::state::fields!("row"; Accumulator {
    count, answered, unanswered, expected, refused, failed, never_sent, pairs, packets, payload, wire, both, response,
    service, from_intended, decades, statuses, other_statuses, status_unknown, waiting,
} if |row| {
    let counters = [row.count, row.answered, row.unanswered, row.never_sent, row.pairs, row.packets];
    let classes = [row.expected, row.refused, row.failed, row.status_unknown, row.other_statuses];
    Counter::all(&counters) && Counter::all(&classes) && row.statuses.len() <= MAX_STATUSES
});
