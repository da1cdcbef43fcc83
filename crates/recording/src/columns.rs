//! The transactions table: its columns, in order, and what each takes from a transaction.

use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_model::{Endpoint, Names, Procedure, Transaction};

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
    pub(crate) cell: for<'a> fn(&Row<'a>) -> Cell<'a>,
}

/// A transaction with what is needed to read it.
pub(crate) struct Row<'a> {
    transaction: &'a Transaction,
    names: &'a Names,
    labels: &'a Labels,
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

const fn known(name: &'static str, kind: ColumnKind, cell: for<'a> fn(&Row<'a>) -> Cell<'a>) -> Column {
    Column { name, kind, nullable: false, cell }
}

const fn maybe(name: &'static str, kind: ColumnKind, cell: for<'a> fn(&Row<'a>) -> Cell<'a>) -> Column {
    Column { name, kind, nullable: true, cell }
}

use ColumnKind::{Flag, Instant, Text, U32, U64};

/// The table, in the order of the design's contract, with `held` after it.
pub(crate) static COLUMNS: [Column; 33] = [
    known("protocol", Text, |r| Cell::Text(r.transaction.procedure.row().protocol.label())),
    known("procedure", Text, |r| text(r.labels.procedures.get(r.transaction.procedure.index()).map(String::as_str))),
    known("operation", Text, |r| Cell::Text(r.transaction.procedure.row().operation.label())),
    known("group", Text, |r| Cell::Text(r.transaction.procedure.row().group.label())),
    maybe("client", Text, |r| endpoint(r.transaction.client, &r.labels.client.text)),
    maybe("server", Text, |r| endpoint(r.transaction.server, &r.labels.server.text)),
    known("connection", U32, |r| Cell::Number(r.transaction.connection.into())),
    maybe("session", Text, |r| r.transaction.session.map_or(Cell::Null, |_| Cell::Text(&r.labels.session.text))),
    maybe("share", Text, |r| text(r.names.text(r.transaction.share))),
    maybe("path", Text, |r| text(r.names.text(r.transaction.path))),
    maybe("user", Text, |r| text(r.names.text(r.transaction.user))),
    maybe("id", U64, |r| number(r.transaction.id)),
    maybe("compound_position", U32, |r| number(r.transaction.compound_position)),
    maybe("status", U32, |r| number(r.transaction.status)),
    known("outcome", Text, |r| Cell::Text(r.transaction.outcome.label())),
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
    known("vantage", Text, |r| Cell::Text(r.transaction.vantage.label())),
    maybe("stage", U32, |r| number(r.transaction.stage)),
    known("held", Flag, |r| Cell::Flag(r.transaction.held)),
];
