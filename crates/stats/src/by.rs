//! Numbers by client, server, share, user, path or connection.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Names, Symbol, Transaction};

use crate::state::{Counter, Reader, State, StateError, Writer};
use crate::{ByteSum, Moments, Sample, SparseHistogram, Waiting};

/// Most keys of a breakdown; what belongs to others is summed in one.
pub const MAX_KEYS: usize = 10_000;

/// What to break down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Client address.
    Client,
    /// Server address and port.
    Server,
    /// Share or export.
    Share,
    /// Account or numeric uid.
    User,
    /// Path, within its share.
    Path,
    /// Connection.
    Connection,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Dimension; 6] = [
        Dimension::Client,
        Dimension::Server,
        Dimension::Share,
        Dimension::User,
        Dimension::Path,
        Dimension::Connection,
    ];

    /// The word used in flags and files.
    pub fn label(self) -> &'static str {
        match self {
            Dimension::Client => "client",
            Dimension::Server => "server",
            Dimension::Share => "share",
            Dimension::User => "user",
            Dimension::Path => "path",
            Dimension::Connection => "connection",
        }
    }

    /// The key of a transaction; `None` where it is not known.
    fn key(self, t: &Transaction) -> Option<Key> {
        let known = |symbol: Symbol| symbol.is_some().then_some(symbol);
        Some(match self {
            Dimension::Client => Key::Client(t.client.ip),
            Dimension::Server => Key::Server(t.server),
            Dimension::Share => Key::Share(known(t.share)?),
            Dimension::User => Key::User(known(t.user)?),
            Dimension::Path => Key::Path(t.share, known(t.path)?),
            Dimension::Connection => Key::Connection(t.connection, t.client, t.server),
        })
    }
}

/// One key of a breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Client address.
    Client(IpAddr),
    /// Server address and port.
    Server(Endpoint),
    /// Share or export.
    Share(Symbol),
    /// Account or numeric uid.
    User(Symbol),
    /// Share (where known) and path.
    Path(Symbol, Symbol),
    /// Number, client, server.
    Connection(u32, Endpoint, Endpoint),
}

impl Key {
    /// As text, unescaped; a symbol that `names` does not hold is empty.
    pub fn text(&self, names: &Names) -> String {
        let name = |symbol: Symbol| names.text(symbol).unwrap_or_default();
        match *self {
            Key::Client(ip) => ip.to_string(),
            Key::Server(server) => server.to_string(),
            Key::Share(symbol) | Key::User(symbol) => name(symbol).to_owned(),
            Key::Path(share, path) if share.is_some() => format!("{}: {}", name(share), name(path)),
            Key::Path(_, path) => name(path).to_owned(),
            Key::Connection(number, client, server) => format!("{number} {client} > {server}"),
        }
    }
}

/// What is added up for one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyStats {
    /// Requests.
    pub count: u64,
    /// Answered requests.
    pub answered: u64,
    /// Requests whose answer was not seen.
    pub unanswered: u64,
    /// Answers with a status that is part of ordinary work.
    pub expected: u64,
    /// Requests to which the server said no.
    pub refused: u64,
    /// Requests that trouble kept from being carried out.
    pub failed: u64,
    /// Answers whose status was not seen; they may be errors.
    pub status_unknown: u64,
    /// File data moved.
    pub payload: ByteSum,
    /// Request and response messages.
    pub wire: ByteSum,
    /// How long clients waited for the answers.
    pub waiting: Waiting,
    /// Response times, exact; negative ones are left out.
    pub response: Moments,
    /// Response times for percentiles, ns.
    pub histogram: SparseHistogram,
}

impl KeyStats {
    #[inline]
    fn record(&mut self, t: &Transaction, measured: &Sample) {
        use plimsoll_model::Outcome::{Expected, Failed, Refused, Unanswered, Unknown};
        self.count += 1;
        self.unanswered += u64::from(t.outcome == Unanswered);
        self.answered += u64::from(t.outcome != Unanswered && (t.outcome != Failed || t.status.is_some()));
        self.expected += u64::from(t.outcome == Expected);
        self.refused += u64::from(t.outcome == Refused);
        self.failed += u64::from(t.outcome == Failed);
        self.status_unknown += u64::from(t.outcome == Unknown);
        self.payload.add_payload(t);
        self.wire.add_messages(t);
        if let Some(ns) = measured.headline_ns() {
            self.response.record(ns);
            self.histogram.record(ns);
            self.waiting.record(t, ns);
        }
    }

    fn merge(&mut self, other: &KeyStats) {
        self.count += other.count;
        self.answered += other.answered;
        self.unanswered += other.unanswered;
        self.expected += other.expected;
        self.refused += other.refused;
        self.failed += other.failed;
        self.status_unknown += other.status_unknown;
        self.payload.merge(other.payload);
        self.wire.merge(other.wire);
        self.waiting.merge(other.waiting);
        self.response.merge(&other.response);
        self.histogram.merge(&other.histogram);
    }

    /// A percentile (0..=100) of the response times, ns, to the histogram's resolution and within the exact extremes.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let (min, max) = (self.response.min_ns()?, self.response.max_ns()?);
        Some(self.histogram.percentile(percentile)?.clamp(min, max))
    }
}

/// The numbers of each key, of at most [`MAX_KEYS`] (some 40 MiB when all have wide distributions).
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    dimension: Dimension,
    numbers: HashMap<Key, usize>,
    rows: Vec<(Key, KeyStats)>,
    // The row used last: transactions of one key come in runs.
    last: usize,
    unknown: KeyStats,
    refused: KeyStats,
}

impl Breakdown {
    pub(crate) fn new(dimension: Dimension) -> Self {
        let (unknown, refused) = Default::default();
        Self { dimension, numbers: HashMap::new(), rows: Vec::new(), last: 0, unknown, refused }
    }

    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, measured: &Sample) {
        match self.dimension.key(t) {
            Some(key) => self.stats(key).record(t, measured),
            None => self.unknown.record(t, measured),
        }
    }

    fn stats(&mut self, key: Key) -> &mut KeyStats {
        if self.rows.get(self.last).is_none_or(|(last, _)| *last != key) {
            match self.numbers.get(&key) {
                Some(&number) => self.last = number,
                None if self.rows.len() < MAX_KEYS => {
                    self.last = self.rows.len();
                    self.numbers.insert(key, self.last);
                    self.rows.push((key, KeyStats::default()));
                }
                None => return &mut self.refused,
            }
        }
        &mut self.rows[self.last].1
    }

    /// Adds another part of the same data (with the same names); exact while there are no more keys than
    /// [`MAX_KEYS`].
    pub fn merge(&mut self, other: &Breakdown) {
        other.rows.iter().for_each(|(key, stats)| self.stats(*key).merge(stats));
        self.unknown.merge(&other.unknown);
        self.refused.merge(&other.refused);
    }

    /// What it is broken down by.
    pub fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// The keys with their numbers, most requests first.
    pub fn rows(&self) -> Vec<(Key, &KeyStats)> {
        let mut rows: Vec<_> = self.rows.iter().map(|(key, stats)| (*key, stats)).collect();
        rows.sort_by_key(|(key, stats)| (std::cmp::Reverse(stats.count), *key));
        rows
    }

    /// Transactions of no known key.
    pub fn unknown(&self) -> &KeyStats {
        &self.unknown
    }

    /// Transactions of keys for which there was no room.
    pub fn refused(&self) -> &KeyStats {
        &self.refused
    }
}

impl State for Key {
    fn put(&self, out: &mut Writer) {
        match *self {
            Key::Client(ip) => (0u8, ip).put(out),
            Key::Server(server) => (1u8, server).put(out),
            Key::Share(share) => (2u8, share).put(out),
            Key::User(user) => (3u8, user).put(out),
            Key::Path(share, path) => (4u8, (share, path)).put(out),
            Key::Connection(number, client, server) => (5u8, (number, (client, server))).put(out),
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match u8::take(from)? {
            0 => Key::Client(State::take(from)?),
            1 => Key::Server(State::take(from)?),
            2 => Key::Share(State::take(from)?),
            3 => Key::User(State::take(from)?),
            4 => Key::Path(State::take(from)?, State::take(from)?),
            5 => Key::Connection(State::take(from)?, State::take(from)?, State::take(from)?),
            _ => return Err(from.no("key")),
        })
    }
}

crate::state::fields!("key's numbers", KeyStats {
    count, answered, unanswered, expected, refused, failed, payload, wire, response, histogram,
    status_unknown, waiting,
} if |stats| {
    let counters = [stats.count, stats.answered, stats.unanswered, stats.expected, stats.refused, stats.failed];
    Counter::all(&counters) && Counter::all(&[stats.status_unknown])
});

impl State for Breakdown {
    fn put(&self, out: &mut Writer) {
        self.dimension.put(out);
        self.rows.put(out);
        self.unknown.put(out);
        self.refused.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let dimension = Dimension::take(from)?;
        let rows = Vec::<(Key, KeyStats)>::take(from)?;
        let numbers: HashMap<Key, usize> = rows.iter().enumerate().map(|(number, (key, _))| (*key, number)).collect();
        if rows.len() > MAX_KEYS || numbers.len() != rows.len() {
            return Err(from.no("breakdown"));
        }
        Ok(Self { dimension, numbers, rows, last: 0, unknown: State::take(from)?, refused: State::take(from)? })
    }
}
