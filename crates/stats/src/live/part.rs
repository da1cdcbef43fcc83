//! Records transactions into seconds.

use std::collections::VecDeque;

use plimsoll_model::{Names, Outcome, Procedure, Sink, Transaction};

use super::second::{SECOND_NS, Second};
use crate::{Headline, IntervalRecorder, IntervalWidth, Intervals};

/// Seconds that are kept: five minutes.
pub const KEPT_SECONDS: usize = 300;

/// The seconds of one source, which are taken out at their end: [`Recent`](super::Recent) has one source, and so has each load thread.
/// Merged parts equal the whole, to the last number of [`Second::total`], [`Second::heat`], [`Second::service_heat`] and
/// [`Second::queue_depth`].
#[derive(Clone, Debug)]
pub struct LivePart {
    recorder: IntervalRecorder,
    headline: Headline,
    seconds: Seconds,
    write_raw_async: Procedure,
}

impl LivePart {
    /// Nothing yet; of the response times that lead.
    pub fn new(headline: Headline) -> Self {
        Self {
            recorder: IntervalRecorder::new(Intervals::new(IntervalWidth::USUAL)).of(headline),
            headline,
            seconds: Seconds::default(),
            write_raw_async: Procedure::write_raw_async(),
        }
    }

    /// Takes out the seconds that ended at or before an instant, ns since the Unix epoch. Later transactions of such a second form
    /// another part of it.
    pub fn take_before(&mut self, ns: i64) -> Vec<Second> {
        let number = ns.div_euclid(SECOND_NS);
        for interval in self.recorder.drain_before(number.saturating_mul(SECOND_NS)) {
            if let Some(second) = self.seconds.at(interval.start_ns()) {
                second.add(&interval);
            }
        }
        self.seconds.take_before(number)
    }

    /// Takes one transaction.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        self.recorder.record(t);
        let is_left_out = t.procedure == self.write_raw_async || t.long_lived || !t.counted;
        if is_left_out || t.outcome == Outcome::NeverSent {
            return;
        }
        let Some(end) = t.timeline.response_last.or(t.timeline.request_first) else { return };
        let known = |ns: Option<i64>| ns.and_then(|ns| u64::try_from(ns).ok());
        if let Some(second) = self.seconds.at(end) {
            second.cells.record(t, known(self.headline.of(&t.timeline)));
            if let Some(service_ns) = known(t.timeline.service_time()) {
                second.record_service(service_ns);
            }
        }
        if let (Some(start), Some(response_ns)) = (t.timeline.request_first, known(t.timeline.response_time())) {
            self.seconds.outstanding(start, start.saturating_add_unsigned(response_ns));
        }
    }
}

impl Sink for LivePart {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.record(transaction);
    }
}

/// Consecutive seconds without gaps; at most [`KEPT_SECONDS`].
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds(VecDeque<Second>);

impl Seconds {
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Second> + ExactSizeIterator {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Second> {
        self.0.iter_mut()
    }

    /// The number of the first.
    pub(super) fn first(&self) -> Option<i64> {
        self.0.front().map(Second::number)
    }

    /// The second of an instant, if it is stored.
    pub(super) fn get(&self, ns: i64) -> Option<&Second> {
        let place = ns.div_euclid(SECOND_NS).checked_sub(self.first()?)?;
        self.0.get(usize::try_from(place).ok()?)
    }

    /// The second of an instant, created if necessary; `None` if it is too old. If it is so late that all earlier seconds are too old,
    /// these are dropped.
    #[inline]
    pub(super) fn at(&mut self, ns: i64) -> Option<&mut Second> {
        let number = ns.div_euclid(SECOND_NS);
        let is_there = self
            .0
            .front()
            .zip(self.0.back())
            .is_some_and(|(first, last)| (first.number()..=last.number()).contains(&number));
        if !is_there {
            self.make(number);
        }
        let place = number.checked_sub(self.first()?)?;
        self.0.get_mut(usize::try_from(place).ok()?)
    }

    #[cold]
    fn make(&mut self, number: i64) {
        let last = self.0.back().map_or(number, Second::number);
        let is_far = number.abs_diff(last) >= KEPT_SECONDS as u64;
        if is_far && number < last {
            return;
        }
        if is_far {
            self.0.clear();
        }
        let next = self.0.back().map_or(number, |second| second.number().saturating_add(1));
        self.0.extend((next..=number).map(Second::new));
        let first = self.first().unwrap_or(number);
        (number..first).rev().for_each(|earlier| self.0.push_front(Second::new(earlier)));
        let too_many = self.0.len().saturating_sub(KEPT_SECONDS);
        self.0.drain(..too_many);
    }

    /// A request was outstanding from `start` to `end`.
    fn outstanding(&mut self, start: i64, end: i64) {
        let Some(last) = self.0.back().map(Second::start_ns) else { return };
        let mut from = start.max(last.saturating_sub((KEPT_SECONDS as i64 - 1) * SECOND_NS));
        while from < end {
            let until = from.div_euclid(SECOND_NS).saturating_add(1).saturating_mul(SECOND_NS).min(end);
            let Some(second) = self.at(from) else { return };
            second.outstanding_ns += until.abs_diff(from);
            from = until;
        }
    }

    /// Drops the seconds that begin after an instant.
    pub(super) fn drop_after(&mut self, ns: i64) {
        while self.0.back().is_some_and(|last| last.start_ns() > ns) {
            self.0.pop_back();
        }
    }

    fn take_before(&mut self, number: i64) -> Vec<Second> {
        let ended = self.0.iter().take_while(|second| second.number() < number).count();
        self.0.drain(..ended).collect()
    }
}
