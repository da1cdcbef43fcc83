//! The recording of a watch is read while it grows: it has the numbers of the packets so far. At its end it is that of `analyze`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::recorded_sql::{can_import, python};

const SECONDS: u32 = 60;

/// Removes the warning about a recording that is not finished, and everything with the name of an input: `next` are commands.
fn leave_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !["name", "source", "warnings", "next"].contains(&name.as_str()));
            fields.values_mut().for_each(leave_out);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out),
        _ => {}
    }
}

/// A command in this folder, and the side of its report.
fn side(folder: &Path, arguments: &[&str]) -> Option<Value> {
    let ended = output(crate::plimsoll().args(arguments).args(["--utc", "-q", "--json", "-"]).current_dir(folder));
    let numbers = |mut side: Value| {
        leave_out(&mut side);
        side
    };
    matches!(ended.status.code(), Some(0 | 4)).then(|| numbers(crate::only_side(&ended.stdout)))
}

/// The bytes of a capture up to the end of this record.
fn end_of(capture: &[u8], records: usize) -> usize {
    (0..records).fold(24, |at, _| at + 16 + u32::from_le_bytes(*capture[at + 8..].first_chunk().unwrap()) as usize)
}

/// The files of a finished level.
fn files(recording: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(recording.join("level-0000")).unwrap().map(|entry| entry.unwrap());
    let content =
        |entry: std::fs::DirEntry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    entries.map(content).collect()
}

/// The sum of all rows so far of the table of intervals.
fn operations_in_sql(folder: &Path) -> String {
    let sql = "import duckdb; print(duckdb.sql(\"select sum(i.count)::bigint, (select sum(count)::bigint from \
        'R/level-*/histograms.parquet') from 'R/level-*/intervals.parquet' i\").fetchall()[0])";
    let asked = output(python().args(["-c", sql]).current_dir(folder));
    assert!(asked.status.success(), "{asked:?}");
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_recording_of_a_watch_is_read_while_it_grows() {
    let scratch = Scratch::new("watch-recorded");
    let (folder, capture) = (scratch.path(), crate::watch::capture(SECONDS));
    // Three packets open the connection.
    let cuts = [1, 2].map(|third| end_of(&capture, 3 + (16 * SECONDS as usize / 3) * third));
    let has_sql = can_import("duckdb");
    let mut watch = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    watch.args(["watch", "-", "--utc", "--lines", "--record", "R"]);
    watch.args(["--record-transactions", "all", "--json", "watch.json"]);
    let (mut watching, mut pipe) = Running::start_fed(watch.current_dir(folder)).unwrap();
    let mut fed = 0;
    for (number, cut) in (1..).zip(cuts) {
        let (part, recording) = (format!("{number}.pcap"), format!("R{number}"));
        std::fs::write(folder.join(&part), &capture[..cut]).unwrap();
        pipe.write_all(&capture[std::mem::replace(&mut fed, cut)..cut]).unwrap();
        let whole = side(folder, &["analyze", &part, "--record", &recording]).unwrap();
        let ended = watching.wait_until(|_| side(folder, &["report", "R"]).is_some_and(|so_far| so_far == whole));
        assert_eq!(ended, None, "{:?}\n{whole:#}", side(folder, &["report", "R"]));
        let mut compare = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let compared = output(compare.args(["compare", &recording, "R", "--utc"]).current_dir(folder));
        let said = String::from_utf8_lossy(&compared.stdout);
        assert!(matches!(compared.status.code(), Some(0 | 4)) && said.contains("is unfinished"), "{compared:?}");
        if has_sql {
            let count = whole["operations"][0]["count"].as_u64().unwrap();
            assert_eq!(operations_in_sql(folder), format!("({count}, {count})"));
        }
    }
    pipe.write_all(&capture[fed..]).unwrap();
    drop(pipe);
    let ended = watching.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");

    std::fs::write(folder.join("all.pcap"), &capture).unwrap();
    let whole = side(folder, &["analyze", "all.pcap", "--record", "A", "--record-transactions", "all"]).unwrap();
    assert_eq!(side(folder, &["report", "R"]), Some(whole));
    let (watched, analyzed) = (files(&folder.join("R")), files(&folder.join("A")));
    assert_eq!(watched.keys().collect::<Vec<_>>(), analyzed.keys().collect::<Vec<_>>());
    let differ = watched.iter().filter(|(name, bytes)| analyzed[*name] != **bytes);
    assert_eq!(differ.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    let left = std::fs::read_dir(folder.join("R")).unwrap().count();
    assert_eq!(left, 2, "the manifest and one level");
}
