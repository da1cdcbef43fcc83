//! The table as CSV (RFC 4180): a header row, `\n` after each row, numbers plain, an empty field where a value is
//! not known, quotes where the `csv` crate finds them needed.
//!
//! Names come from traffic of other people and are written as they were. A program that takes a field beginning with
//! `=`, `+`, `-` or `@` for a formula (spreadsheets do) will take it so here too: a prefix against that would
//! falsify the data, so import such columns as text, or use Parquet.
//! An empty name and an unknown one look alike in CSV; Parquet tells them apart.

use std::fs::File;
use std::io::{self, Write as _};

use crate::columns::{COLUMNS, Cell, Row};
use crate::error::Cause;

/// Bytes gathered before they go to the file.
const BUFFER_BYTES: usize = 256 << 10;

pub(crate) struct CsvTable {
    out: csv::Writer<File>,
    number: itoa::Buffer,
}

impl CsvTable {
    pub(crate) fn new(file: File) -> Result<Self, Cause> {
        let mut out = csv::WriterBuilder::new().buffer_capacity(BUFFER_BYTES).from_writer(file);
        out.write_record(COLUMNS.iter().map(|column| column.name)).map_err(io::Error::from)?;
        Ok(Self { out, number: itoa::Buffer::new() })
    }

    pub(crate) fn put(&mut self, row: &Row<'_>) -> Result<(), Cause> {
        for column in &COLUMNS {
            let field = match column.cell(row) {
                Cell::Null => "",
                Cell::Text(text) => text,
                Cell::Number(number) => self.number.format(number),
                Cell::Wide(number) => self.number.format(number),
                Cell::Instant(instant) => self.number.format(instant),
                Cell::Flag(flag) => ["false", "true"][usize::from(flag)],
            };
            self.out.write_field(field).map_err(io::Error::from)?;
        }
        Ok(self.out.write_record(None::<&[u8]>).map_err(io::Error::from)?)
    }

    pub(crate) fn finish(self) -> Result<File, Cause> {
        let mut file = self.out.into_inner().map_err(|error| error.error().to_string())?;
        file.flush()?;
        Ok(file)
    }
}
