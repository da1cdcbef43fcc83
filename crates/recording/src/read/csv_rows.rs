//! Rows of a CSV table.

use std::fs::File;

use plimsoll_model::{Names, Sink};

use super::row::{COUNT, RowReader, Value};
use crate::columns::{COLUMNS, Column, ColumnKind, REQUIRED};
use crate::error::Cause;

pub(super) fn read(file: File, rows: &mut RowReader, names: &mut Names, sink: &mut dyn Sink) -> Result<u64, Cause> {
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers()?;
    let place = |(number, column): (usize, &Column)| {
        let place = header.iter().position(|other| other == column.name);
        if place.is_none() && number < REQUIRED { Err(format!("no column {}", column.name)) } else { Ok(place) }
    };
    let places = COLUMNS.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()?;
    let mut record = csv::StringRecord::new();
    let mut count = 0;
    while reader.read_record(&mut record)? {
        count += 1;
        let mut all = [Value::Null; COUNT];
        for ((value, column), place) in all.iter_mut().zip(&COLUMNS).zip(&places) {
            let field = place.and_then(|place| record.get(place)).unwrap_or_default();
            let read = value_of(field, column.kind);
            *value = read.ok_or_else(|| format!("row {count}: column {}: invalid value {field:?}", column.name))?;
        }
        let transaction = rows.transaction(all, names).map_err(|wrong| format!("row {count}: {wrong}"))?;
        sink.transaction(&transaction, names);
    }
    Ok(count)
}

/// An empty field means unknown.
fn value_of(field: &str, kind: ColumnKind) -> Option<Value<'_>> {
    if field.is_empty() {
        return Some(Value::Null);
    }
    match kind {
        ColumnKind::Text => Some(Value::Text(field)),
        ColumnKind::Instant => field.parse::<i64>().ok().map(|ns| Value::Bits(ns.cast_unsigned())),
        ColumnKind::Flag => field.parse::<bool>().ok().map(|flag| Value::Bits(flag.into())),
        ColumnKind::U64 | ColumnKind::U32 => field.parse().ok().map(Value::Bits),
        ColumnKind::Wide => None,
    }
}
