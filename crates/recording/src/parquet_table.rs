//! The table as Parquet: zstd, texts and numbers by dictionary, instants and frames as differences.
//!
//! Rows gather in one [`Gathered`] a column, at most some 200 bytes a row and one copy of each distinct value, and go to
//! the file as a row group. So memory does not grow with the number of rows.

mod alike;
mod chunk;
mod coded;
mod gathered;
mod order;
mod runs;

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use plimsoll_model::{Names, Transaction};

use crate::columns::{COLUMNS, Cell, ColumnKind, Field, Labels};
use crate::error::Cause;
use chunk::Packing;
use gathered::{Gathered, Scratch};
use order::Order;

/// Rows of a row group: enough for dictionaries to pay, few enough to hold (at most 15 MiB) while they are gathered.
pub(crate) const GROUP_ROWS: usize = 64 << 10;
/// The lowest level: higher ones saved next to nothing (decision 0006).
const ZSTD_LEVEL: i32 = 1;

/// Maximum number of digits of wide numbers that readers support, and their bytes.
const WIDE_DIGITS: i32 = 38;
const WIDE_BYTES: i32 = 16;

/// Transactions of which a column is gathered before the next one is: some 50 KiB, which stay near the processor, and enough
/// for the columns that are all alike to cost little each.
pub(crate) const NEAR_ROWS: usize = 128;

pub(crate) struct ParquetTable {
    out: SerializedFileWriter<File>,
    packing: Packing,
    fields: Vec<Field>,
    gathered: Vec<Gathered>,
    scratch: Scratch,
    /// Where the rows of a group are sorted.
    order: Option<Order>,
    rows: usize,
}

impl ParquetTable {
    /// A table of this name with these columns.
    pub(crate) fn new(file: File, name: &str, fields: Vec<Field>) -> Result<Self, Cause> {
        let out = SerializedFileWriter::new(file, Arc::new(schema(name, &fields)?), Arc::new(properties(&fields)?))?;
        let (packing, gathered) = (Packing::new(ZSTD_LEVEL)?, fields.iter().map(Gathered::new).collect());
        Ok(Self { out, packing, gathered, fields, scratch: Scratch::default(), order: None, rows: 0 })
    }

    /// The same of transactions, each row group sorted by the beginning of their requests.
    pub(crate) fn sorted(self) -> Self {
        Self { order: Some(Order::default()), ..self }
    }

    /// Takes a row: a cell a column.
    pub(crate) fn put<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<(), Cause> {
        for ((field, gathered), cell) in self.fields.iter().zip(&mut self.gathered).zip(cells) {
            gathered.put(field, cell, 1)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Takes rows with common first cells, followed by separate numbers, one column each, of equal length.
    pub(crate) fn put_alike(&mut self, cells: &[Cell<'_>], own: &[Vec<u64>]) -> Result<(), Cause> {
        let (mut from, rows) = (0, own.first().map_or(0, Vec::len));
        while from < rows {
            let to = rows.min(from + GROUP_ROWS - self.rows);
            let mut columns = self.fields.iter().zip(&mut self.gathered);
            for (&cell, (field, gathered)) in cells.iter().zip(columns.by_ref()) {
                gathered.put(field, cell, to - from)?;
            }
            for (numbers, (field, gathered)) in own.iter().zip(columns) {
                gathered.put_each(field, numbers.get(from..to).unwrap_or_default())?;
            }
            self.rows += to - from;
            if self.rows >= GROUP_ROWS {
                self.flush()?;
            }
            from = to;
        }
        Ok(())
    }

    /// Takes transactions, one row each; the columns must be those of transactions. All transactions of a table use the same names.
    pub(crate) fn put_transactions(
        &mut self,
        rows: &[&Transaction],
        labels: &mut Labels,
        names: &Names,
    ) -> Result<(), Cause> {
        for some in rows.chunks(NEAR_ROWS) {
            let (some, next_group) = some.split_at(some.len().min(GROUP_ROWS - self.rows));
            self.put_some(some, labels, names)?;
            self.put_some(next_group, labels, names)?;
        }
        Ok(())
    }

    fn put_some(&mut self, rows: &[&Transaction], labels: &mut Labels, names: &Names) -> Result<(), Cause> {
        for (column, gathered) in COLUMNS.iter().zip(&mut self.gathered) {
            gathered.put_transactions(column, rows, &mut self.scratch, (labels, names))?;
        }
        if let Some(order) = &mut self.order {
            rows.iter().for_each(|t| order.put(t));
        }
        self.rows += rows.len();
        if self.rows >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes the rest and the index; the file is then complete.
    pub(crate) fn finish(mut self) -> Result<File, Cause> {
        if self.rows > 0 {
            self.flush()?;
        }
        Ok(self.out.into_inner()?)
    }

    /// Writes a row group.
    fn flush(&mut self) -> Result<(), Cause> {
        let columns = self.out.schema_descr().columns().to_vec();
        let order = self.order.as_mut().and_then(Order::take);
        let mut group = self.out.next_row_group()?;
        for (gathered, column) in self.gathered.iter_mut().zip(columns) {
            gathered.sort(order.as_deref(), &mut self.scratch)?;
            if let Some(coded) = gathered.coded() {
                let (bytes, closed) = self.packing.chunk(column, coded)?;
                group.append_column(&bytes, closed)?;
            } else {
                let mut column = group.next_column()?.ok_or("the Parquet schema has fewer columns than the table")?;
                gathered.write(&mut column)?;
                column.close()?;
            }
            gathered.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn schema(name: &str, fields: &[Field]) -> Result<Type, ParquetError> {
    let fields = fields.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnKind::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
            ColumnKind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
            ColumnKind::Instant => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
            ColumnKind::Flag => (Physical::BOOLEAN, None),
            ColumnKind::Wide => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::decimal(0, WIDE_DIGITS))),
        };
        // -1 means absent.
        let (length, precision, scale) =
            if column.kind == ColumnKind::Wide { (WIDE_BYTES, WIDE_DIGITS, 0) } else { (-1, -1, -1) };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_length(length)
            .with_precision(precision)
            .with_scale(scale)
            .with_repetition(repetition)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder(name).with_fields(fields).build()
}

fn properties(fields: &[Field]) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        // Without bounds of pages, readers do not search pages by them.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in fields {
        if climbs(column) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// What climbs from row to row is best kept as differences; a dictionary of it would be a second copy.
fn climbs(column: &Field) -> bool {
    column.kind == ColumnKind::Instant || column.name.ends_with("_frame") || column.name == "id"
}
