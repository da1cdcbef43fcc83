//! Traffic per connection of a session: an SMB session with several channels, an NFSv4.1 session with several connections.
//!
//! A session is identified by its number, which the server chooses; two servers may choose the same one. So connections belong together
//! if they have the same number between the same two addresses, or if the client said that it binds one to the session.

use std::collections::{HashMap, HashSet};

use plimsoll_model::{Endpoint, Group, Operation, Outcome, Protocol, Symbol, Transaction, add_fields};
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;
use crate::state::{Counter, Reader, State, StateError, Writer};
use crate::{ByteSum, Moments, SparseHistogram};

/// Connections that are counted one by one: as many as are observed at a time.
pub const MAX_CHANNELS: usize = 16_384;
/// The newest connections, which all have a histogram of response times. Of older ones, only those of sessions with several connections
/// have one: a histogram takes up to 8 KiB, and most connections are the only one of their session, for which no report needs it.
const NEWEST: usize = 1_024;
/// Older connections with a histogram, per session number: twice the 32 connections that Windows clients use at most. A server may use the
/// same number for one session after the other.
const OLDER: u32 = 64;

/// Traffic of one connection for one session. Without requests that wait by design, and without the session's setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelSums {
    /// Number of the connection.
    pub connection: u32,
    /// The session.
    pub session: u64,
    /// The client's side.
    pub client: Endpoint,
    /// The server's side.
    pub server: Endpoint,
    /// Account, where known.
    pub user: Symbol,
    /// It was bound to a session that was there.
    pub is_bound: bool,
    /// Requests.
    pub requests: u64,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// File data moved.
    pub payload: ByteSum,
    /// Request and response messages.
    pub wire: ByteSum,
    /// Response times, exact; negative ones are left out.
    pub response: Moments,
    /// The same for percentiles, ns; `None` for most connections that are not among the newest ones.
    pub histogram: Option<SparseHistogram>,
    /// First and last instant of a request or an answer, ns since the Unix epoch.
    pub span_ns: Option<(i64, i64)>,
}

/// What connections carried, by session. Exact for at most [`MAX_CHANNELS`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    rows: Vec<ChannelSums>,
    /// By the number of the connection: the row of its first session.
    first: Vec<Option<u32>>,
    /// Rows of further sessions of a connection.
    others: HashMap<(u32, u64), u32>,
    /// By session number.
    sessions: HashMap<u64, SessionRows>,
    /// Connections that were bound to a session before the first request that is counted here, with the session. Only runs have them.
    #[serde(skip)]
    bound: HashSet<(u32, u64)>,
    /// Rows before this one are not among the newest.
    settled: usize,
    /// Requests of connections for which there was no room.
    left_out: u64,
}

/// Rows of a session number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SessionRows {
    rows: u32,
    /// Those that are not among the newest and have a histogram.
    older: u32,
}

/// A session, and what its connections carried, in the order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionChannels<'a> {
    /// The session.
    pub session: u64,
    /// Its connections.
    pub channels: Vec<&'a ChannelSums>,
}

impl ChannelSums {
    fn new(t: &Transaction, session: u64) -> Self {
        Self {
            connection: t.connection,
            session,
            client: t.client,
            server: t.server,
            user: t.user,
            is_bound: false,
            requests: 0,
            unanswered: 0,
            errors: 0,
            payload: ByteSum::default(),
            wire: ByteSum::default(),
            response: Moments::default(),
            histogram: Some(SparseHistogram::default()),
            span_ns: None,
        }
    }

    #[inline]
    fn record(&mut self, t: &Transaction, measured: &Sample) {
        if t.user.is_some() {
            self.user = t.user;
        }
        let row = t.procedure.row();
        if row.group == Group::Session && row.operation == Operation::Session {
            self.is_bound |= t.procedure.is_binding();
            return;
        }
        self.requests += 1;
        self.unanswered += u64::from(t.outcome == Outcome::Unanswered);
        self.errors += u64::from(t.outcome.is_error());
        self.payload.add_payload(t);
        self.wire.add_messages(t);
        if let Some(ns) = measured.response.and_then(|ns| u64::try_from(ns).ok()) {
            self.response.record(ns);
            self.histogram.iter_mut().for_each(|histogram| histogram.record(ns));
        }
        let begin = t.timeline.request_first.or(t.timeline.response_last);
        let end = t.timeline.response_last.or(t.timeline.request_first);
        if let (Some(begin), Some(end)) = (begin, end) {
            let (first, last) = self.span_ns.unwrap_or((begin, end));
            self.span_ns = Some((first.min(begin), last.max(end)));
        }
    }

    fn merge(&mut self, other: &ChannelSums) {
        if other.user.is_some() {
            self.user = other.user;
        }
        self.is_bound |= other.is_bound;
        add_fields!(self, other; requests, unanswered, errors);
        self.payload.merge(other.payload);
        self.wire.merge(other.wire);
        self.response.merge(&other.response);
        match (&mut self.histogram, &other.histogram) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            _ => self.histogram = None,
        }
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// A percentile (0..=100) of the response times, ns, to the histogram's resolution and within the exact extremes.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let (min, max) = (self.response.min_ns()?, self.response.max_ns()?);
        Some(self.histogram.as_ref()?.percentile(percentile)?.clamp(min, max))
    }
}

impl Channels {
    /// Takes one transaction.
    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        // A session of SMB1 (UID) has one connection: another connection with the same number is another session.
        if t.procedure.row().protocol == Protocol::Smb1 {
            return;
        }
        let Some(session) = t.session.filter(|session| *session != 0) else { return };
        // A logon that failed set up nothing.
        if t.procedure.row().operation == Operation::Session && t.outcome != Outcome::Succeeded {
            return;
        }
        match self.row(t.connection, session, || ChannelSums::new(t, session)) {
            Some(row) => row.record(t, measured),
            None => self.left_out += 1,
        }
        if self.settled + NEWEST < self.rows.len() {
            self.settle();
        }
    }

    /// Takes a transaction outside of the measured phase: a connection that it binds belongs to the session during the phase, too.
    pub(crate) fn note_binding(&mut self, t: &Transaction) {
        let Some(session) = t.session.filter(|_| t.procedure.row().group == Group::Session) else { return };
        if t.procedure.is_binding() && t.outcome == Outcome::Succeeded {
            self.bound.insert((t.connection, session));
        }
    }

    #[inline]
    fn row(&mut self, connection: u32, session: u64, new: impl FnOnce() -> ChannelSums) -> Option<&mut ChannelSums> {
        let first = self.first.get(connection as usize).copied().flatten();
        if let Some(place) = first
            && self.rows.get(place as usize).is_some_and(|row| row.session == session)
        {
            return self.rows.get_mut(place as usize);
        }
        self.other_row(connection, session, first.is_some(), new)
    }

    #[cold]
    fn other_row(
        &mut self,
        connection: u32,
        session: u64,
        is_further: bool,
        new: impl FnOnce() -> ChannelSums,
    ) -> Option<&mut ChannelSums> {
        let key = (connection, session);
        if let Some(&place) = self.others.get(&key) {
            return self.rows.get_mut(place as usize);
        }
        if self.rows.len() >= MAX_CHANNELS {
            return None;
        }
        let place = self.rows.len() as u32;
        match is_further || connection as usize >= MAX_CHANNELS {
            true => _ = self.others.insert(key, place),
            false => {
                let wanted = self.first.len().max(connection as usize + 1);
                self.first.resize(wanted, None);
                if let Some(slot) = self.first.get_mut(connection as usize) {
                    *slot = Some(place);
                }
            }
        }
        self.sessions.entry(session).or_default().rows += 1;
        let mut row = new();
        row.is_bound |= self.bound.contains(&key);
        self.rows.push(row);
        self.rows.last_mut()
    }

    /// Removes the histograms of connections that are no longer among the newest: all if the session has one connection, and those beyond
    /// [`OLDER`] if it has several.
    #[cold]
    fn settle(&mut self) {
        while self.settled + NEWEST < self.rows.len() {
            if let Some(row) = self.rows.get_mut(self.settled)
                && row.histogram.is_some()
                && let Some(session) = self.sessions.get_mut(&row.session)
            {
                match session.rows > 1 && session.older < OLDER {
                    true => session.older += 1,
                    false => row.histogram = None,
                }
            }
            self.settled += 1;
        }
    }

    /// Adds another part of the same data (with the same names).
    pub fn merge(&mut self, other: &Channels) {
        for theirs in &other.rows {
            let mut is_new = false;
            let found = self.row(theirs.connection, theirs.session, || {
                is_new = true;
                theirs.clone()
            });
            match found {
                Some(_) if is_new => {}
                Some(mine) => mine.merge(theirs),
                None => self.left_out += theirs.requests,
            }
        }
        self.left_out += other.left_out;
        // Not before: a row may get company by a later one.
        self.settle();
    }

    /// Numbers of connections.
    pub(crate) fn connections(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().map(|row| row.connection)
    }

    /// Replaces the numbers of connections.
    pub(crate) fn renumbered(&self, number: impl Fn(u32) -> u32) -> Self {
        let rows = self.rows.iter().map(|row| ChannelSums { connection: number(row.connection), ..row.clone() });
        let mut renumbered = Self::default();
        renumbered.merge(&Self { rows: rows.collect(), left_out: self.left_out, ..Self::default() });
        renumbered
    }

    /// Requests of connections for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The sessions with several connections, those that carried most in front; and how many sessions there are in all.
    pub fn of_several(&self) -> (Vec<SessionChannels<'_>>, u64) {
        let mut by_number: HashMap<u64, Vec<&ChannelSums>> = HashMap::new();
        self.rows.iter().for_each(|row| by_number.entry(row.session).or_default().push(row));
        let mut all: Vec<SessionChannels<'_>> = by_number.into_values().flat_map(together).collect();
        let count = all.len() as u64;
        all.retain(|session| session.channels.len() > 1);
        all.iter_mut().for_each(|session| session.channels.sort_by_key(|channel| channel.connection));
        let requests = |session: &SessionChannels<'_>| session.channels.iter().map(|one| one.requests).sum::<u64>();
        all.sort_by_key(|session| (std::cmp::Reverse(requests(session)), session.session));
        (all, count)
    }
}

/// Connections of one number that belong together.
fn together(rows: Vec<&ChannelSums>) -> Vec<SessionChannels<'_>> {
    let mut sessions: Vec<SessionChannels<'_>> = Vec::new();
    let (bound, first): (Vec<&ChannelSums>, Vec<&ChannelSums>) = rows.into_iter().partition(|row| row.is_bound);
    let same = |a: &ChannelSums, b: &ChannelSums| a.client.ip == b.client.ip && a.server.ip == b.server.ip;
    let near = |a: &ChannelSums, b: &ChannelSums| a.client.ip == b.client.ip || a.server.ip == b.server.ip;
    for row in first {
        match sessions.iter_mut().find(|session| session.channels.iter().any(|one| same(one, row))) {
            Some(session) => session.channels.push(row),
            None => sessions.push(SessionChannels { session: row.session, channels: vec![row] }),
        }
    }
    // Several sessions may share an address: then it does not tell to which of them a connection belongs.
    let known = sessions.len().max(1);
    for row in bound {
        let by = |test: &dyn Fn(&ChannelSums, &ChannelSums) -> bool, of: usize| {
            let fits = |session: &SessionChannels<'_>| session.channels.iter().any(|one| test(one, row));
            let mut found = (0..of).zip(&sessions).filter(|(_, session)| fits(session)).map(|(place, _)| place);
            found.next().filter(|_| found.next().is_none())
        };
        let only = (sessions.len() == 1).then_some(0);
        match by(&same, usize::MAX).or_else(|| by(&near, known)).or(only).and_then(|place| sessions.get_mut(place)) {
            Some(session) => session.channels.push(row),
            None => sessions.push(SessionChannels { session: row.session, channels: vec![row] }),
        }
    }
    sessions
}

crate::state::fields!("connection of a session"; ChannelSums {
    connection, session, client, server, user, is_bound, requests, unanswered, errors, payload, wire, response, histogram, span_ns,
} if |sums| Counter::all(&[sums.requests, sums.unanswered, sums.errors]));

impl State for Channels {
    fn put(&self, out: &mut Writer) {
        self.rows.put(out);
        self.left_out.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let rows = Vec::<ChannelSums>::take(from)?;
        let mut channels = Self::default();
        let count = rows.len();
        for row in rows {
            let (connection, session) = (row.connection, row.session);
            let _ = channels.row(connection, session, || row);
        }
        // Without duplicates, and within the limit.
        if channels.rows.len() != count {
            return Err(from.no("connections of sessions"));
        }
        channels.settle();
        let left_out = u64::take(from)?;
        Ok(Self { left_out, ..channels })
    }
}

#[cfg(test)]
mod tests;
