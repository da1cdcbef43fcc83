//! The table as Parquet: zstd, text by dictionary, instants and frames as differences.
//!
//! Rows gather in one [`Gathered`] a column, about 220 bytes a row and one copy of each distinct text, and go to
//! the file as a row group. So memory does not grow with the number of rows.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::columns::{Cell, ColumnKind, Field};
use crate::error::Cause;

/// Rows of a row group: enough for dictionaries to pay, few enough to hold (some 15 MiB) while they are gathered.
pub(crate) const GROUP_ROWS: usize = 64 << 10;
/// Rows handed to a column's encoder at once.
const BATCH_ROWS: usize = 4 << 10;
/// The lowest level: higher ones saved next to nothing (decision 0006).
const ZSTD_LEVEL: i32 = 1;

/// Digits of a wide number, the most that readers have a type for, in so many bytes.
const WIDE_DIGITS: i32 = 38;
const WIDE_BYTES: i32 = 16;

pub(crate) struct ParquetTable {
    out: SerializedFileWriter<File>,
    fields: Vec<Field>,
    gathered: Vec<Gathered>,
    rows: usize,
}

impl ParquetTable {
    /// A table of this name with these columns.
    pub(crate) fn new(file: File, name: &str, fields: Vec<Field>) -> Result<Self, Cause> {
        let out = SerializedFileWriter::new(file, Arc::new(schema(name, &fields)?), Arc::new(properties(&fields)?))?;
        Ok(Self { out, gathered: fields.iter().map(Gathered::new).collect(), fields, rows: 0 })
    }

    /// Takes a row: a cell a column.
    pub(crate) fn put<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<(), Cause> {
        for ((field, gathered), cell) in self.fields.iter().zip(&mut self.gathered).zip(cells) {
            gathered.put(field, cell)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS { self.flush() } else { Ok(()) }
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
        let mut group = self.out.next_row_group()?;
        for gathered in &mut self.gathered {
            let mut column = group.next_column()?.ok_or("the Parquet schema has fewer columns than the table")?;
            gathered.write(&mut column)?;
            column.close()?;
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
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in fields {
        // What climbs from row to row is best kept as differences; a dictionary of it would be a second copy.
        if column.kind == ColumnKind::Instant || column.name.ends_with("_frame") || column.name == "id" {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// The cells of one column since the last row group.
struct Gathered {
    values: Values,
    /// Whether each row has a value, for columns that can be null; the values hold known ones only.
    known: Option<Vec<bool>>,
}

enum Values {
    Text(Texts),
    Long(Vec<i64>),
    Int(Vec<i32>),
    Flag(Vec<bool>),
    Wide(Vec<FixedLenByteArray>),
}

/// Text as indices into what was met.
#[derive(Default)]
struct Texts {
    distinct: Vec<ByteArray>,
    by_text: HashMap<Box<str>, u32>,
    indices: Vec<u32>,
}

impl Texts {
    fn put(&mut self, text: &str) -> Result<(), Cause> {
        // Texts come in runs: most rows have the connection, share and user of the row before.
        let last = self.indices.last().copied();
        if let Some(last) = last.filter(|&i| self.distinct.get(i as usize).is_some_and(|t| t.data() == text.as_bytes()))
        {
            self.indices.push(last);
            return Ok(());
        }
        let index = match self.by_text.get(text) {
            Some(&index) => index,
            None => {
                let index = u32::try_from(self.distinct.len())?;
                self.distinct.push(ByteArray::from(text));
                self.by_text.insert(text.into(), index);
                index
            }
        };
        self.indices.push(index);
        Ok(())
    }

    fn batch(&self, from: usize, to: usize) -> Vec<ByteArray> {
        let indices = self.indices.get(from..to).unwrap_or_default();
        indices.iter().filter_map(|&index| self.distinct.get(index as usize)).cloned().collect()
    }
}

impl Gathered {
    fn new(column: &Field) -> Self {
        let values = match column.kind {
            ColumnKind::Text => Values::Text(Texts::default()),
            ColumnKind::U64 | ColumnKind::Instant => Values::Long(Vec::new()),
            ColumnKind::U32 => Values::Int(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Wide => Values::Wide(Vec::new()),
        };
        Self { values, known: column.nullable.then(Vec::new) }
    }

    /// Takes a cell. Parquet keeps unsigned numbers in the bits of signed ones.
    fn put(&mut self, column: &Field, cell: Cell<'_>) -> Result<(), Cause> {
        if let Some(known) = &mut self.known {
            known.push(cell != Cell::Null);
            if cell == Cell::Null {
                return Ok(());
            }
        }
        match (&mut self.values, cell) {
            (Values::Text(texts), Cell::Text(text)) => texts.put(text)?,
            (Values::Long(values), Cell::Number(number)) => values.push(number.cast_signed()),
            (Values::Long(values), Cell::Instant(instant)) => values.push(instant),
            (Values::Int(values), Cell::Number(number)) => values.push(u32::try_from(number)?.cast_signed()),
            (Values::Flag(values), Cell::Flag(flag)) => values.push(flag),
            (Values::Wide(values), Cell::Wide(number)) => {
                values.push(ByteArray::from(number.to_be_bytes().to_vec()).into());
            }
            _ => return Err(format!("column {} cannot hold {cell:?}", column.name).into()),
        }
        Ok(())
    }

    fn write(&self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Text(texts) => self.write_as::<ByteArrayType>(texts.indices.len(), |a, b| texts.batch(a, b), out),
            Values::Long(values) => self.write_as::<Int64Type>(values.len(), slice(values), out),
            Values::Int(values) => self.write_as::<Int32Type>(values.len(), slice(values), out),
            Values::Flag(values) => self.write_as::<BoolType>(values.len(), slice(values), out),
            Values::Wide(values) => self.write_as::<FixedLenByteArrayType>(values.len(), slice(values), out),
        }
    }

    fn write_as<T: DataType>(
        &self,
        len: usize,
        values: impl Fn(usize, usize) -> Vec<T::T>,
        out: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let out = out.typed::<T>();
        let Some(known) = &self.known else {
            for from in (0..len).step_by(BATCH_ROWS) {
                out.write_batch(&values(from, len.min(from + BATCH_ROWS)), None, None)?;
            }
            return Ok(());
        };
        let mut from = 0;
        for known in known.chunks(BATCH_ROWS) {
            let levels: Vec<i16> = known.iter().map(|&known| i16::from(known)).collect();
            let to = from + known.iter().filter(|&&known| known).count();
            out.write_batch(&values(from, to), Some(&levels), None)?;
            from = to;
        }
        Ok(())
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Text(texts) => {
                texts.distinct.clear();
                texts.by_text.clear();
                texts.indices.clear();
            }
            Values::Long(values) => values.clear(),
            Values::Int(values) => values.clear(),
            Values::Flag(values) => values.clear(),
            Values::Wide(values) => values.clear(),
        }
        if let Some(known) = &mut self.known {
            known.clear();
        }
    }
}

fn slice<V: Clone>(values: &[V]) -> impl Fn(usize, usize) -> Vec<V> + '_ {
    |from, to| values.get(from..to).unwrap_or_default().to_vec()
}
