//! The cells of one column since the last row group.

use parquet::data_type::{BoolType, ByteArray, DataType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use plimsoll_model::{Names, Transaction};

use super::climbs;
use super::coded::Coded;
use crate::columns::{Bits, Cell, Column, ColumnKind, Field, Key, Labels, Of};
use crate::error::Cause;

/// Rows handed to a column's encoder at once.
const BATCH_ROWS: usize = 4 << 10;

/// The cells of one column.
pub(super) struct Gathered {
    values: Values,
    nullable: bool,
}

enum Values {
    Coded(Box<Coded>),
    Long(Box<Long>),
    Flag(Vec<bool>),
    Wide(Vec<Option<u128>>),
}

/// Numbers that climb.
struct Long {
    /// One a row, 0 where there is none.
    values: Vec<i64>,
    known: Vec<bool>,
    /// How many are known.
    count: usize,
    /// What stands for them where none is.
    nothing: Coded,
}

/// Room that all columns use in turn.
#[derive(Default)]
pub(super) struct Scratch {
    bits: Bits,
    keys: Vec<Option<Key>>,
    codes: Vec<u32>,
    values: Vec<i64>,
    flags: Vec<bool>,
}

impl Gathered {
    pub(super) fn new(column: &Field) -> Self {
        let long = || Box::new(Long { values: Vec::new(), known: Vec::new(), count: 0, nothing: Coded::numbers(8) });
        let values = match column.kind {
            _ if climbs(column) => Values::Long(long()),
            ColumnKind::Text => Values::Coded(Box::new(Coded::texts())),
            ColumnKind::U64 => Values::Coded(Box::new(Coded::numbers(8))),
            ColumnKind::U32 => Values::Coded(Box::new(Coded::numbers(4))),
            ColumnKind::Instant => Values::Long(long()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Wide => Values::Wide(Vec::new()),
        };
        Self { values, nullable: column.nullable }
    }

    /// Takes a cell. Parquet keeps unsigned numbers in the bits of signed ones.
    #[inline]
    pub(super) fn put(&mut self, column: &Field, cell: Cell<'_>) -> Result<(), Cause> {
        if cell == Cell::Null && !column.nullable {
            return Err(format!("column {} has no value", column.name).into());
        }
        match (&mut self.values, cell) {
            (Values::Coded(coded), Cell::Number(number)) => coded.put_numbers(&[number], &[true])?,
            (Values::Coded(coded), Cell::Text(text)) => coded.put_any_text(text)?,
            (Values::Coded(coded), Cell::Null) => coded.put_nothing(1),
            (Values::Long(long), Cell::Number(bits)) => long.put(&[bits], &[true]),
            (Values::Long(long), Cell::Instant(instant)) => long.put(&[instant.cast_unsigned()], &[true]),
            (Values::Long(long), Cell::Null) => long.put(&[0], &[false]),
            (Values::Flag(values), Cell::Flag(flag)) => values.push(flag),
            (Values::Wide(values), Cell::Wide(number)) => values.push(Some(number)),
            (Values::Wide(values), Cell::Null) => values.push(None),
            _ => return Err(format!("column {} cannot hold {cell:?}", column.name).into()),
        }
        Ok(())
    }

    /// Takes the cells of transactions.
    pub(super) fn put_transactions(
        &mut self,
        column: &Column,
        rows: &[&Transaction],
        scratch: &mut Scratch,
        (labels, names): (&mut Labels, &Names),
    ) -> Result<(), Cause> {
        match (&mut self.values, &column.of) {
            (Values::Coded(coded), Of::Text { text, keys }) => {
                scratch.keys.clear();
                keys(rows, &mut scratch.keys);
                let text = |place: usize| text(&labels.row(rows.get(place).copied()?, names)).map(str::to_owned);
                coded.put_texts(&scratch.keys, text)?;
            }
            (values, Of::Bits { all, .. }) => {
                all(rows, &mut scratch.bits);
                let Bits { values: bits, known } = &scratch.bits;
                match values {
                    Values::Coded(coded) => coded.put_numbers(bits, known)?,
                    Values::Long(long) => long.put(bits, known),
                    Values::Flag(flags) => flags.extend(bits.iter().map(|&bits| bits != 0)),
                    Values::Wide(_) => return Err(format!("column {} is no transaction's", column.name).into()),
                }
            }
            _ => return Err(format!("column {} holds no text", column.name).into()),
        }
        Ok(())
    }

    /// Puts the rows in order, where they came in another.
    pub(super) fn sort(&mut self, order: Option<&[u32]>, scratch: &mut Scratch) {
        let Some(order) = order else { return };
        match &mut self.values {
            Values::Coded(coded) if !coded.is_uniform() => sort(&mut coded.codes, order, &mut scratch.codes),
            Values::Long(long) if long.count > 0 => {
                sort(&mut long.values, order, &mut scratch.values);
                if long.count < long.known.len() {
                    sort(&mut long.known, order, &mut scratch.flags);
                }
            }
            Values::Flag(flags) if flags.contains(&true) => sort(flags, order, &mut scratch.flags),
            // All rows are alike; wide numbers are of tables that are not sorted.
            _ => {}
        }
    }

    /// A chunk that we write ourselves.
    pub(super) fn coded(&mut self) -> Option<&Coded> {
        match &mut self.values {
            Values::Coded(coded) => Some(coded),
            Values::Long(long) if long.count == 0 => Some(long.nothing()),
            _ => None,
        }
    }

    /// All others.
    pub(super) fn write(&self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Coded(_) => Ok(()),
            Values::Long(long) if long.count == long.values.len() => {
                self.write_as::<Int64Type>(&long.values, None, out)
            }
            Values::Long(long) => {
                let known = long.values.iter().zip(&long.known).filter(|&(_, &known)| known);
                let values: Vec<i64> = known.map(|(&value, _)| value).collect();
                self.write_as::<Int64Type>(&values, Some(&long.known), out)
            }
            Values::Flag(values) => self.write_as::<BoolType>(values, None, out),
            Values::Wide(wide) => {
                let known: Vec<bool> = wide.iter().map(Option::is_some).collect();
                let bytes = |number: u128| FixedLenByteArray::from(ByteArray::from(number.to_be_bytes().to_vec()));
                let values: Vec<FixedLenByteArray> = wide.iter().flatten().map(|&number| bytes(number)).collect();
                self.write_as::<FixedLenByteArrayType>(&values, Some(&known), out)
            }
        }
    }

    /// Writes values; `known` says of each row whether it has one, where not all have.
    fn write_as<T: DataType>(
        &self,
        values: &[T::T],
        known: Option<&[bool]>,
        out: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let out = out.typed::<T>();
        let all = [1; BATCH_ROWS];
        let Some(known) = known.filter(|_| self.nullable) else {
            return values.chunks(BATCH_ROWS).try_for_each(|values| {
                let levels = all.get(..values.len()).filter(|_| self.nullable);
                out.write_batch(values, levels, None).map(drop)
            });
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

    pub(super) fn clear(&mut self) {
        match &mut self.values {
            Values::Coded(coded) => coded.clear(),
            Values::Long(long) => {
                long.values.clear();
                long.known.clear();
                long.nothing.clear();
                long.count = 0;
            }
            Values::Flag(values) => values.clear(),
            Values::Wide(values) => values.clear(),
        }
    }
}

impl Long {
    #[inline]
    fn put(&mut self, bits: &[u64], known: &[bool]) {
        self.values.extend(bits.iter().map(|bits| bits.cast_signed()));
        self.known.extend_from_slice(known);
        self.count += known.iter().filter(|&&known| known).count();
    }

    /// As many rows without a value: a dictionary of nothing is shorter than differences of nothing.
    fn nothing(&mut self) -> &Coded {
        self.nothing.clear();
        self.nothing.put_nothing(self.values.len());
        &self.nothing
    }
}

fn sort<T: Copy>(values: &mut Vec<T>, order: &[u32], scratch: &mut Vec<T>) {
    scratch.clear();
    scratch.extend(order.iter().filter_map(|&row| values.get(row as usize)));
    std::mem::swap(values, scratch);
}
