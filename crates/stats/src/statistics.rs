//! The sink that adds everything up.

mod renumber;
mod state;

use std::borrow::Cow;

use plimsoll_model::{Names, Outcome, Procedure, Sink, Transaction};
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;
use crate::depth::DepthSender;
use crate::heat::HeatMaps;
use crate::io::{Io, Limits};
use crate::top::Top;
use crate::{
    Accumulator, Breakdown, Channels, DepthTally, Dimensions, GroupKey, Headline, HeatMap, MAX_SERIES_BINS, QueueDepth,
    Series, SharedDepth, Tallies,
};

/// What to compute.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many of the slowest, and of the longest-waiting unanswered, to keep.
    pub slowest: usize,
    /// What to break down by.
    pub by: Option<Dimensions>,
    /// Which response time leads.
    pub headline: Headline,
    /// Whether to compute the sums for a diagnosis.
    pub tallies: bool,
    /// Whether to add up how files are read and written, and how many streams to remember for that.
    pub io: Option<Limits>,
}

impl Default for Options {
    fn default() -> Self {
        Self { slowest: 20, by: None, headline: Headline::Response, tallies: false, io: None }
    }
}

/// Everything that a report says about transactions. See the crate's table for what counts where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics {
    operations: Table,
    long_lived: Table,
    /// Transactions that are not counted: NFSv4 compounds as wholes, and their members besides the main one.
    members: Table,
    slowest: Top,
    unanswered: Top,
    depth: QueueDepth,
    /// Receives requests instead of `depth` if other threads measure at the same time.
    #[serde(skip)]
    sender: Option<DepthSender>,
    series: Series,
    heat: HeatMaps,
    channels: Channels,
    breakdown: Option<Breakdown>,
    tallies: Option<Box<Tallies>>,
    io: Option<Box<Io>>,
    headline: Headline,
    write_raw_async: Procedure,
}

/// One accumulator a procedure, made when it is first seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Table(Vec<Option<Box<Accumulator>>>);

impl Default for Statistics {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Statistics {
    /// Nothing counted yet.
    pub fn new(options: Options) -> Self {
        Self {
            operations: Table::new(),
            long_lived: Table::new(),
            members: Table::new(),
            slowest: Top::new(options.slowest),
            unanswered: Top::new(options.slowest),
            depth: QueueDepth::default(),
            sender: None,
            series: Series::new(MAX_SERIES_BINS),
            heat: HeatMaps::new(),
            channels: Channels::default(),
            breakdown: options.by.map(Breakdown::new),
            tallies: options.tallies.then(Box::default),
            io: options.io.map(|limits| Box::new(Io::new(limits))),
            headline: options.headline,
            write_raw_async: Procedure::write_raw_async(),
        }
    }

    /// Statistics of one of several threads that measure at the same time: the queue depth is that of all threads.
    /// [`Statistics::without_feed`] ends it.
    pub fn beside_others(options: Options, depth: &SharedDepth) -> Self {
        Self { sender: Some(depth.sender()), ..Self::new(options) }
    }

    /// Passes on the data for the common queue depth; the depth here is empty.
    #[must_use]
    pub fn without_feed(self) -> Self {
        Self { sender: None, ..self }
    }

    /// The statistics so far. For one of several threads without the queue depth.
    #[must_use]
    pub fn so_far(&self) -> Self {
        Self {
            operations: self.operations.clone(),
            long_lived: self.long_lived.clone(),
            members: self.members.clone(),
            slowest: self.slowest.clone(),
            unanswered: self.unanswered.clone(),
            depth: if self.sender.is_some() { QueueDepth::default() } else { self.depth.clone() },
            // A copy of it would take the lock that all threads share.
            sender: None,
            series: self.series.clone(),
            heat: self.heat.clone(),
            channels: self.channels.clone(),
            breakdown: self.breakdown.clone(),
            tallies: self.tallies.clone(),
            io: self.io.clone(),
            headline: self.headline,
            write_raw_async: self.write_raw_async,
        }
    }

    /// Replaces the queue depth by the common one of several threads.
    #[must_use]
    pub fn with_queue_depth(self, depth: QueueDepth) -> Self {
        Self { depth, ..self }
    }

    /// Takes one transaction.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        let one_way = t.procedure == self.write_raw_async;
        let measured = Sample::of(t, one_way, self.headline);
        let table = match (t.counted, t.long_lived) {
            (false, _) => &mut self.members,
            (true, true) => &mut self.long_lived,
            (true, false) => &mut self.operations,
        };
        table.at(t.procedure).record(t, &measured);
        if t.long_lived
            && t.counted
            && let Some(tallies) = &mut self.tallies
        {
            tallies.record_long_lived(t, &measured);
        }
        if one_way || t.long_lived || !t.counted || t.outcome == Outcome::NeverSent {
            return;
        }
        let row = t.procedure.row();
        if let Some(ns) = measured.headline {
            self.slowest.offer(ns, t);
        } else if t.outcome == Outcome::Unanswered
            && let Some(asked) = t.timeline.request_first
        {
            // The earliest request has waited longest.
            self.unanswered.offer(asked.saturating_neg(), t);
        }
        let span = t.timeline.request_first.zip(t.timeline.response_last);
        match (&mut self.sender, span) {
            (Some(sender), span) => sender.take(span),
            (None, Some((start, end))) => self.depth.record(start, end),
            (None, None) => self.depth.leave_out(),
        }
        if let Some(end) = t.timeline.response_last {
            if let Some(cell) = self.series.at(end) {
                cell.record(t, &measured);
            }
            self.heat.record(end, row.group, &measured);
        }
        self.channels.record(t, &measured);
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.record(t, &measured);
        }
        if let Some(tallies) = &mut self.tallies {
            tallies.record(t, &measured);
        }
        if let Some(io) = &mut self.io {
            io.record(t);
        }
    }

    /// Takes a transaction outside of the measured phase. It is not counted; but a binding says to which session a connection belongs.
    pub fn record_outside(&mut self, t: &Transaction) {
        self.channels.note_binding(t);
    }

    /// Adds another part of the same data. (Paths, shares and users must come from the same [`Names`], and the same
    /// response time must lead.)
    pub fn merge(&mut self, other: &Statistics) {
        self.operations.merge(&other.operations);
        self.long_lived.merge(&other.long_lived);
        self.members.merge(&other.members);
        self.slowest.merge(&other.slowest);
        self.unanswered.merge(&other.unanswered);
        self.depth.merge(&other.depth);
        self.series.merge(&other.series);
        self.heat.merge(&other.heat);
        self.channels.merge(&other.channels);
        match (&mut self.breakdown, &other.breakdown) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.breakdown.clone_from(theirs),
            (Some(_), None) => {}
        }
        match (&mut self.tallies, &other.tallies) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.tallies.clone_from(theirs),
            (Some(_), None) => {}
        }
        match (&mut self.io, &other.io) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.io.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    /// Which response time the series, heat maps, breakdown, decades and slowest operations are of.
    pub fn headline(&self) -> Headline {
        self.headline
    }

    /// The procedures seen, in the table's order, long-lived requests apart.
    pub fn operations(&self) -> impl Iterator<Item = (Procedure, &Accumulator)> {
        self.operations.iter()
    }

    /// Requests that wait by design, by procedure.
    pub fn long_lived(&self) -> impl Iterator<Item = (Procedure, &Accumulator)> {
        self.long_lived.iter()
    }

    /// Transactions that no other number includes, by procedure: NFSv4 compounds as wholes, and their members besides the main one.
    pub fn members(&self) -> impl Iterator<Item = (Procedure, &Accumulator)> {
        self.members.iter()
    }

    /// A command together with its subcommands, as the netbench report shows Transaction2; `None` if there were none. Without Write_Raw's
    /// asynchronous part.
    pub fn with_subcommands(&self, command: Procedure) -> Option<Cow<'_, Accumulator>> {
        let belongs = |p: Procedure| p.command() == command.command() && p != self.write_raw_async;
        Accumulator::sum(self.operations().filter(|&(procedure, _)| belongs(procedure)).map(|(_, row)| row))
    }

    /// Requests in all: the denominator of every share of the total. An NFSv4 compound counts once, and Write_Raw's
    /// asynchronous part is no request.
    pub fn total(&self) -> u64 {
        let counts = |p: Procedure| p != self.write_raw_async;
        self.operations().filter(|&(procedure, _)| counts(procedure)).map(|(_, row)| row.count()).sum()
    }

    /// The sums with traffic, in the order of the netbench report, "Other" before its three parts. An iterator, because each sum has
    /// large histograms.
    pub fn groups(&self) -> impl Iterator<Item = (GroupKey, Accumulator)> {
        GroupKey::ALL.iter().filter_map(|&key| Some((key, self.group(key)?)))
    }

    /// One sum; `None` without traffic.
    pub fn group(&self, key: GroupKey) -> Option<Accumulator> {
        let mut sum = Accumulator::default();
        for (procedure, row) in self.operations().filter(|(procedure, _)| key.holds(procedure.row().group)) {
            if procedure == self.write_raw_async {
                sum.merge_bytes(row);
            } else {
                sum.merge(row);
            }
        }
        (sum.count() > 0).then_some(sum)
    }

    /// The slowest transactions, slowest first; one per message.
    pub fn slowest(&self) -> impl Iterator<Item = &Transaction> {
        self.slowest.iter()
    }

    /// How many of the slowest, and of the unanswered, are kept.
    pub fn slowest_limit(&self) -> usize {
        self.slowest.limit()
    }

    /// Keeps fewer of the slowest, and of the unanswered, from now on.
    pub fn shorten_slowest(&mut self, limit: usize) {
        self.slowest.shorten(limit);
        self.unanswered.shorten(limit);
    }

    /// The unanswered requests that have waited longest, longest first; one per message.
    pub fn unanswered(&self) -> impl Iterator<Item = &Transaction> {
        self.unanswered.iter()
    }

    /// Requests outstanding at once.
    pub fn queue_depth(&self) -> DepthTally {
        self.depth.tally()
    }

    /// Throughput over time.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Latency over time: all together, then by group.
    pub fn heat_maps(&self) -> Vec<HeatMap> {
        self.heat.maps()
    }

    /// Traffic per connection of each session.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The numbers by key, where asked for.
    pub fn breakdown(&self) -> Option<&Breakdown> {
        self.breakdown.as_ref()
    }

    /// The sums for a diagnosis, if requested.
    pub fn tallies(&self) -> Option<&Tallies> {
        self.tallies.as_deref()
    }

    /// How files are read and written, where asked for.
    pub fn io(&self) -> Option<Io> {
        self.io.as_deref().map(Io::settled)
    }
}

impl Sink for Statistics {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.record(transaction);
    }
}

impl Table {
    fn new() -> Self {
        Self(std::iter::repeat_with(|| None).take(Procedure::COUNT).collect())
    }

    #[inline]
    fn at(&mut self, procedure: Procedure) -> &mut Accumulator {
        self.0[procedure.index()].get_or_insert_with(Box::default)
    }

    fn merge(&mut self, other: &Table) {
        for (procedure, row) in other.iter() {
            self.at(procedure).merge(row);
        }
    }

    fn iter(&self) -> impl Iterator<Item = (Procedure, &Accumulator)> {
        Procedure::all().zip(&self.0).filter_map(|(procedure, row)| Some((procedure, row.as_deref()?)))
    }
}
