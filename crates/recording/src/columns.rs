//! The transactions table: its columns, in order, and the source of each in a transaction.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::num::NonZeroU32;

use plimsoll_model::{Disposition, Endpoint, FileAccess, FileIdentity, Names, Procedure, Symbol, Transaction};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8 text.
    Text,
    /// Unsigned number of 64 bits.
    U64,
    /// Unsigned number of 32 bits.
    U32,
    /// Nanoseconds since the Unix epoch, UTC.
    Instant,
    /// True or false.
    Flag,
    /// Whole number of up to 38 digits.
    Wide,
}

/// The names and kinds of the columns, in their order.
pub fn columns() -> impl Iterator<Item = (&'static str, ColumnKind)> {
    COLUMNS.iter().map(|column| (column.name, column.kind))
}

/// One value of one row; `Null` means unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    Number(u64),
    Instant(i64),
    Flag(bool),
    Wide(u128),
}

/// Name and type of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
    pub(crate) nullable: bool,
}

impl Column {
    pub(crate) fn field(&self) -> Field {
        Field { name: self.name, kind: self.kind, nullable: self.nullable }
    }
}

/// A column of the table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
    /// Whether its cells can be null: false where a transaction always knows.
    pub(crate) nullable: bool,
    pub(crate) of: Of,
}

/// How a column takes its values from transactions: from one, and from many at once in a specialised loop.
pub(crate) enum Of {
    /// The text, and a key that shows cheaply whether two transactions have the same text.
    Text { text: TextOf, keys: fn(&[&Transaction], &mut Keys) },
    /// A number, an instant or a flag in the bits of an unsigned number.
    Bits { one: fn(&Transaction) -> Option<u64>, all: fn(&[&Transaction], &mut Bits) },
}

/// Numbers of rows, apart from whether they are known: so both can be looked at many at a time.
#[derive(Default)]
pub(crate) struct Bits {
    /// The common value of all rows, if there is one; the other fields are then empty.
    pub(crate) same: Option<Option<u64>>,
    /// 0 where nothing is known.
    pub(crate) values: Vec<u64>,
    pub(crate) known: Vec<bool>,
}

impl Bits {
    /// The values of exactly these rows. Most columns have one value in most rows, which is detected without writing anything.
    #[inline]
    fn fill(&mut self, rows: &[&Transaction], of: impl Fn(&Transaction) -> Option<u64>) {
        self.values.clear();
        self.known.clear();
        self.same = same(rows, &of);
        if self.same.is_none() {
            self.values.extend(rows.iter().map(|t| of(t).unwrap_or(0)));
            self.known.extend(rows.iter().map(|t| of(t).is_some()));
        }
    }
}

/// Keys for the texts of rows.
#[derive(Default)]
pub(crate) struct Keys {
    /// The common key of all rows, if there is one; the other fields are then empty.
    pub(crate) same: Option<Option<Key>>,
    pub(crate) each: Vec<Option<Key>>,
}

impl Keys {
    #[inline]
    fn fill(&mut self, rows: &[&Transaction], of: impl Fn(&Transaction) -> Option<Key>) {
        self.each.clear();
        self.same = same(rows, &of);
        if self.same.is_none() {
            self.each.extend(rows.iter().map(|t| of(t)));
        }
    }
}

#[inline]
fn same<T: PartialEq>(rows: &[&Transaction], of: impl Fn(&Transaction) -> Option<T>) -> Option<Option<T>> {
    let (first, others) = rows.split_first()?;
    let first = of(first);
    others.iter().all(|t| of(t) == first).then_some(first)
}

type TextOf = for<'a> fn(&Row<'a>) -> Option<&'a str>;

impl Column {
    /// The column's value of one row.
    pub(crate) fn cell<'a>(&self, row: &Row<'a>) -> Cell<'a> {
        match &self.of {
            Of::Text { text, .. } => text(row).map_or(Cell::Null, Cell::Text),
            Of::Bits { one, .. } => one(row.transaction).map_or(Cell::Null, |bits| match self.kind {
                ColumnKind::Instant => Cell::Instant(bits.cast_signed()),
                ColumnKind::Flag => Cell::Flag(bits != 0),
                _ => Cell::Number(bits),
            }),
        }
    }
}

/// What stands for a value of one column, and for a text of one set of names: equal keys, equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    high: u64,
    low: u64,
    /// Of an address its port and kind.
    rest: NonZeroU32,
}

/// Above all ports, so that each kind of address has its own.
const IPV4: NonZeroU32 = NonZeroU32::MIN.saturating_add(1 << 16);
const IPV6: NonZeroU32 = NonZeroU32::MIN.saturating_add(1 << 17);

impl Key {
    /// Of a number.
    #[inline]
    pub(crate) fn of(number: u64) -> Self {
        Self { high: 0, low: number, rest: NonZeroU32::MIN }
    }

    /// An index into a small table: only a guess, because the entry is compared with the key.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        let folded = self.low ^ self.high ^ u64::from(self.rest.get()).rotate_left(32);
        (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
    }

    #[inline]
    fn procedure(procedure: Procedure) -> Option<Self> {
        Some(Self::of(procedure.index() as u64))
    }

    #[inline]
    fn symbol(symbol: Symbol) -> Option<Self> {
        symbol.is_some().then(|| Self::of(symbol.index() as u64))
    }

    #[inline]
    fn endpoint(endpoint: Endpoint) -> Option<Self> {
        let of = |kind: NonZeroU32| kind.saturating_add(endpoint.port.into());
        let key = match endpoint.ip {
            IpAddr::V4(ip) => Self { high: 0, low: ip.to_bits().into(), rest: of(IPV4) },
            IpAddr::V6(ip) => Self { high: (ip.to_bits() >> 64) as u64, low: ip.to_bits() as u64, rest: of(IPV6) },
        };
        endpoint.is_somewhere().then_some(key)
    }
}

/// A transaction with the data for reading it.
pub(crate) struct Row<'a> {
    transaction: &'a Transaction,
    names: &'a Names,
    labels: &'a Labels,
}

impl Row<'_> {
    fn row(&self) -> &'static plimsoll_model::Row {
        self.transaction.procedure.row()
    }
}

/// Text that is made rather than borrowed. One connection's rows come in runs, so each keeps its last.
pub(crate) struct Labels {
    procedures: Vec<String>,
    client: Label<Endpoint>,
    server: Label<Endpoint>,
    session: Label<u64>,
}

impl Labels {
    pub(crate) fn new() -> Self {
        Self {
            procedures: Procedure::all().map(Procedure::name).collect(),
            client: Label::default(),
            server: Label::default(),
            session: Label::default(),
        }
    }

    /// Makes the texts of one transaction.
    pub(crate) fn row<'a>(&'a mut self, transaction: &'a Transaction, names: &'a Names) -> Row<'a> {
        self.client.set(transaction.client, |text, client| write!(text, "{client}"));
        self.server.set(transaction.server, |text, server| write!(text, "{server}"));
        if let Some(session) = transaction.session {
            // As Wireshark shows it; a number of 64 bits loses its last digits where tables make it a float.
            self.session.set(session, |text, session| write!(text, "0x{session:016x}"));
        }
        Row { transaction, names, labels: self }
    }
}

struct Label<K> {
    key: Option<K>,
    text: String,
}

impl<K> Default for Label<K> {
    fn default() -> Self {
        Self { key: None, text: String::new() }
    }
}

impl<K: Copy + PartialEq> Label<K> {
    fn set(&mut self, key: K, make: impl Fn(&mut String, K) -> std::fmt::Result) {
        if self.key != Some(key) {
            self.text.clear();
            // Writing to a string cannot fail.
            let _ = make(&mut self.text, key);
            self.key = Some(key);
        }
    }
}

impl Label<Endpoint> {
    /// Calls to the operating system have no connection.
    fn of(&self, endpoint: Endpoint) -> Option<&str> {
        endpoint.is_somewhere().then_some(&*self.text)
    }
}

/// A text column; the expression after the arrow distinguishes texts.
macro_rules! text {
    ($name:literal, $nullable:literal, |$t:ident| $key:expr, $text:expr) => {
        Column {
            name: $name,
            kind: ColumnKind::Text,
            nullable: $nullable,
            of: Of::Text { text: $text, keys: |rows, out| out.fill(rows, |$t| $key) },
        }
    };
}

/// A number, an instant or a flag; `maybe` where it can be unknown.
macro_rules! bits {
    (known $name:literal, $kind:ident, |$t:ident| $bits:expr) => {
        bits!($name, $kind, false, |$t| Some(u64::from($bits)))
    };
    (maybe $name:literal, Instant, |$t:ident| $bits:expr) => {
        bits!($name, Instant, true, |$t| $bits.map(i64::cast_unsigned))
    };
    (maybe $name:literal, $kind:ident, |$t:ident| $bits:expr) => {
        bits!($name, $kind, true, |$t| $bits.map(u64::from))
    };
    ($name:literal, $kind:ident, $nullable:literal, |$t:ident| $bits:expr) => {
        Column {
            name: $name,
            kind: ColumnKind::$kind,
            nullable: $nullable,
            of: Of::Bits { one: |$t| $bits, all: |rows, out| out.fill(rows, |$t| $bits) },
        }
    };
}

/// The table, in the order of the design's contract, followed by columns that were added later.
pub(crate) static COLUMNS: [Column; 42] = [
    text!("protocol", false, |t| Key::procedure(t.procedure), |r| Some(r.row().protocol.label())),
    text!("procedure", false, |t| Key::procedure(t.procedure), |r| {
        r.labels.procedures.get(r.transaction.procedure.index()).map(String::as_str)
    }),
    text!("operation", false, |t| Key::procedure(t.procedure), |r| Some(r.row().operation.label())),
    text!("group", false, |t| Key::procedure(t.procedure), |r| Some(r.row().group.label())),
    text!("client", true, |t| Key::endpoint(t.client), |r| r.labels.client.of(r.transaction.client)),
    text!("server", true, |t| Key::endpoint(t.server), |r| r.labels.server.of(r.transaction.server)),
    bits!(known "connection", U32, |t| t.connection),
    text!("session", true, |t| t.session.map(Key::of), |r| r.transaction.session.map(|_| &*r.labels.session.text)),
    text!("share", true, |t| Key::symbol(t.share), |r| r.names.text(r.transaction.share)),
    text!("path", true, |t| Key::symbol(t.path), |r| r.names.text(r.transaction.path)),
    text!("user", true, |t| Key::symbol(t.user), |r| r.names.text(r.transaction.user)),
    bits!(maybe "id", U64, |t| t.id),
    bits!(maybe "compound_position", U32, |t| t.compound_position),
    bits!(maybe "status", U32, |t| t.status),
    text!("outcome", false, |t| Some(Key::of(t.outcome as u64)), |r| Some(r.transaction.outcome.label())),
    bits!(maybe "payload_bytes", U64, |t| t.payload_bytes),
    bits!(maybe "request_bytes", U64, |t| t.request_bytes),
    bits!(maybe "response_bytes", U64, |t| t.response_bytes),
    // The client does not see packets: none were counted, and a request that was seen took at least one.
    bits!(maybe "request_packets", U32, |t| NonZeroU32::new(t.request_packets).map(NonZeroU32::get)),
    bits!(maybe "response_packets", U32, |t| t.response_packets),
    bits!(maybe "intended_ns", Instant, |t| t.timeline.intended),
    bits!(maybe "request_first_ns", Instant, |t| t.timeline.request_first),
    bits!(maybe "request_last_ns", Instant, |t| t.timeline.request_last),
    bits!(maybe "interim_ns", Instant, |t| t.timeline.interim),
    bits!(maybe "response_first_ns", Instant, |t| t.timeline.response_first),
    bits!(maybe "response_last_ns", Instant, |t| t.timeline.response_last),
    bits!(maybe "request_first_frame", U64, |t| t.frames.request_first),
    bits!(maybe "request_last_frame", U64, |t| t.frames.request_last),
    bits!(maybe "response_first_frame", U64, |t| t.frames.response_first),
    bits!(maybe "response_last_frame", U64, |t| t.frames.response_last),
    text!("vantage", false, |t| Some(Key::of(t.vantage as u64)), |r| Some(r.transaction.vantage.label())),
    bits!(maybe "level", U32, |t| t.level),
    bits!(known "long_lived", Flag, |t| t.long_lived),
    bits!(known "counted", Flag, |t| t.counted),
    bits!(maybe "resent_wait_ns", U64, |t| t.resent_wait_ns),
    bits!(maybe "file", U64, |t| t.asked.file.map(FileIdentity::number)),
    bits!(maybe "offset", U64, |t| t.asked.offset),
    bits!(maybe "asked_bytes", U64, |t| t.asked.bytes),
    text!("disposition", true, |t| t.asked.disposition.map(|it| Key::of(it as u64)), |r| {
        r.transaction.asked.disposition.map(Disposition::label)
    }),
    text!("access", true, |t| t.asked.access.map(|it| Key::of(it as u64)), |r| {
        r.transaction.asked.access.map(FileAccess::label)
    }),
    text!("second_path", true, |t| Key::symbol(t.asked.second_path), |r| r.names.text(r.transaction.asked.second_path)),
    bits!(maybe "client_index", U32, |t| t.client_index),
];

/// Number of columns that a table must have. The others were added later: without them their values are unknown.
pub(crate) const REQUIRED: usize = 35;
