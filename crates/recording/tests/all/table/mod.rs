//! The transactions table, written and read again: by the `parquet` and `csv` crates' readers here, by DuckDB and
//! pandas in `outside.rs`.

mod outside;
pub(crate) mod samples;

use std::fs::{self, File};
use std::path::Path;

use parquet::basic::Repetition;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Field, Row};
use plimsoll_model::{Names, Procedure, Sink, Transaction};
use plimsoll_recording::{
    ColumnKind, RecordingError, TableFormat, TransactionsFile, Written, columns, read_transactions,
};

/// The contract of the design, written out again by hand: an accidental change of `columns.rs` fails here.
const CONTRACT: &str = "protocol procedure operation group client server connection session share path user id \
    compound_position status outcome payload_bytes request_bytes response_bytes request_packets response_packets \
    intended_ns request_first_ns request_last_ns interim_ns response_first_ns response_last_ns request_first_frame \
    request_last_frame response_first_frame response_last_frame vantage level long_lived counted resent_wait_ns \
    file offset asked_bytes disposition access second_path client_index";

fn write(path: &Path, transactions: &[Transaction], names: &Names) -> Written {
    let mut file = TransactionsFile::new(File::create(path).unwrap(), TableFormat::of(path).unwrap()).unwrap();
    for transaction in transactions {
        file.transaction(transaction, names);
    }
    file.finish().unwrap()
}

fn read_parquet(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap()
}

fn read_csv(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(column, _)| column.as_str() == name).unwrap().1
}

#[test]
fn the_columns_are_the_contracts() {
    assert_eq!(columns().map(|(name, _)| name).collect::<Vec<_>>(), CONTRACT.split_whitespace().collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let (parquet, csv) = (folder.path().join("t.parquet"), folder.path().join("t.csv"));
    write(&parquet, &[], &Names::default());
    write(&csv, &[], &Names::default());
    assert_eq!(fs::read_to_string(csv).unwrap(), CONTRACT.split_whitespace().collect::<Vec<_>>().join(",") + "\n");
    let reader = SerializedFileReader::new(File::open(parquet).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    assert_eq!(
        schema.columns().iter().map(|c| c.name()).collect::<Vec<_>>(),
        CONTRACT.split_whitespace().collect::<Vec<_>>()
    );
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn parquet_holds_every_value_of_a_full_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut names = Names::default();
    let transaction = samples::full(&mut names, "dir\\file.txt");
    let written = write(&path, &[transaction], &names);
    assert_eq!(written, Written { rows: 1, bytes: fs::metadata(&path).unwrap().len() });
    let rows = read_parquet(&path);
    let row = &rows[0];
    let text = |name: &str| match field(row, name) {
        Field::Str(text) => text.clone(),
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!(text("protocol"), "SMB2");
    assert_eq!(text("client"), "192.0.2.7:49152");
    assert_eq!(text("server"), "[2001:db8::1]:445");
    assert_eq!(text("session"), "0xfedcba9876543210");
    assert_eq!(text("share"), "\\\\server\\share");
    assert_eq!(text("path"), "dir\\file.txt");
    assert_eq!(text("user"), "DOMAIN\\user");
    assert_eq!(text("outcome"), "refused");
    assert_eq!(text("vantage"), "wire");
    assert_eq!(text("disposition"), "overwrite_or_create");
    assert_eq!(text("access"), "read_write");
    assert_eq!(text("second_path"), "other\\name");
    assert_eq!(*field(row, "file"), Field::ULong(u64::MAX));
    assert_eq!(*field(row, "offset"), Field::ULong(1 << 40));
    assert_eq!(*field(row, "asked_bytes"), Field::ULong(4096));
    assert_eq!(*field(row, "client_index"), Field::UInt(7));
    assert_eq!(*field(row, "connection"), Field::UInt(u32::MAX));
    assert_eq!(*field(row, "id"), Field::ULong(u64::MAX - 1));
    assert_eq!(*field(row, "status"), Field::UInt(0xC000_0034));
    assert_eq!(*field(row, "compound_position"), Field::UInt(2));
    assert_eq!(*field(row, "payload_bytes"), Field::ULong(65536));
    assert_eq!(*field(row, "request_packets"), Field::UInt(46));
    assert_eq!(*field(row, "response_last_frame"), Field::ULong(1 << 40));
    assert_eq!(*field(row, "level"), Field::UInt(4));
    assert_eq!(*field(row, "long_lived"), Field::Bool(true));
    let instants = "intended_ns request_first_ns request_last_ns interim_ns response_first_ns response_last_ns";
    for (i, name) in instants.split(' ').enumerate() {
        // The record reader knows no nanoseconds; it gives the plain number.
        assert_eq!(*field(row, name), Field::Long(1_700_000_000_000_000_000 + i as i64), "{name}");
    }
}

#[test]
fn what_is_not_known_is_null_and_never_zero() {
    let folder = tempfile::tempdir().unwrap();
    let (parquet, csv) = (folder.path().join("t.parquet"), folder.path().join("t.csv"));
    write(&parquet, &[samples::bare()], &Names::default());
    write(&csv, &[samples::bare()], &Names::default());
    let reader = SerializedFileReader::new(File::open(&parquet).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr().root_schema().clone();
    let rows = read_parquet(&parquet);
    let csv = read_csv(&csv);
    let mut nulls = 0;
    for (i, column) in schema.get_fields().iter().enumerate() {
        let optional = column.get_basic_info().repetition() == Repetition::OPTIONAL;
        let name = column.name();
        assert_eq!(*field(&rows[0], name) == Field::Null, optional, "{name}");
        assert_eq!(csv[1][i].is_empty(), optional, "{name}");
        nulls += u32::from(optional);
    }
    assert_eq!(nulls, 33);
}

#[test]
fn both_formats_hold_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (parquet, csv) = (folder.path().join("t.parquet"), folder.path().join("t.csv"));
    let mut names = Names::default();
    let transactions = [samples::full(&mut names, "a"), samples::bare(), samples::full(&mut names, "b")];
    write(&parquet, &transactions, &names);
    write(&csv, &transactions, &names);
    let rows = read_csv(&csv);
    assert_eq!(rows.len(), 4);
    for (row, fields) in read_parquet(&parquet).iter().zip(&rows[1..]) {
        for ((name, kind), csv) in columns().zip(fields) {
            let parquet = match field(row, name) {
                Field::Null => String::new(),
                Field::Str(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(parquet, *csv, "{name} {kind:?}");
            assert!(kind != ColumnKind::U64 || csv.bytes().all(|b| b.is_ascii_digit()), "{name} is plain: {csv}");
        }
    }
}

/// More rows than a row group has, more values than are remembered at once.
#[test]
fn both_formats_hold_the_same_rows_whatever_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (parquet, csv) = (folder.path().join("t.parquet"), folder.path().join("t.csv"));
    let mut names = Names::default();
    let transactions = samples::varied(&mut names, 70_000);
    write(&parquet, &transactions, &names);
    write(&csv, &transactions, &names);
    let (rows, expected) = (read_parquet(&parquet), read_csv(&csv));
    assert_eq!((rows.len(), expected.len()), (70_000, 70_001));
    for (place, (row, fields)) in rows.iter().zip(&expected[1..]).enumerate() {
        for ((name, found), expected) in row.get_column_iter().zip(fields) {
            let found = match found {
                Field::Null => String::new(),
                Field::Str(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(found, *expected, "{name} of row {place}");
        }
    }
}

/// Rows that were read are written unchanged.
#[test]
fn both_formats_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut names = Names::default();
    let mut transactions = samples::varied(&mut names, 70_000);
    transactions.extend(
        Procedure::all().map(|procedure| Transaction { procedure, ..samples::full(&mut Names::default(), "") }),
    );
    for t in &mut transactions[70_000..] {
        (t.share, t.path, t.user) = Default::default();
    }
    write(&path("t.parquet"), &transactions, &names);
    write(&path("t.csv"), &transactions, &names);
    let expected = fs::read(path("t.csv")).unwrap();
    for name in ["t.parquet", "t.csv"] {
        let (mut again, mut read) = (Names::default(), Vec::new());
        let rows = read_transactions(&path(name), &mut again, &mut read).unwrap();
        assert_eq!(rows, transactions.len() as u64);
        write(&path("again.csv"), &read, &again);
        assert!(fs::read(path("again.csv")).unwrap() == expected, "{name}");
    }
}

/// Of a table from before `file` and the columns behind it, those are not known; one that a reader needs must be there.
#[test]
fn tables_without_the_columns_that_came_later_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut names = Names::default();
    let transaction = samples::full(&mut names, "a");
    write(&path("t.parquet"), std::slice::from_ref(&transaction), &names);
    write(&path("t.csv"), std::slice::from_ref(&transaction), &names);
    let first_later = columns().position(|(name, _)| name == "file").unwrap();
    let mut older = transaction;
    (older.asked, older.client_index) = Default::default();
    for (columns, whole) in [(first_later, true), (first_later - 1, false)] {
        first_columns(&path("t.parquet"), &path("older.parquet"), columns);
        let rows: Vec<String> = read_csv(&path("t.csv")).iter().map(|row| row[..columns].join(",")).collect();
        fs::write(path("older.csv"), rows.join("\n")).unwrap();
        for name in ["older.parquet", "older.csv"] {
            let (mut names, mut read) = (Names::default(), Vec::new());
            let rows = read_transactions(&path(name), &mut names, &mut read);
            assert_eq!(rows.is_ok(), whole, "{name}");
            assert!(!whole || format!("{read:?}") == format!("{:?}", [&older]), "{name}: {read:?}");
        }
    }
}

/// Copies the first `count` columns of a Parquet table.
fn first_columns(from: &Path, to: &Path, count: usize) {
    let file = File::open(from).unwrap();
    let reader = SerializedFileReader::new(file.try_clone().unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    let fields = schema.get_fields()[..count].to_vec();
    let schema = parquet::schema::types::Type::group_type_builder("t").with_fields(fields).build().unwrap();
    let to = File::create(to).unwrap();
    let mut writer = SerializedFileWriter::new(to, schema.into(), WriterProperties::default().into()).unwrap();
    let group = reader.metadata().row_group(0);
    let mut out = writer.next_row_group().unwrap();
    for column in &group.columns()[..count] {
        let (_, bytes_written) = column.byte_range();
        let rows_written = group.num_rows() as u64;
        let metadata = column.clone();
        let (bloom_filter, column_index, offset_index) = (None, None, None);
        let closed =
            ColumnCloseResult { bytes_written, rows_written, metadata, bloom_filter, column_index, offset_index };
        out.append_column(&file, closed).unwrap();
    }
    out.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn what_is_no_table_is_an_error_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut names = Names::default();
    write(&path("t.csv"), &[samples::full(&mut names, "a"), samples::bare()], &names);
    write(&path("t.parquet"), &[samples::full(&mut names, "a"), samples::bare()], &names);
    let whole = fs::read_to_string(path("t.csv")).unwrap();
    let read = |name: &str| {
        let read = read_transactions(&path(name), &mut Names::default(), &mut Vec::new());
        read.map_err(|error| format!("{error}: {}", std::error::Error::source(&error).unwrap()))
    };
    for (from, to, why) in [
        ("protocol,", "protocoll,", "no column protocol"),
        ("SMB2,CREATE", "SMB2,CREATED", "row 1: column procedure: expected the name of a procedure"),
        ("192.0.2.7:49152", "192.0.2.7", "row 1: column client: expected address:port"),
        ("unanswered", "forgotten", "row 2: column outcome: expected one of [\"succeeded\", \"expected\""),
        (",65536,", ",-1,", "row 1: column payload_bytes"),
        (",4294967295,", ",4294967296,", "row 1: column connection: expected a smaller number"),
        ("false", "", "row 2: column long_lived: expected true or false"),
        ("overwrite_or_create", "write", "row 1: column disposition: expected one of [\"supersede\", \"open\""),
    ] {
        fs::write(path("damaged.csv"), whole.replacen(from, to, 1)).unwrap();
        let error = read("damaged.csv").unwrap_err();
        assert!(error.contains(why) && error.contains("damaged.csv"), "{error}");
    }
    let bytes = fs::read(path("t.parquet")).unwrap();
    for length in (0..bytes.len()).step_by(bytes.len() / 30) {
        fs::write(path("cut.parquet"), &bytes[..length]).unwrap();
        assert!(read("cut.parquet").is_err(), "{length} of {}", bytes.len());
    }
    assert!(read("missing.csv").is_err());
}

/// What readers leave out whole row groups by.
#[test]
fn row_groups_tell_their_bounds_and_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut names = Names::default();
    let long = "x".repeat(100);
    let mut transactions = vec![samples::full(&mut names, "b"), samples::bare(), samples::full(&mut names, "a")];
    transactions[0].payload_bytes = Some(u64::MAX);
    transactions[0].share = names.intern(&long);
    write(&path, &transactions, &names);
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    let of = |name: &str| {
        let column = group.columns().iter().find(|column| column.column_path().string() == name).unwrap();
        let found = column.statistics().unwrap().clone();
        let bytes = |bound: Option<&[u8]>| bound.map(<[u8]>::to_vec);
        (bytes(found.min_bytes_opt()), bytes(found.max_bytes_opt()), found.null_count_opt())
    };
    assert_eq!(of("path"), (Some(b"a".to_vec()), Some(b"b".to_vec()), Some(1)));
    assert_eq!(of("share"), (None, None, Some(1)), "too long to be a bound");
    let bytes = |number: u64| Some(number.to_le_bytes().to_vec());
    assert_eq!(of("payload_bytes"), (bytes(65_536), bytes(u64::MAX), Some(1)), "unsigned");
    assert_eq!(of("long_lived").2, Some(0));
}

#[test]
fn hostile_names_survive_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (parquet, csv) = (folder.path().join("t.parquet"), folder.path().join("t.csv"));
    let mut names = Names::default();
    let transactions = samples::NASTY.map(|name| samples::full(&mut names, name));
    write(&parquet, &transactions, &names);
    write(&csv, &transactions, &names);
    let path = columns().position(|(name, _)| name == "path").unwrap();
    let from_csv: Vec<String> = read_csv(&csv)[1..].iter().map(|row| row[path].clone()).collect();
    assert_eq!(from_csv, samples::NASTY);
    let from_parquet: Vec<Field> = read_parquet(&parquet).iter().map(|row| field(row, "path").clone()).collect();
    assert_eq!(from_parquet, samples::NASTY.map(|name| Field::Str(name.to_owned())), "an empty name is no null");
}

#[test]
fn another_ending_is_an_error_that_names_both() {
    for name in ["t.json", "t", ".csv", "t.parquet.gz"] {
        let error = TableFormat::of(Path::new(name)).expect_err(name);
        assert!(matches!(error, RecordingError::UnknownFormat { .. }), "{error:?}");
        assert!(error.to_string().contains(".parquet") && error.to_string().contains(".csv"), "{error}");
    }
    assert!(TableFormat::of(Path::new("T.CSV")).is_ok(), "case does not matter");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_when_finished() {
    for format in [TableFormat::Parquet, TableFormat::Csv] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut file = TransactionsFile::new(full, format).unwrap();
        for _ in 0..70_000 {
            file.transaction(&samples::bare(), &Names::default());
        }
        assert!(file.failed(), "{format:?}");
        let error = file.finish().unwrap_err();
        assert!(matches!(error, RecordingError::Write { .. }), "{error:?}");
        assert!(error.to_string().contains("No space left"), "{error}");
    }
}
