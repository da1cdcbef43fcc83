//! Compounds, forward and back: their heads, and the walk over their operations.
//!
//! Spec: RFC 7530 16.2, RFC 7530 17.2, RFC 8881 16.2, RFC 8881 20.2

use super::{arguments, callback, results};
use crate::marks::Marks;
use crate::nfs::facts::Facts;
use crate::nfs::layout::{Layout, walk};
use crate::nfs::marks::{self, number, opaque};
use crate::xdr::Cursor;

/// COMPOUND's or CB_COMPOUND's arguments, as far as they were captured.
#[derive(Debug, Clone, Copy)]
pub struct CompoundCall<'a> {
    /// The client's tag of the compound; often empty.
    pub tag: Option<&'a [u8]>,
    /// 0, 1 or 2.
    pub minor_version: Option<u32>,
    /// CB_COMPOUND: the number by which an NFS 4.0 client knows its callback (`callback_ident`).
    pub callback: Option<u32>,
    /// Number of operations that the compound announces. It is not checked: never reserve memory by it.
    pub announced: Option<u32>,
    operations: Operations<'a>,
}

impl<'a> CompoundCall<'a> {
    /// The arguments of COMPOUND.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::read(bytes, Table::Arguments)
    }

    /// The arguments of CB_COMPOUND.
    pub fn callback(bytes: &'a [u8]) -> Self {
        Self::read(bytes, Table::CallbackArguments)
    }

    /// The operations, in order.
    #[inline]
    pub fn operations(&self) -> Operations<'a> {
        self.operations
    }

    #[inline]
    fn read(bytes: &'a [u8], table: Table) -> Self {
        let mut cursor = Cursor::new(bytes);
        // Each is only read when what stands before it was: a cursor that ran out stays so.
        let tag = cursor.opaque();
        let minor_version = tag.and_then(|_| cursor.u32());
        let callback = match table {
            Table::CallbackArguments => minor_version.and_then(|_| cursor.u32()),
            _ => None,
        };
        let announced = minor_version.and_then(|_| cursor.u32());
        Self { tag, minor_version, callback, announced, operations: Operations::new(cursor, announced, table) }
    }
}

/// COMPOUND's or CB_COMPOUND's results, as far as they were captured.
#[derive(Debug, Clone, Copy)]
pub struct CompoundReply<'a> {
    /// The status of the last operation that was tried, as its wire number: see [`crate::nfs::status_name`].
    pub status: Option<u32>,
    /// The call's tag again.
    pub tag: Option<&'a [u8]>,
    /// How many results the compound says that it has: operations after a failed one have none.
    pub announced: Option<u32>,
    operations: Operations<'a>,
}

impl<'a> CompoundReply<'a> {
    /// The results of COMPOUND.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::read(bytes, Table::Results)
    }

    /// The results of CB_COMPOUND.
    pub fn callback(bytes: &'a [u8]) -> Self {
        Self::read(bytes, Table::CallbackResults)
    }

    /// The results of the operations, in order.
    #[inline]
    pub fn operations(&self) -> Operations<'a> {
        self.operations
    }

    #[inline]
    fn read(bytes: &'a [u8], table: Table) -> Self {
        let mut cursor = Cursor::new(bytes);
        let status = cursor.u32();
        let tag = status.and_then(|_| cursor.opaque());
        let announced = tag.and_then(|_| cursor.u32());
        Self { status, tag, announced, operations: Operations::new(cursor, announced, table) }
    }
}

/// One operation of a compound: its arguments in a call, its results in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'a> {
    /// Its place in the compound, from 0.
    pub position: u32,
    /// Its number.
    pub code: u32,
    /// The facts of the operation.
    pub facts: Facts<'a>,
}

impl<'a> Operation<'a> {
    /// The operation of a COMPOUND's arguments that stands at the beginning of these bytes.
    #[inline]
    pub(super) fn of_arguments(position: u32, bytes: &'a [u8]) -> Option<Self> {
        let one = Operations::new(Cursor::new(bytes), Some(1), Table::Arguments).next()?;
        Some(Self { position, ..one })
    }
}

/// Why a walk over operations ended before the compound did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The captured bytes ended.
    Truncated,
    /// This operation is not known.
    Unknown(u32),
    /// This operation's bytes do not fit its layout, or choose a form of it that is not known.
    Malformed(u32),
}

/// Walks over the operations of a compound. It yields each operation whose number was captured, even if its other bytes were cut, and
/// never more operations than the captured bytes can hold, whatever count the compound announces.
#[derive(Debug, Clone, Copy)]
pub struct Operations<'a> {
    cursor: Cursor<'a>,
    next: u32,
    announced: u32,
    table: Table,
    stop: Option<Stop>,
}

#[derive(Debug, Clone, Copy)]
enum Table {
    Arguments,
    Results,
    CallbackArguments,
    CallbackResults,
}

impl Table {
    /// What follows the operation's number and, in results, its status.
    #[inline]
    fn layout(self, code: u32, status: u32) -> Option<Layout> {
        match self {
            Self::Arguments => arguments::layout(code),
            Self::Results => results::layout(code, status),
            Self::CallbackArguments => callback::arguments(code),
            Self::CallbackResults => callback::results(code, status),
        }
    }
}

impl<'a> Operations<'a> {
    #[inline]
    fn new(cursor: Cursor<'a>, announced: Option<u32>, table: Table) -> Self {
        let stop = if announced.is_none() { Some(Stop::Truncated) } else { None };
        Self { cursor, next: 0, announced: announced.unwrap_or(0), table, stop }
    }

    /// The bytes of the operations that were not yielded yet.
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// After the end of the iteration: `None` if it reached the compound's end, otherwise the reason why it stopped.
    #[inline]
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// True when the captured bytes ended before the compound did.
    pub fn truncated(&self) -> bool {
        self.stop == Some(Stop::Truncated)
    }

    fn read(&mut self, code: u32, facts: &mut Facts<'a>) -> Result<(), Stop> {
        let status = match self.table {
            Table::Results | Table::CallbackResults => {
                facts.status = self.cursor.u32();
                facts.status.ok_or(Stop::Truncated)?
            }
            Table::Arguments | Table::CallbackArguments => 0,
        };
        let layout = self.table.layout(code, status).ok_or(Stop::Unknown(code))?;
        match walk(layout, &mut self.cursor, facts) {
            Some(()) => Ok(()),
            None if self.cursor.ran_out() => Err(Stop::Truncated),
            None => Err(Stop::Malformed(code)),
        }
    }
}

/// Marks the arguments of a compound, or of a callback compound.
pub(in crate::nfs) fn mark_arguments(bytes: &[u8], callback: bool, marks: &mut Marks<'_>) {
    let mut cursor = Cursor::new(bytes);
    let mut head = || {
        opaque(&mut cursor, None, marks)?;
        number(&mut cursor, marks)?;
        if callback {
            number(&mut cursor, marks)?;
        }
        number(&mut cursor, marks)
    };
    let table = if callback { Table::CallbackArguments } else { Table::Arguments };
    let announced = head();
    let _ = announced.and_then(|announced| mark_operations(&mut cursor, announced, table, marks));
}

/// The same of results.
pub(in crate::nfs) fn mark_results(bytes: &[u8], callback: bool, marks: &mut Marks<'_>) {
    let mut cursor = Cursor::new(bytes);
    let mut head = || {
        number(&mut cursor, marks)?;
        opaque(&mut cursor, None, marks)?;
        number(&mut cursor, marks)
    };
    let table = if callback { Table::CallbackResults } else { Table::Results };
    let announced = head();
    let _ = announced.and_then(|announced| mark_operations(&mut cursor, announced, table, marks));
}

fn mark_operations(cursor: &mut Cursor<'_>, announced: u32, table: Table, marks: &mut Marks<'_>) -> Option<()> {
    for _ in 0..announced {
        let code = number(cursor, marks)?;
        let status = match table {
            Table::Results | Table::CallbackResults => number(cursor, marks)?,
            Table::Arguments | Table::CallbackArguments => 0,
        };
        marks::walk(table.layout(code, status)?, cursor, marks)?;
    }
    Some(())
}

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    #[inline]
    fn next(&mut self) -> Option<Operation<'a>> {
        if self.stop.is_some() || self.next >= self.announced {
            return None;
        }
        let Some(code) = self.cursor.u32() else {
            self.stop = Some(Stop::Truncated);
            return None;
        };
        let mut facts = Facts::default();
        self.stop = self.read(code, &mut facts).err();
        let position = self.next;
        self.next += 1;
        Some(Operation { position, code, facts })
    }
}
