//! A dictionary-coded column as a Parquet column chunk: a page of its values and a page of codes.
//!
//! The crate's own writer copies each value and looks it up, which took most of the time of a row. Here equal values are known already.
//! Pages and metadata are the crate's.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::coded::{Coded, NONE, Range};
use super::runs;
use crate::error::Cause;

/// Longer texts are not stored as bounds: the file's index would repeat them for each row group.
const MOST_BOUND: usize = 64;

/// Compression level. Codes are bit-packed already, so higher levels cost more than they save. A file of a `mixed` run is a twentieth
/// larger than at level 1, and a row costs a fifteenth less.
const LEVEL: i32 = -1;

/// Packs pages.
pub(super) struct Packing {
    packer: zstd::bulk::Compressor<'static>,
    level: ZstdLevel,
}

impl Packing {
    /// `level` is that of the file's other columns: a reader cannot see which level compressed a page.
    pub(super) fn new(level: i32) -> Result<Self, Cause> {
        Ok(Self { packer: zstd::bulk::Compressor::new(LEVEL)?, level: ZstdLevel::try_new(level)? })
    }

    /// The chunk of a column.
    pub(super) fn chunk(
        &mut self,
        column: ColumnDescPtr,
        coded: &mut Coded,
    ) -> Result<(Bytes, ColumnCloseResult), Cause> {
        let rows = u32::try_from(coded.codes.len())?;
        let codes = Page::DataPage {
            buf: Bytes::from(codes(coded, column.max_def_level() > 0)?),
            num_values: rows,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let values = Page::DictionaryPage {
            buf: Bytes::copy_from_slice(&coded.plain),
            num_values: coded.distinct,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut bytes = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut bytes);
        let values = pages.write_page(self.packed(values)?)?;
        let codes = pages.write_page(self.packed(codes)?)?;
        pages.close()?;
        let nulls = coded.nulls as u64;
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(Compression::ZSTD(self.level))
            .set_num_values(rows.into())
            .set_total_compressed_size(i64::try_from(values.compressed_size + codes.compressed_size)?)
            .set_total_uncompressed_size(i64::try_from(values.uncompressed_size + codes.uncompressed_size)?)
            .set_dictionary_page_offset(Some(i64::try_from(values.offset)?))
            .set_data_page_offset(i64::try_from(codes.offset)?)
            .set_statistics(statistics(&coded.range, nulls, column.physical_type()))
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: values.bytes_written + codes.bytes_written,
            rows_written: rows.into(),
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((Bytes::from(bytes.into_inner()?), closed))
    }

    fn packed(&mut self, page: Page) -> Result<CompressedPage, Cause> {
        let plain = page.buffer().len();
        let packed = Bytes::from(self.packer.compress(page.buffer())?);
        let page = match page {
            Page::DataPage { num_values, encoding, def_level_encoding, rep_level_encoding, statistics, .. } => {
                Page::DataPage { buf: packed, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
            }
            Page::DictionaryPage { num_values, encoding, is_sorted, .. } => {
                Page::DictionaryPage { buf: packed, num_values, encoding, is_sorted }
            }
            Page::DataPageV2 { .. } => return Err("unexpected data page of version 2".into()),
        };
        Ok(CompressedPage::new(page, plain))
    }
}

/// Which rows have a value, where not all must; then the width of the codes, and these.
fn codes(coded: &mut Coded, nullable: bool) -> Result<Vec<u8>, Cause> {
    let mut page = Vec::new();
    let (rows, nulls) = (coded.codes.len(), coded.nulls);
    if nullable {
        page.extend([0; size_of::<u32>()]);
        if nulls == 0 || nulls == rows {
            runs::run(rows, u32::from(nulls == 0), 1, &mut page);
        } else {
            let levels: Vec<u32> = coded.codes.spread().iter().map(|&code| u32::from(code != NONE)).collect();
            runs::encode(&levels, 1, &mut page);
        }
        let length = u32::try_from(page.len() - size_of::<u32>())?.to_le_bytes();
        page.iter_mut().zip(length).for_each(|(place, byte)| *place = byte);
    }
    let width = runs::width_of(coded.distinct.saturating_sub(1));
    page.push(u8::try_from(width)?);
    if coded.distinct <= 1 {
        runs::run(rows - nulls, 0, width, &mut page);
    } else if nulls == 0 {
        runs::encode(coded.codes.spread(), width, &mut page);
    } else {
        let known: Vec<u32> = coded.codes.spread().iter().copied().filter(|&code| code != NONE).collect();
        runs::encode(&known, width, &mut page);
    }
    Ok(page)
}

/// Unsigned numbers are stored as signed ones.
fn statistics(range: &Range, nulls: u64, physical: Type) -> Statistics {
    let nulls = Some(nulls);
    let (least, greatest) = match *range {
        Range::Numbers(least, greatest) => (Some(least), Some(greatest)),
        _ => (None, None),
    };
    match physical {
        Type::INT32 => {
            let bits = |number: u64| (number as u32).cast_signed();
            Statistics::int32(least.map(bits), greatest.map(bits), None, nulls, false)
        }
        Type::INT64 => {
            Statistics::int64(least.map(u64::cast_signed), greatest.map(u64::cast_signed), None, nulls, false)
        }
        _ => {
            let (least, greatest) = match range {
                Range::Texts(least, greatest) if least.len().max(greatest.len()) <= MOST_BOUND => {
                    (Some(ByteArray::from(&**least)), Some(ByteArray::from(&**greatest)))
                }
                _ => (None, None),
            };
            Statistics::byte_array(least, greatest, None, nulls, false)
        }
    }
}
