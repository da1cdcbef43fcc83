//! The table as Parquet: zstd, texts and numbers by dictionary, instants and frames as differences.
//!
//! Rows gather in one [`Gathered`] a column, about 220 bytes a row and one copy of each distinct value, and go to
//! the file as a row group. So memory does not grow with the number of rows.

mod chunk;
mod coded;
mod runs;

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, DataType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use plimsoll_model::{Names, Transaction};

use crate::columns::{COLUMNS, Cell, Column, ColumnKind, Field, Labels, Row};
use crate::error::Cause;
use chunk::Packing;
use coded::Coded;

/// Rows of a row group: enough for dictionaries to pay, few enough to hold (some 15 MiB) while they are gathered.
pub(crate) const GROUP_ROWS: usize = 64 << 10;
/// Rows handed to a column's encoder at once.
const BATCH_ROWS: usize = 4 << 10;
/// The lowest level: higher ones saved next to nothing (decision 0006).
const ZSTD_LEVEL: i32 = 1;

/// Digits of a wide number, the most that readers have a type for, in so many bytes.
const WIDE_DIGITS: i32 = 38;
const WIDE_BYTES: i32 = 16;

/// Transactions of which a column is gathered before the next one is: some 80 KiB, which stay near the processor.
const NEAR_ROWS: usize = 256;
const _: () = assert!(GROUP_ROWS.is_multiple_of(NEAR_ROWS));

pub(crate) struct ParquetTable {
    out: SerializedFileWriter<File>,
    packing: Packing,
    fields: Vec<Field>,
    gathered: Vec<Gathered>,
    rows: usize,
}

impl ParquetTable {
    /// A table of this name with these columns.
    pub(crate) fn new(file: File, name: &str, fields: Vec<Field>) -> Result<Self, Cause> {
        let out = SerializedFileWriter::new(file, Arc::new(schema(name, &fields)?), Arc::new(properties(&fields)?))?;
        let (packing, gathered) = (Packing::new(ZSTD_LEVEL)?, fields.iter().map(Gathered::new).collect());
        Ok(Self { out, packing, gathered, fields, rows: 0 })
    }

    /// Takes a row: a cell a column.
    pub(crate) fn put<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<(), Cause> {
        for ((field, gathered), cell) in self.fields.iter().zip(&mut self.gathered).zip(cells) {
            gathered.put(field, cell)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Takes transactions, a row each, where the columns are those of transactions. All of a table's are of the same names.
    pub(crate) fn put_transactions(
        &mut self,
        rows: &[&Transaction],
        labels: &mut Labels,
        names: &Names,
    ) -> Result<(), Cause> {
        for near in rows.chunks(NEAR_ROWS) {
            for (column, gathered) in COLUMNS.iter().zip(&mut self.gathered) {
                gathered.put_transactions(column, near, labels, names)?;
            }
            self.rows += near.len();
            if self.rows >= GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what is left and the index; the file is whole.
    pub(crate) fn finish(mut self) -> Result<File, Cause> {
        if self.rows > 0 {
            self.flush()?;
        }
        Ok(self.out.into_inner()?)
    }

    /// Writes a row group.
    fn flush(&mut self) -> Result<(), Cause> {
        let columns = self.out.schema_descr().columns().to_vec();
        let mut group = self.out.next_row_group()?;
        for (gathered, column) in self.gathered.iter_mut().zip(columns) {
            if let Values::Coded(coded) = &gathered.values {
                let (bytes, closed) = self.packing.chunk(column, coded, gathered.known.as_deref())?;
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
        // What is not given is -1.
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
        // Without bounds of pages nobody looks for pages by them.
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

/// The cells of one column since the last row group.
struct Gathered {
    values: Values,
    /// Whether each row has a value, for columns that can be null; the values hold known ones only.
    known: Option<Vec<bool>>,
}

enum Values {
    Coded(Box<Coded>),
    Long(Vec<i64>),
    Flag(Vec<bool>),
    Wide(Vec<FixedLenByteArray>),
}

impl Gathered {
    fn new(column: &Field) -> Self {
        let values = match column.kind {
            _ if climbs(column) => Values::Long(Vec::new()),
            ColumnKind::Text => Values::Coded(Box::new(Coded::texts())),
            ColumnKind::U64 => Values::Coded(Box::new(Coded::numbers(8))),
            ColumnKind::U32 => Values::Coded(Box::new(Coded::numbers(4))),
            ColumnKind::Instant => Values::Long(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Wide => Values::Wide(Vec::new()),
        };
        Self { values, known: column.nullable.then(Vec::new) }
    }

    /// Notes whether there is a value.
    #[inline]
    fn note(&mut self, there: bool) {
        if let Some(known) = &mut self.known {
            known.push(there);
        }
    }

    /// Takes a cell. Parquet keeps unsigned numbers in the bits of signed ones.
    #[inline]
    fn put(&mut self, column: &Field, cell: Cell<'_>) -> Result<(), Cause> {
        self.note(cell != Cell::Null);
        if cell == Cell::Null && column.nullable {
            return Ok(());
        }
        match (&mut self.values, cell) {
            (Values::Coded(coded), Cell::Number(number)) => coded.put_number(number)?,
            (Values::Coded(coded), Cell::Text(text)) => coded.put_any_text(text)?,
            (Values::Long(values), Cell::Number(number)) => values.push(number.cast_signed()),
            (Values::Long(values), Cell::Instant(instant)) => values.push(instant),
            (Values::Flag(values), Cell::Flag(flag)) => values.push(flag),
            (Values::Wide(values), Cell::Wide(number)) => {
                values.push(ByteArray::from(number.to_be_bytes().to_vec()).into());
            }
            _ => return Err(format!("column {} cannot hold {cell:?}", column.name).into()),
        }
        Ok(())
    }

    /// Takes the cells of transactions.
    fn put_transactions(
        &mut self,
        column: &Column,
        rows: &[&Transaction],
        labels: &mut Labels,
        names: &Names,
    ) -> Result<(), Cause> {
        let Some(key) = column.key else {
            let field = column.field();
            return rows.iter().try_for_each(|t| self.put(&field, (column.cell)(&Row::unlabelled(t, names, labels))));
        };
        for t in rows {
            let key = key(t);
            self.note(key.is_some());
            let (Values::Coded(coded), Some(key)) = (&mut self.values, key) else { continue };
            let mut made = Ok(());
            coded.put_text(key, || match (column.cell)(&labels.row(t, names)) {
                Cell::Text(text) => text,
                other => {
                    made = Err(format!("column {} cannot hold {other:?}", column.name));
                    ""
                }
            })?;
            made?;
        }
        Ok(())
    }

    fn write(&self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            // A chunk of its own.
            Values::Coded(_) => Ok(()),
            Values::Long(values) => self.write_as::<Int64Type>(values, out),
            Values::Flag(values) => self.write_as::<BoolType>(values, out),
            Values::Wide(values) => self.write_as::<FixedLenByteArrayType>(values, out),
        }
    }

    fn write_as<T: DataType>(&self, values: &[T::T], out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let out = out.typed::<T>();
        let Some(known) = &self.known else {
            return values.chunks(BATCH_ROWS).try_for_each(|values| out.write_batch(values, None, None).map(drop));
        };
        let mut from = 0;
        for known in known.chunks(BATCH_ROWS) {
            let levels: Vec<i16> = known.iter().map(|&known| i16::from(known)).collect();
            let to = from + known.iter().filter(|&&known| known).count();
            out.write_batch(values.get(from..to).unwrap_or_default(), Some(&levels), None)?;
            from = to;
        }
        Ok(())
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Coded(coded) => coded.clear(),
            Values::Long(values) => values.clear(),
            Values::Flag(values) => values.clear(),
            Values::Wide(values) => values.clear(),
        }
        if let Some(known) = &mut self.known {
            known.clear();
        }
    }
}
