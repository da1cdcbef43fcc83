//! The transactions table: its columns, in order, and what each takes from a transaction.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_model::{Endpoint, Names, Procedure, Symbol, Transaction};

/// What a column holds.
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

/// One value of one row; `Null` is what is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    Number(u64),
    Instant(i64),
    Flag(bool),
    Wide(u128),
}

/// What a column is called and holds.
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
    pub(crate) cell: CellOf,
    /// Of text: what tells whether two transactions have the same, without its being made; `None` where there is no text.
    pub(crate) key: Option<KeyOf>,
}

type CellOf = for<'a> fn(&Row<'a>) -> Cell<'a>;
type KeyOf = fn(&Transaction) -> Option<Key>;

/// What stands for a text of one column and one set of names: equal keys, equal texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) u128, pub(crate) u32);

impl Key {
    /// A place in a small table: a good guess, for what is there is held against the key.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        let Key(wide, rest) = self;
        let folded = wide as u64 ^ (wide >> 64) as u64 ^ u64::from(rest).rotate_left(32);
        (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
    }

    fn of(number: impl Into<u128>) -> Option<Self> {
        Some(Self(number.into(), 0))
    }

    fn procedure(t: &Transaction) -> Option<Self> {
        Self::of(t.procedure.index() as u64)
    }

    fn symbol(symbol: Symbol) -> Option<Self> {
        if symbol.is_some() { Self::of(symbol.index() as u64) } else { None }
    }

    fn endpoint(endpoint: Endpoint) -> Option<Self> {
        let port = u32::from(endpoint.port);
        let key = match endpoint.ip {
            IpAddr::V4(ip) => Self(ip.to_bits().into(), port),
            IpAddr::V6(ip) => Self(ip.to_bits(), 1 << 16 | port),
        };
        endpoint.is_somewhere().then_some(key)
    }
}

/// A transaction with what is needed to read it.
pub(crate) struct Row<'a> {
    transaction: &'a Transaction,
    names: &'a Names,
    labels: &'a Labels,
}

impl<'a> Row<'a> {
    /// One of which no text is asked for that is made rather than borrowed.
    #[inline]
    pub(crate) fn unlabelled(transaction: &'a Transaction, names: &'a Names, labels: &'a Labels) -> Self {
        Self { transaction, names, labels }
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

fn text(known: Option<&str>) -> Cell<'_> {
    known.map_or(Cell::Null, Cell::Text)
}

fn number<'a>(known: Option<impl Into<u64>>) -> Cell<'a> {
    known.map_or(Cell::Null, |n| Cell::Number(n.into()))
}

fn instant<'a>(known: Option<i64>) -> Cell<'a> {
    known.map_or(Cell::Null, Cell::Instant)
}

/// Calls to the operating system have no connection.
fn endpoint(endpoint: Endpoint, label: &str) -> Cell<'_> {
    if endpoint.is_somewhere() { Cell::Text(label) } else { Cell::Null }
}

fn frame<'a>(known: Option<NonZeroU64>) -> Cell<'a> {
    number(known)
}

const fn known(name: &'static str, kind: ColumnKind, cell: CellOf) -> Column {
    Column { name, kind, nullable: false, cell, key: None }
}

const fn maybe(name: &'static str, kind: ColumnKind, cell: CellOf) -> Column {
    Column { name, kind, nullable: true, cell, key: None }
}

const fn text_known(name: &'static str, key: KeyOf, cell: CellOf) -> Column {
    Column { name, kind: Text, nullable: false, cell, key: Some(key) }
}

const fn text_maybe(name: &'static str, key: KeyOf, cell: CellOf) -> Column {
    Column { name, kind: Text, nullable: true, cell, key: Some(key) }
}

use ColumnKind::{Flag, Instant, Text, U32, U64};

/// The table, in the order of the design's contract, with `held` after it.
pub(crate) static COLUMNS: [Column; 33] = [
    text_known("protocol", Key::procedure, |r| Cell::Text(r.transaction.procedure.row().protocol.label())),
    text_known("procedure", Key::procedure, |r| {
        text(r.labels.procedures.get(r.transaction.procedure.index()).map(String::as_str))
    }),
    text_known("operation", Key::procedure, |r| Cell::Text(r.transaction.procedure.row().operation.label())),
    text_known("group", Key::procedure, |r| Cell::Text(r.transaction.procedure.row().group.label())),
    text_maybe("client", |t| Key::endpoint(t.client), |r| endpoint(r.transaction.client, &r.labels.client.text)),
    text_maybe("server", |t| Key::endpoint(t.server), |r| endpoint(r.transaction.server, &r.labels.server.text)),
    known("connection", U32, |r| Cell::Number(r.transaction.connection.into())),
    text_maybe(
        "session",
        |t| t.session.and_then(Key::of),
        |r| r.transaction.session.map_or(Cell::Null, |_| Cell::Text(&r.labels.session.text)),
    ),
    text_maybe("share", |t| Key::symbol(t.share), |r| text(r.names.text(r.transaction.share))),
    text_maybe("path", |t| Key::symbol(t.path), |r| text(r.names.text(r.transaction.path))),
    text_maybe("user", |t| Key::symbol(t.user), |r| text(r.names.text(r.transaction.user))),
    maybe("id", U64, |r| number(r.transaction.id)),
    maybe("compound_position", U32, |r| number(r.transaction.compound_position)),
    maybe("status", U32, |r| number(r.transaction.status)),
    text_known("outcome", |t| Key::of(t.outcome as u8), |r| Cell::Text(r.transaction.outcome.label())),
    maybe("payload_bytes", U64, |r| number(r.transaction.payload_bytes)),
    maybe("request_bytes", U64, |r| number(r.transaction.request_bytes)),
    maybe("response_bytes", U64, |r| number(r.transaction.response_bytes)),
    // The client does not see packets: none were counted, and a request that was seen took at least one.
    maybe("request_packets", U32, |r| number(NonZeroU32::new(r.transaction.request_packets).map(NonZeroU32::get))),
    maybe("response_packets", U32, |r| number(r.transaction.response_packets)),
    maybe("intended_ns", Instant, |r| instant(r.transaction.timeline.intended)),
    maybe("request_first_ns", Instant, |r| instant(r.transaction.timeline.request_first)),
    maybe("request_last_ns", Instant, |r| instant(r.transaction.timeline.request_last)),
    maybe("interim_ns", Instant, |r| instant(r.transaction.timeline.interim)),
    maybe("response_first_ns", Instant, |r| instant(r.transaction.timeline.response_first)),
    maybe("response_last_ns", Instant, |r| instant(r.transaction.timeline.response_last)),
    maybe("request_first_frame", U64, |r| frame(r.transaction.frames.request_first)),
    maybe("request_last_frame", U64, |r| frame(r.transaction.frames.request_last)),
    maybe("response_first_frame", U64, |r| frame(r.transaction.frames.response_first)),
    maybe("response_last_frame", U64, |r| frame(r.transaction.frames.response_last)),
    text_known("vantage", |t| Key::of(t.vantage as u8), |r| Cell::Text(r.transaction.vantage.label())),
    maybe("stage", U32, |r| number(r.transaction.stage)),
    known("held", Flag, |r| Cell::Flag(r.transaction.held)),
];
