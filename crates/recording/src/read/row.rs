//! A row becomes a transaction.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;

use plimsoll_model::{
    Asked, Disposition, Endpoint, FileAccess, FileIdentity, Frames, Names, Outcome, Procedure, Symbol, Timeline,
    Transaction, Vantage,
};

use crate::columns::COLUMNS;

pub(super) const COUNT: usize = COLUMNS.len();

/// One value; numbers, instants and flags in the bits of an unsigned number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Text(&'a str),
    Bits(u64),
}

/// The expected content of a column that is invalid.
pub(super) type Wrong = String;

/// Reads rows whose values are in the order of [`COLUMNS`].
pub(super) struct RowReader {
    /// By protocol and name.
    procedures: HashMap<&'static str, HashMap<String, Procedure>>,
}

/// The values of a row, taken in sequence.
struct Values<'a> {
    all: [Value<'a>; COUNT],
    place: usize,
}

impl<'a> Values<'a> {
    fn next(&mut self) -> Value<'a> {
        let value = self.all.get(self.place).copied().unwrap_or(Value::Null);
        self.place += 1;
        value
    }

    /// An error about the value taken last.
    fn wrong(&self, what: &str) -> Wrong {
        let column = self.place.checked_sub(1).and_then(|place| COLUMNS.get(place)).map_or("", |column| column.name);
        format!("column {column}: expected {what}")
    }

    fn text(&mut self) -> Result<Option<&'a str>, Wrong> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Bits(_) => Err(self.wrong("text")),
        }
    }

    fn bits(&mut self) -> Result<Option<u64>, Wrong> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Bits(bits) => Ok(Some(bits)),
            Value::Text(_) => Err(self.wrong("a number")),
        }
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<Option<T>, Wrong> {
        let number = self.bits()?.map(T::try_from).transpose();
        number.map_err(|_| self.wrong("a smaller number"))
    }

    fn instant(&mut self) -> Result<Option<i64>, Wrong> {
        Ok(self.bits()?.map(u64::cast_signed))
    }

    fn flag(&mut self) -> Result<bool, Wrong> {
        self.bits()?.map(|bits| bits != 0).ok_or_else(|| self.wrong("true or false"))
    }

    fn endpoint(&mut self) -> Result<Endpoint, Wrong> {
        let Some(text) = self.text()? else { return Ok(Endpoint::NOWHERE) };
        let address: Result<SocketAddr, _> = text.parse();
        address
            .map(|address| Endpoint { ip: address.ip(), port: address.port() })
            .map_err(|_| self.wrong("address:port"))
    }

    fn symbol(&mut self, names: &mut Names) -> Result<Symbol, Wrong> {
        Ok(self.text()?.map_or(Symbol::NONE, |text| names.intern(text)))
    }
}

impl RowReader {
    pub(super) fn new() -> Self {
        let mut procedures: HashMap<&'static str, HashMap<String, Procedure>> = HashMap::new();
        for procedure in Procedure::all() {
            procedures.entry(procedure.row().protocol.label()).or_default().insert(procedure.name(), procedure);
        }
        Self { procedures }
    }

    /// The transaction of a row.
    pub(super) fn transaction(&self, all: [Value<'_>; COUNT], names: &mut Names) -> Result<Transaction, Wrong> {
        let mut from = Values { all, place: 0 };
        let from = &mut from;
        // Fields in the order of the columns.
        let procedure = self.procedure(from)?;
        let (client, server) = (from.endpoint()?, from.endpoint()?);
        let connection = from.number()?.ok_or_else(|| from.wrong("a number"))?;
        Ok(Transaction {
            procedure,
            client,
            server,
            connection,
            session: session(from)?,
            share: from.symbol(names)?,
            path: from.symbol(names)?,
            user: from.symbol(names)?,
            id: from.number()?,
            compound_position: from.number()?,
            status: from.number()?,
            outcome: outcome(from)?,
            payload_bytes: from.number()?,
            request_bytes: from.number()?,
            response_bytes: from.number()?,
            request_packets: from.number()?.unwrap_or(0),
            response_packets: from.number()?,
            timeline: Timeline {
                intended: from.instant()?,
                request_first: from.instant()?,
                request_last: from.instant()?,
                interim: from.instant()?,
                response_first: from.instant()?,
                response_last: from.instant()?,
            },
            frames: Frames {
                request_first: frame(from)?,
                request_last: frame(from)?,
                response_first: frame(from)?,
                response_last: frame(from)?,
            },
            vantage: vantage(from)?,
            level: from.number()?,
            long_lived: from.flag()?,
            counted: from.flag()?,
            resent_wait_ns: from.number()?,
            asked: Asked {
                file: from.bits()?.and_then(FileIdentity::of_number),
                offset: from.number()?,
                bytes: from.number()?,
                disposition: labelled(from, &Disposition::ALL, Disposition::label)?,
                access: labelled(from, &FileAccess::ALL, FileAccess::label)?,
                second_path: from.symbol(names)?,
                durable: None,
                unlock: None,
            },
            client_index: from.number()?,
        })
    }

    /// Of its protocol and name; its operation and group follow from it.
    fn procedure(&self, from: &mut Values<'_>) -> Result<Procedure, Wrong> {
        let of_protocol = from.text()?.and_then(|protocol| self.procedures.get(protocol));
        let of_protocol = of_protocol.ok_or_else(|| from.wrong("a protocol (SMB2, NFS3, …)"))?;
        let procedure = from.text()?.and_then(|name| of_protocol.get(name)).copied();
        let procedure =
            procedure.ok_or_else(|| from.wrong("the name of a procedure of this protocol (see docs/vocabulary.md)"))?;
        from.text()?;
        from.text()?;
        Ok(procedure)
    }
}

fn outcome(from: &mut Values<'_>) -> Result<Outcome, Wrong> {
    labelled(from, &Outcome::ALL, Outcome::label)?.ok_or_else(|| from.wrong("an outcome (succeeded, refused, …)"))
}

fn session(from: &mut Values<'_>) -> Result<Option<u64>, Wrong> {
    let Some(text) = from.text()? else { return Ok(None) };
    let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map(Some).ok_or_else(|| from.wrong("0x and 16 digits"))
}

fn frame(from: &mut Values<'_>) -> Result<Option<NonZeroU64>, Wrong> {
    Ok(from.bits()?.and_then(NonZeroU64::new))
}

/// The value with this label.
fn labelled<T: Copy>(from: &mut Values<'_>, all: &[T], label: fn(T) -> &'static str) -> Result<Option<T>, Wrong> {
    let Some(text) = from.text()? else { return Ok(None) };
    let found = all.iter().copied().find(|one| label(*one) == text);
    found
        .map(Some)
        .ok_or_else(|| from.wrong(&format!("one of {:?}", all.iter().copied().map(label).collect::<Vec<_>>())))
}

fn vantage(from: &mut Values<'_>) -> Result<Vantage, Wrong> {
    labelled(from, &Vantage::ALL, Vantage::label)?.ok_or_else(|| from.wrong("wire or client"))
}
