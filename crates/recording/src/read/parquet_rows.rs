//! Rows of a Parquet table: some of every column at a time.

use std::fs::File;

use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use plimsoll_model::{Names, Sink};

use super::row::{RowReader, Value};
use crate::columns::{COLUMNS, Column, ColumnKind, REQUIRED};
use crate::error::Cause;

/// Rows that are in memory at a time.
const BATCH_ROWS: usize = 4096;

pub(super) fn read(file: File, rows: &mut RowReader, names: &mut Names, sink: &mut dyn Sink) -> Result<u64, Cause> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let place = |(number, column): (usize, &Column)| match schema
        .columns()
        .iter()
        .position(|other| other.path().string() == column.name)
    {
        None if number < REQUIRED => Err(format!("no column {}", column.name)),
        None => Ok(None),
        Some(place) if holds(&schema.column(place), column.kind) => Ok(Some(place)),
        Some(_) => Err(format!("column {}: expected the Parquet type {}", column.name, type_name(column.kind))),
    };
    let places = COLUMNS.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()?;
    let mut count = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let column = |place: &Option<usize>| {
            let Some(place) = *place else { return Ok(None) };
            Ok(Some(ColumnRows::new(group.get_column_reader(place)?, schema.column(place).max_def_level())))
        };
        let mut columns = places.iter().map(column).collect::<Result<Vec<_>, Cause>>()?;
        loop {
            let lengths = columns.iter_mut().flatten().map(ColumnRows::fill).collect::<Result<Vec<_>, _>>()?;
            let length = lengths.first().copied().unwrap_or(0);
            if lengths.iter().any(|other| *other != length) {
                return Err(format!("row {}: columns of different length", count + 1).into());
            }
            if length == 0 {
                break;
            }
            for _ in 0..length {
                count += 1;
                let mut each = columns.iter_mut();
                let mut wrong = None;
                let all = std::array::from_fn(|_| match each.next().and_then(Option::as_mut).map(ColumnRows::next) {
                    Some(Ok(value)) => value,
                    Some(Err(error)) => {
                        wrong = Some(error);
                        Value::Null
                    }
                    None => Value::Null,
                });
                let transaction = match wrong {
                    Some(error) => Err(error),
                    None => rows.transaction(all, names),
                };
                let transaction = transaction.map_err(|wrong| format!("row {count}: {wrong}"))?;
                sink.transaction(&transaction, names);
            }
        }
    }
    Ok(count)
}

/// The type that [`holds`] checks, in words.
fn type_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "BYTE_ARRAY",
        ColumnKind::U64 => "INT64",
        ColumnKind::Instant => "INT64 with a timestamp in ns",
        ColumnKind::U32 => "INT32",
        ColumnKind::Flag => "BOOLEAN",
        ColumnKind::Wide => "FIXED_LEN_BYTE_ARRAY",
    }
}

/// Whether a column has the type that plimsoll writes.
fn holds(column: &ColumnDescriptor, kind: ColumnKind) -> bool {
    let physical = match kind {
        ColumnKind::Text => Physical::BYTE_ARRAY,
        ColumnKind::U64 | ColumnKind::Instant => Physical::INT64,
        ColumnKind::U32 => Physical::INT32,
        ColumnKind::Flag => Physical::BOOLEAN,
        ColumnKind::Wide => Physical::FIXED_LEN_BYTE_ARRAY,
    };
    let nanoseconds = |logical: Option<&LogicalType>| match logical {
        Some(LogicalType::Timestamp(timestamp)) => timestamp.unit == parquet::basic::TimeUnit::NANOS,
        _ => false,
    };
    column.physical_type() == physical
        && column.max_rep_level() == 0
        && (kind != ColumnKind::Instant || nanoseconds(column.logical_type_ref()))
}

/// The next rows of one column.
struct ColumnRows {
    reader: ColumnReader,
    /// Levels below it are nulls.
    known: i16,
    levels: Vec<i16>,
    texts: Vec<ByteArray>,
    longs: Vec<i64>,
    ints: Vec<i32>,
    flags: Vec<bool>,
    row: usize,
    value: usize,
}

impl ColumnRows {
    fn new(reader: ColumnReader, known: i16) -> Self {
        let (levels, texts, longs, ints, flags) = Default::default();
        Self { reader, known, levels, texts, longs, ints, flags, row: 0, value: 0 }
    }

    /// Reads the next rows; returns their number.
    fn fill(&mut self) -> Result<usize, Cause> {
        self.levels.clear();
        self.texts.clear();
        self.longs.clear();
        self.ints.clear();
        self.flags.clear();
        (self.row, self.value) = (0, 0);
        let levels = (self.known > 0).then_some(&mut self.levels);
        let (rows, ..) = match &mut self.reader {
            ColumnReader::ByteArrayColumnReader(reader) => {
                reader.read_records(BATCH_ROWS, levels, None, &mut self.texts)?
            }
            ColumnReader::Int64ColumnReader(reader) => {
                reader.read_records(BATCH_ROWS, levels, None, &mut self.longs)?
            }
            ColumnReader::Int32ColumnReader(reader) => reader.read_records(BATCH_ROWS, levels, None, &mut self.ints)?,
            ColumnReader::BoolColumnReader(reader) => reader.read_records(BATCH_ROWS, levels, None, &mut self.flags)?,
            _ => return Err("a column of another type".into()),
        };
        Ok(rows)
    }

    /// The value of the next row.
    fn next(&mut self) -> Result<Value<'_>, String> {
        let is_null = self.known > 0 && self.levels.get(self.row).is_none_or(|level| *level < self.known);
        self.row += 1;
        if is_null {
            return Ok(Value::Null);
        }
        let place = self.value;
        self.value += 1;
        let number = || {
            let long = self.longs.get(place).map(|long| long.cast_unsigned());
            let int = || self.ints.get(place).map(|int| u64::from(int.cast_unsigned()));
            long.or_else(int).or_else(|| self.flags.get(place).map(|flag| u64::from(*flag)))
        };
        match self.texts.get(place) {
            Some(text) => text.as_utf8().map(Value::Text).map_err(|_| "a text is not valid UTF-8".to_owned()),
            None => number().map(Value::Bits).ok_or_else(|| "a value is missing".to_owned()),
        }
    }
}
