//! The cells of one column since the last row group.

use parquet::data_type::{BoolType, ByteArray, DataType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use plimsoll_model::{Names, Transaction};

use super::alike::Alike;
use super::climbs;
use super::coded::Coded;
use crate::columns::{Bits, Cell, Column, ColumnKind, Field, Keys, Labels, Of};
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
    Flag(Alike<bool>),
    Wide(Vec<Option<u128>>),
}

/// Numbers that climb.
struct Long {
    /// One per row, 0 for none.
    values: Alike<i64>,
    known: Alike<bool>,
    /// Number of known values.
    count: usize,
    /// Placeholder if there are none.
    nothing: Coded,
}

/// Room that all columns use in turn.
#[derive(Default)]
pub(super) struct Scratch {
    bits: Bits,
    keys: Keys,
    codes: Vec<u32>,
    values: Vec<i64>,
    flags: Vec<bool>,
}

impl Gathered {
    pub(super) fn new(column: &Field) -> Self {
        let long =
            || Box::new(Long { values: Alike::new(), known: Alike::new(), count: 0, nothing: Coded::numbers(8) });
        let values = match column.kind {
            _ if climbs(column) => Values::Long(long()),
            ColumnKind::Text => Values::Coded(Box::new(Coded::texts())),
            ColumnKind::U64 => Values::Coded(Box::new(Coded::numbers(8))),
            ColumnKind::U32 => Values::Coded(Box::new(Coded::numbers(4))),
            ColumnKind::Instant => Values::Long(long()),
            ColumnKind::Flag => Values::Flag(Alike::new()),
            ColumnKind::Wide => Values::Wide(Vec::new()),
        };
        Self { values, nullable: column.nullable }
    }

    /// Takes a cell for `count` rows. Parquet stores unsigned numbers as signed ones.
    #[inline]
    pub(super) fn put(&mut self, column: &Field, cell: Cell<'_>, rows: usize) -> Result<(), Cause> {
        if cell == Cell::Null && !column.nullable {
            return Err(format!("column {} has no value", column.name).into());
        }
        match (&mut self.values, cell) {
            (Values::Coded(coded), Cell::Number(number)) => coded.put_same_number(Some(number), rows)?,
            (Values::Coded(coded), Cell::Text(text)) => coded.put_any_text(text, rows)?,
            (Values::Coded(coded), Cell::Null) => coded.put_nothing(rows),
            (Values::Long(long), Cell::Number(bits)) => long.put_same(Some(bits), rows),
            (Values::Long(long), Cell::Instant(instant)) => long.put_same(Some(instant.cast_unsigned()), rows),
            (Values::Long(long), Cell::Null) => long.put_same(None, rows),
            (Values::Flag(values), Cell::Flag(flag)) => values.put_same(flag, rows),
            (Values::Wide(values), Cell::Wide(number)) => values.extend(std::iter::repeat_n(Some(number), rows)),
            (Values::Wide(values), Cell::Null) => values.extend(std::iter::repeat_n(None, rows)),
            _ => return Err(format!("column {} cannot hold {cell:?}", column.name).into()),
        }
        Ok(())
    }

    /// Takes a number a row.
    pub(super) fn put_each(&mut self, column: &Field, numbers: &[u64]) -> Result<(), Cause> {
        match &mut self.values {
            Values::Coded(coded) => coded.put_numbers(numbers.iter().copied().map(Some)),
            _ => numbers.iter().try_for_each(|&number| self.put(column, Cell::Number(number), 1)),
        }
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
                keys(rows, &mut scratch.keys);
                let mut text = |place: usize| text(&labels.row(rows.get(place).copied()?, names)).map(str::to_owned);
                match scratch.keys.same {
                    Some(key) => coded.put_same_text(key, rows.len(), || text(0))?,
                    None => coded.put_texts(&scratch.keys.each, text)?,
                }
            }
            (values, Of::Bits { all, .. }) => {
                all(rows, &mut scratch.bits);
                let Bits { same, values: bits, known } = &scratch.bits;
                match (values, *same) {
                    (Values::Coded(coded), Some(number)) => coded.put_same_number(number, rows.len())?,
                    (Values::Coded(coded), None) => {
                        coded.put_numbers(bits.iter().zip(known).map(|(&bits, &known)| known.then_some(bits)))?;
                    }
                    (Values::Long(long), Some(number)) => long.put_same(number, rows.len()),
                    (Values::Long(long), None) => long.put(bits, known),
                    (Values::Flag(flags), Some(flag)) => flags.put_same(flag.is_some_and(|bits| bits != 0), rows.len()),
                    (Values::Flag(flags), None) => flags.put(bits.iter().map(|&bits| bits != 0)),
                    (Values::Wide(_), _) => {
                        return Err(format!("column {} does not belong to a transactions table", column.name).into());
                    }
                }
            }
            _ => return Err(format!("column {} is not a text column", column.name).into()),
        }
        Ok(())
    }

    /// Puts the rows in order, where they came in another.
    pub(super) fn sort(&mut self, order: Option<&[u32]>, scratch: &mut Scratch) -> Result<(), Cause> {
        let Some(order) = order else { return Ok(()) };
        match &mut self.values {
            Values::Coded(coded) => sort(&mut coded.codes, order, &mut scratch.codes),
            Values::Long(long) => {
                sort(&mut long.values, order, &mut scratch.values)?;
                sort(&mut long.known, order, &mut scratch.flags)
            }
            Values::Flag(flags) => sort(flags, order, &mut scratch.flags),
            Values::Wide(_) => Err("this column cannot be sorted: only histogram and interval tables have it".into()),
        }
    }

    /// A chunk that we write ourselves.
    pub(super) fn coded(&mut self) -> Option<&mut Coded> {
        match &mut self.values {
            Values::Coded(coded) => Some(coded),
            Values::Long(long) if long.count == 0 => Some(long.nothing()),
            _ => None,
        }
    }

    /// All others.
    pub(super) fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let nullable = self.nullable;
        match &mut self.values {
            Values::Coded(_) => Ok(()),
            Values::Long(long) if long.count == long.values.len() => {
                write::<Int64Type>(long.values.spread(), None, nullable, out)
            }
            Values::Long(long) => {
                let (values, known) = (long.values.spread(), long.known.spread());
                let of_known = values.iter().zip(&*known).filter(|&(_, &known)| known);
                let values: Vec<i64> = of_known.map(|(&value, _)| value).collect();
                write::<Int64Type>(&values, Some(known), nullable, out)
            }
            Values::Flag(values) => write::<BoolType>(values.spread(), None, nullable, out),
            Values::Wide(wide) => {
                let known: Vec<bool> = wide.iter().map(Option::is_some).collect();
                let bytes = |number: u128| FixedLenByteArray::from(ByteArray::from(number.to_be_bytes().to_vec()));
                let values: Vec<FixedLenByteArray> = wide.iter().flatten().map(|&number| bytes(number)).collect();
                write::<FixedLenByteArrayType>(&values, Some(&known), nullable, out)
            }
        }
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
    fn put_same(&mut self, bits: Option<u64>, rows: usize) {
        self.values.put_same(bits.unwrap_or(0).cast_signed(), rows);
        self.known.put_same(bits.is_some(), rows);
        self.count += if bits.is_some() { rows } else { 0 };
    }

    #[inline]
    fn put(&mut self, bits: &[u64], known: &[bool]) {
        self.values.put(bits.iter().map(|bits| bits.cast_signed()));
        self.known.put(known.iter().copied());
        self.count += known.iter().filter(|&&known| known).count();
    }

    /// As many rows without a value: a dictionary of nothing is shorter than differences of nothing.
    fn nothing(&mut self) -> &mut Coded {
        self.nothing.clear();
        self.nothing.put_nothing(self.values.len());
        &mut self.nothing
    }
}

/// `order` has each row once.
fn sort<T: Copy + PartialEq + Default>(
    values: &mut Alike<T>,
    order: &[u32],
    scratch: &mut Vec<T>,
) -> Result<(), Cause> {
    let Some(values) = values.different() else { return Ok(()) };
    if values.len() != order.len() {
        return Err("the columns differ in their number of rows".into());
    }
    scratch.clear();
    scratch.extend(order.iter().map(|&row| values.get(row as usize).copied().unwrap_or_default()));
    std::mem::swap(values, scratch);
    Ok(())
}

/// Writes values; `known` says of each row whether it has one, where not all have.
fn write<T: DataType>(
    values: &[T::T],
    known: Option<&[bool]>,
    nullable: bool,
    out: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let out = out.typed::<T>();
    let all = [1; BATCH_ROWS];
    let Some(known) = known.filter(|_| nullable) else {
        return values.chunks(BATCH_ROWS).try_for_each(|values| {
            let levels = all.get(..values.len()).filter(|_| nullable);
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
