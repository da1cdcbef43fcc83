//! Transactions on their way from the measuring threads to the writing thread.
//!
//! A transaction has about 450 bytes, which must move from one processor to another. Most of it is the same for all transactions of a
//! connection: this pattern is stored once, and the rest of a transaction is one and a half cache lines.

use plimsoll_model::{Asked, Disposition, FileAccess, FileIdentity, Outcome, Procedure, Symbol, Timeline, Transaction};

use crate::error::Cause;
use crate::parquet_table::NEAR_ROWS;

/// Places for the patterns of connections: initial and maximum number. Powers of two.
const RECENT: usize = 64;
const MOST_RECENT: usize = 16 << 10;
/// Maximum number of stored patterns: one per connection; then all are dropped.
const MOST_PATTERNS: usize = MOST_RECENT;

/// Flags for the known fields of a row: the four numbers, the four timestamps, these, and whether the pattern contains everything.
const ID: u16 = 1 << 8;
const POSITION: u16 = 1 << 9;
const OFFSET: u16 = 1 << 10;
const ASKED_BYTES: u16 = 1 << 11;
const WHOLE: u16 = 1 << 15;

/// Transactions in the order in which they came, in less room than their own, and none the less exact.
pub struct Rows {
    rows: Vec<Row>,
    /// Patterns that the receiver does not have yet; the receiver may have to drop its old ones first.
    patterns: Vec<Transaction>,
    begins_anew: bool,
    /// Those that fit in no row.
    whole: Vec<Transaction>,
    sender: usize,
}

/// Makes rows of transactions.
pub struct Packer {
    ready: Rows,
    /// The common fields of a connection's transactions, from the first of them.
    patterns: Vec<Transaction>,
    /// Which is the last one of a connection, or of another one that has the same place.
    recent: Vec<u32>,
}

/// The individual fields of a transaction.
#[derive(Clone, Copy)]
struct Row {
    request_first: i64,
    id: u64,
    /// Status; bytes of payload, request and response.
    numbers: [u32; 4],
    /// Nanoseconds from the request's first byte to: intended, its last byte, the response's first and last byte.
    after: [i32; 4],
    known: u16,
    pattern: u32,
    /// Position in the file, and number of bytes.
    offset: u64,
    file: Option<FileIdentity>,
    asked_bytes: u32,
    second_path: Symbol,
    path: Symbol,
    procedure: Procedure,
    compound_position: u16,
    outcome: Outcome,
    /// [`HELD`], [`COUNTED`].
    flags: u8,
    disposition: Option<Disposition>,
    access: Option<FileAccess>,
}

/// Bits of [`Row::flags`].
const HELD: u8 = 1;
const COUNTED: u8 = 2;

impl Packer {
    /// One of several for the same writer, numbered from 0.
    pub fn new(sender: usize) -> Self {
        Self { ready: Rows::after(sender, 0, false), patterns: Vec::new(), recent: vec![u32::MAX; RECENT] }
    }

    /// Adds one; returns the number.
    #[inline]
    pub fn push(&mut self, t: &Transaction) -> usize {
        let mut row = Row::of(t);
        if row.known == WHOLE {
            self.ready.whole.push(t.clone());
        } else {
            row.pattern = self.pattern(t);
        }
        self.ready.rows.push(row);
        self.ready.rows.len()
    }

    #[inline]
    fn pattern(&mut self, t: &Transaction) -> u32 {
        let recent = self.recent.get(t.connection as usize & (self.recent.len() - 1)).copied().unwrap_or(u32::MAX);
        match self.patterns.get(recent as usize) {
            Some(pattern) if is_alike(pattern, t) => recent,
            _ => self.new_pattern(t),
        }
    }

    #[cold]
    fn new_pattern(&mut self, t: &Transaction) -> u32 {
        if self.patterns.len() >= self.recent.len() && self.recent.len() < MOST_RECENT {
            // Places change, so that some patterns come once more.
            self.recent = vec![u32::MAX; self.recent.len() * 4];
        }
        // Slightly above the maximum: by those of one piece.
        let new = self.patterns.len() as u32;
        self.patterns.push(t.clone());
        self.ready.patterns.push(t.clone());
        let place = t.connection as usize & (self.recent.len() - 1);
        self.recent.iter_mut().skip(place).take(1).for_each(|recent| *recent = new);
        new
    }

    /// All there are; their writer gets them in this order.
    pub fn take(&mut self) -> Rows {
        let begins_anew = self.patterns.len() > MOST_PATTERNS;
        if begins_anew {
            self.patterns.clear();
            self.recent.fill(u32::MAX);
        }
        let next = Rows::after(self.ready.sender, self.ready.rows.len(), begins_anew);
        std::mem::replace(&mut self.ready, next)
    }
}

impl Rows {
    fn after(sender: usize, capacity: usize, begins_anew: bool) -> Self {
        let rows = Vec::with_capacity(capacity);
        Self { rows, patterns: Vec::new(), begins_anew, whole: Vec::new(), sender }
    }
}

/// Restores the transactions of all senders from rows.
#[derive(Default)]
pub(super) struct Unpacker {
    /// Of each sender.
    patterns: Vec<Vec<Transaction>>,
    made: Vec<Made>,
}

/// A restored transaction, of which the next row at its place often needs only some fields.
struct Made {
    transaction: Transaction,
    /// The pattern that it is of, of the piece's sender.
    pattern: Option<u32>,
}

impl Unpacker {
    /// All transactions of a piece, some at a time.
    pub(super) fn for_each(
        &mut self,
        piece: Rows,
        mut take: impl FnMut(&[&Transaction]) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let Rows { rows, patterns: new, begins_anew, whole, sender } = piece;
        if self.patterns.len() <= sender {
            self.patterns.resize_with(sender + 1, Vec::new);
        }
        let patterns = self.patterns.get_mut(sender).ok_or("rows of an unknown sender")?;
        if begins_anew {
            patterns.clear();
        }
        patterns.extend(new);
        self.made.iter_mut().for_each(|made| made.pattern = None);
        let mut whole = whole.iter();
        rows.chunks(NEAR_ROWS).try_for_each(|rows| {
            for (place, row) in rows.iter().enumerate() {
                let of = if row.known == WHOLE { whole.next() } else { patterns.get(row.pattern as usize) };
                make(&mut self.made, place, row, of.ok_or("a row without its pattern")?);
            }
            take(&self.made.iter().take(rows.len()).map(|made| &made.transaction).collect::<Vec<_>>())
        })
    }
}

#[inline]
fn make(made: &mut Vec<Made>, place: usize, row: &Row, of: &Transaction) {
    let pattern = (row.known != WHOLE).then_some(row.pattern);
    match made.get_mut(place) {
        Some(there) if there.pattern == pattern && pattern.is_some() => row.complete(&mut there.transaction),
        Some(there) => {
            there.transaction.clone_from(of);
            there.pattern = pattern;
            row.complete(&mut there.transaction);
        }
        None => {
            let mut transaction = of.clone();
            row.complete(&mut transaction);
            made.push(Made { transaction, pattern });
        }
    }
}

/// Whether a transaction has all of a pattern that [`Row`] does not hold.
#[inline]
fn is_alike(pattern: &Transaction, t: &Transaction) -> bool {
    // With all names, so that a new field has to be thought of.
    let &Transaction {
        connection,
        session,
        level,
        share,
        user,
        request_packets,
        response_packets,
        vantage,
        timeline: Timeline { interim, .. },
        frames,
        client,
        server,
        procedure: _,
        path: _,
        id: _,
        compound_position: _,
        status: _,
        outcome: _,
        payload_bytes: _,
        request_bytes: _,
        response_bytes: _,
        long_lived: _,
        counted: _,
        resent_wait_ns,
        asked: Asked { file: _, offset: _, bytes: _, second_path: _, disposition: _, access: _, durable: _, unlock: _ },
        client_index,
    } = pattern;
    connection == t.connection
        && (session, level) == (t.session, t.level)
        && (share, user) == (t.share, t.user)
        && (request_packets, response_packets) == (t.request_packets, t.response_packets)
        && (vantage, interim, frames) == (t.vantage, t.timeline.interim, t.frames)
        && (client, server) == (t.client, t.server)
        && (resent_wait_ns, client_index) == (t.resent_wait_ns, t.client_index)
}

impl Row {
    /// The transaction without its pattern. The pattern contains everything if a value does not fit: a request without a start or longer
    /// than two seconds, or more than 4 GiB.
    #[inline]
    fn of(t: &Transaction) -> Self {
        let mut row = Self {
            request_first: 0,
            id: t.id.unwrap_or(0),
            numbers: [0; 4],
            after: [0; 4],
            known: 0,
            pattern: 0,
            offset: t.asked.offset.unwrap_or(0),
            file: t.asked.file,
            asked_bytes: 0,
            second_path: t.asked.second_path,
            path: t.path,
            procedure: t.procedure,
            compound_position: t.compound_position.unwrap_or(0),
            outcome: t.outcome,
            flags: if t.long_lived { HELD } else { 0 } | if t.counted { COUNTED } else { 0 },
            disposition: t.asked.disposition,
            access: t.asked.access,
        };
        row.known = row.fit(t).unwrap_or(WHOLE);
        row
    }

    #[inline]
    fn fit(&mut self, t: &Transaction) -> Option<u16> {
        let Timeline { intended, request_first, request_last, interim: _, response_first, response_last } = t.timeline;
        self.request_first = request_first?;
        let mut known = if t.id.is_some() { ID } else { 0 };
        known |= if t.compound_position.is_some() { POSITION } else { 0 };
        known |= if t.asked.offset.is_some() { OFFSET } else { 0 };
        known |= if t.asked.bytes.is_some() { ASKED_BYTES } else { 0 };
        self.asked_bytes = u32::try_from(t.asked.bytes.unwrap_or(0)).ok()?;
        let numbers = [t.status.map(u64::from), t.payload_bytes, t.request_bytes, t.response_bytes];
        for (place, (fits, number)) in self.numbers.iter_mut().zip(numbers).enumerate() {
            *fits = u32::try_from(number.unwrap_or(0)).ok()?;
            known |= u16::from(number.is_some()) << place;
        }
        let instants = [intended, request_last, response_first, response_last];
        for (place, (fits, instant)) in self.after.iter_mut().zip(instants).enumerate() {
            *fits = i32::try_from(instant.unwrap_or(self.request_first).checked_sub(self.request_first)?).ok()?;
            known |= u16::from(instant.is_some()) << (4 + place);
        }
        Some(known)
    }

    /// Makes the transaction of its pattern.
    #[inline]
    fn complete(&self, pattern: &mut Transaction) {
        if self.known == WHOLE {
            return;
        }
        let is_known = |bit: u16| self.known & bit != 0;
        let [status, payload_bytes, request_bytes, response_bytes] = self.numbers;
        let number = |place: u16, number: u32| is_known(1 << place).then(|| u64::from(number));
        pattern.status = is_known(1).then_some(status);
        pattern.payload_bytes = number(1, payload_bytes);
        pattern.request_bytes = number(2, request_bytes);
        pattern.response_bytes = number(3, response_bytes);
        let [intended, request_last, response_first, response_last] = self.after;
        let instant = |place: u16, after: i32| is_known(1 << place).then(|| self.request_first + i64::from(after));
        let timeline = &mut pattern.timeline;
        timeline.intended = instant(4, intended);
        timeline.request_first = Some(self.request_first);
        timeline.request_last = instant(5, request_last);
        timeline.response_first = instant(6, response_first);
        timeline.response_last = instant(7, response_last);
        pattern.id = is_known(ID).then_some(self.id);
        pattern.compound_position = is_known(POSITION).then_some(self.compound_position);
        (pattern.path, pattern.procedure) = (self.path, self.procedure);
        (pattern.outcome, pattern.long_lived, pattern.counted) =
            (self.outcome, self.flags & HELD != 0, self.flags & COUNTED != 0);
        pattern.asked = Asked {
            file: self.file,
            offset: is_known(OFFSET).then_some(self.offset),
            bytes: is_known(ASKED_BYTES).then_some(u64::from(self.asked_bytes)),
            second_path: self.second_path,
            disposition: self.disposition,
            access: self.access,
            durable: None,
            unlock: None,
        };
    }
}

#[cfg(test)]
mod tests;
