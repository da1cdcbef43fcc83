//! `intervals.parquet` and `histograms.parquet`: the sums of each interval. Rows of one interval are additive.

use std::fs::File;
use std::path::Path;

use plimsoll_model::Procedure;
use plimsoll_stats::{Interval, IntervalRow};

use super::FolderError;
use crate::columns::{Cell, ColumnKind, Field};
use crate::error::Cause;
use crate::parquet_table::ParquetTable;

pub(super) const INTERVALS: &str = "intervals.parquet";
pub(super) const HISTOGRAMS: &str = "histograms.parquet";
/// Suffix of a table until it is complete: SQL engines read all files with a table's name, and fail on one without an end.
pub(super) const OPEN: &str = ".new";

const fn known(name: &'static str, kind: ColumnKind) -> Field {
    Field { name, kind, nullable: false }
}

const fn maybe(name: &'static str, kind: ColumnKind) -> Field {
    Field { name, kind, nullable: true }
}

use ColumnKind::{Instant, Text, U32, U64, Wide};

/// Columns at the start of both tables, which identify the row.
const KEY: [Field; 7] = [
    known("level", U32),
    known("start_ns", Instant),
    known("width_ns", U64),
    known("protocol", Text),
    known("procedure", Text),
    known("operation", Text),
    known("group", Text),
];

/// Sums that no such number holds are null. Absurd times alone get there: 584 years in one interval.
const SUMS: [Field; 10] = [
    known("count", U64),
    known("errors", U64),
    known("unanswered", U64),
    known("payload_bytes", U64),
    known("response_count", U64),
    maybe("response_sum_ns", U64),
    maybe("response_squares_ns2", Wide),
    maybe("response_min_ns", U64),
    maybe("response_max_ns", U64),
    known("payload_unknown", U64),
];

const CELL: [Field; 3] = [known("from_ns", U64), known("to_ns", U64), known("count", U64)];

/// The largest number of 38 digits.
const WIDEST: u128 = 10u128.pow(38) - 1;

/// The two tables of a level.
pub(super) struct Tables {
    level: u32,
    intervals: ParquetTable,
    histograms: ParquetTable,
    procedures: Vec<String>,
    /// The columns of [`CELL`], of one histogram.
    cells: [Vec<u64>; CELL.len()],
}

impl Tables {
    /// Creates both files, whose names get this suffix.
    pub(super) fn create(folder: &Path, level: u32, suffix: &str) -> Result<Self, FolderError> {
        let table = |name: &str, title: &str, own: &[Field]| {
            let (path, fields) = (folder.join(format!("{name}{suffix}")), KEY.iter().chain(own).copied().collect());
            let made = File::create(&path).map_err(Cause::from);
            made.and_then(|file| ParquetTable::new(file, title, fields))
                .map_err(|cause| FolderError::file(&path, cause))
        };
        Ok(Self {
            level,
            intervals: table(INTERVALS, "intervals", &SUMS)?,
            histograms: table(HISTOGRAMS, "histograms", &CELL)?,
            procedures: Procedure::all().map(Procedure::name).collect(),
            cells: Default::default(),
        })
    }

    pub(super) fn put(&mut self, interval: &Interval) -> Result<(), Cause> {
        for (procedure, row) in interval.rows() {
            let name = self.procedures.get(procedure.index()).map_or("", String::as_str);
            let key = key(self.level, interval, procedure, name);
            self.intervals.put(key.into_iter().chain(sums(row)))?;
            self.cells.iter_mut().for_each(Vec::clear);
            for cell in row.histogram.iter() {
                let own = [cell.from_ns, cell.to_ns, cell.count];
                self.cells.iter_mut().zip(own).for_each(|(column, number)| column.push(number));
            }
            self.histograms.put_alike(&key, &self.cells)?;
        }
        Ok(())
    }

    /// Both of the folder get their names.
    pub(super) fn complete(folder: &Path) -> std::io::Result<()> {
        let complete = |name: &str| std::fs::rename(folder.join(format!("{name}{OPEN}")), folder.join(name));
        [INTERVALS, HISTOGRAMS].into_iter().try_for_each(complete)
    }

    /// Both are whole and on the disk.
    pub(super) fn finish(self) -> Result<(), Cause> {
        self.intervals.finish()?.sync_all()?;
        Ok(self.histograms.finish()?.sync_all()?)
    }
}

fn key<'a>(level: u32, interval: &Interval, procedure: Procedure, name: &'a str) -> [Cell<'a>; 7] {
    let row = procedure.row();
    [
        Cell::Number(level.into()),
        Cell::Instant(interval.start_ns()),
        Cell::Number(interval.width().ns().unsigned_abs()),
        Cell::Text(row.protocol.label()),
        Cell::Text(name),
        Cell::Text(row.operation.label()),
        Cell::Text(row.group.label()),
    ]
}

fn sums<'a>(row: &IntervalRow) -> [Cell<'a>; 10] {
    let number = |known: Option<u64>| known.map_or(Cell::Null, Cell::Number);
    let moments = &row.response;
    let any = moments.count() > 0;
    [
        Cell::Number(row.count),
        Cell::Number(row.errors),
        Cell::Number(row.unanswered),
        Cell::Number(row.payload_bytes),
        Cell::Number(moments.count()),
        number(u64::try_from(moments.sum_ns()).ok().filter(|_| any)),
        if any && moments.squares() <= WIDEST { Cell::Wide(moments.squares()) } else { Cell::Null },
        number(moments.min_ns()),
        number(moments.max_ns()),
        Cell::Number(row.payload_unknown),
    ]
}
