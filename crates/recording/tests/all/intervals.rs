//! A later comparison equals an immediate one: intervals read from a recording are unchanged.

use std::fs;
use std::path::Path;

use crate::table::samples;
use plimsoll_model::{Names, Procedure, Protocol, Transaction};
use plimsoll_recording::folder::{
    Finished, FolderError, Machine, Manifest, Progress, Recording, RecordingWriter, SCHEMA, TransactionPolicy,
};
use plimsoll_stats::{IntervalRecorder, IntervalWidth, Intervals};
use serde_json::Value;

const NOON: i64 = 1_700_000_400_000_000_000;
const WORKERS: usize = 3;

fn manifest() -> Manifest {
    let none = || String::new();
    Manifest {
        schema: SCHEMA.to_owned(),
        state: Progress::Running,
        tool: none(),
        command: Vec::new(),
        started_ns: 0,
        ended_ns: None,
        machine: Machine::default(),
        clock: none(),
        transactions: TransactionPolicy { which: "none".to_owned(), one_in: 0, seed: 0, rule: none() },
        validity: None,
        measured: Value::Null,
        levels: Vec::new(),
    }
}

/// `count` operations, `gap_ns` apart, some of which end late.
fn operations(count: i64, gap_ns: i64) -> Vec<Transaction> {
    let one = |i: i64| {
        let mut t = samples::bare();
        let late = if i % 97 == 0 { 3_500_000_000 } else { 0 };
        t.procedure = Procedure::of(Protocol::Nfs3, (i % 5) as u16);
        t.timeline.request_first = Some(NOON + i * gap_ns);
        t.timeline.response_last = Some(NOON + i * gap_ns + 1_000 + (i * 7_919) % 2_000_000 + late);
        t.long_lived = false;
        t
    };
    (0..count).map(one).collect()
}

fn empty(width: Option<IntervalWidth>) -> Intervals {
    width.map_or_else(Intervals::growing, Intervals::new)
}

/// As a comparison keeps them that is made at once: a part a worker, then all together.
fn at_once(all: &[Transaction], width: Option<IntervalWidth>) -> Intervals {
    let mut whole = empty(width);
    for worker in 0..WORKERS {
        let mut recorder = IntervalRecorder::new(empty(width));
        all.iter().skip(worker).step_by(WORKERS).for_each(|t| recorder.record(t));
        whole.merge(&recorder.finish());
    }
    whole
}

/// Through a recording, whose workers pass on finished intervals from time to time.
fn recorded(all: &[Transaction], width: Option<IntervalWidth>, folder: &Path) -> Intervals {
    let mut writer = RecordingWriter::create(folder, manifest(), false).unwrap();
    let mut level = writer.begin(0, width).unwrap();
    let mut workers = [(); WORKERS].map(|()| IntervalRecorder::new(empty(width)));
    for (place, t) in all.iter().enumerate() {
        let worker = &mut workers[place % WORKERS];
        worker.record(t);
        if place % 500 < WORKERS {
            level.intervals(worker.drain_before(t.timeline.response_last.unwrap() - 1_000_000_000));
        }
    }
    workers.into_iter().for_each(|worker| level.rest(&worker.finish()));
    let finished =
        Finished { load_name: None, span_ns: (None, None), state: Vec::new(), about: Value::Null, part: None };
    writer.end(level, finished, &Names::default()).unwrap();
    let recording = Recording::open(folder).unwrap();
    recording.intervals(&recording.manifest.levels[0]).unwrap()
}

#[test]
fn intervals_of_a_recording_are_those_of_the_run() {
    let usual = Some(IntervalWidth::USUAL);
    for (count, gap_ns, width) in [
        (0, 1, usual),
        (30_000, 4_000_000, usual),
        (9_000, 1_000_000, Some(IntervalWidth::NARROW)),
        // Of unknown length: below twenty seconds, and far above.
        (9_000, 1_000_000, None),
        (30_000, 4_000_000, None),
        // Each worker has been at it for less than twenty seconds, all together for more.
        (90, 300_000_000, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let all = operations(count, gap_ns);
        let expected = at_once(&all, width);
        assert_eq!(expected.sum().total().count, all.len() as u64);
        assert_eq!(recorded(&all, width, folder.path()), expected, "{count} operations, {gap_ns} ns apart");
    }
}

#[test]
fn a_recording_that_is_discarded_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    for (folder, stays) in [(scratch.path().join("new"), false), (scratch.path().to_owned(), true)] {
        let writer = RecordingWriter::create(&folder, manifest(), false).unwrap();
        drop(writer.begin(0, None).unwrap());
        writer.discard().unwrap();
        let left = fs::read_dir(&folder).map_or(0, Iterator::count);
        assert_eq!((folder.exists(), left), (stays, 0), "only a folder that was there before stays");
    }
}

#[cfg(unix)]
#[test]
fn a_recording_that_took_the_place_of_a_discarded_one_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("watch");
    let first = RecordingWriter::create(&folder, manifest(), false).unwrap();
    fs::rename(&folder, scratch.path().join("moved")).unwrap();
    let _second = RecordingWriter::create(&folder, manifest(), false).unwrap();
    first.discard().unwrap();
    assert!(folder.join("manifest.json").exists());
}

/// Killed in the first instant, or while an earlier recording was removed: the manifest goes first.
#[test]
fn leftovers_of_a_killed_process_are_named_and_removed_only_with_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&operations(300, 4_000_000), Some(IntervalWidth::USUAL), folder.path());
    fs::rename(folder.path().join("manifest.json"), folder.path().join("manifest.json.new")).unwrap();
    let partial = folder.path().join("level-0001.partial");
    fs::create_dir(&partial).unwrap();
    let tables = ["intervals.parquet.new", "transactions-0000.parquet", "transactions-0001.parquet.new"];
    for name in [&tables[..], &["part.zst", "spans.zst", "progress.zst.new"]].concat() {
        fs::write(partial.join(name), "").unwrap();
    }
    let create = |overwrite| RecordingWriter::create(folder.path(), manifest(), overwrite);
    let refused = create(false).map(drop).unwrap_err();
    assert!(
        matches!(refused, FolderError::Leftovers { .. }) && refused.to_string().contains("--overwrite"),
        "{refused}"
    );
    // Another program has folders of this name, too, and files of these kinds.
    for name in ["photo.jpg", "photos.zst", "sales.parquet"] {
        let mine = folder.path().join("level-0000").join(name);
        fs::write(&mine, "").unwrap();
        for overwrite in [false, true] {
            assert!(matches!(create(overwrite).map(drop), Err(FolderError::NotEmpty { .. })), "{name} {overwrite}");
        }
        assert!(mine.exists());
        fs::remove_file(&mine).unwrap();
    }
    drop(create(true).unwrap());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["manifest.json"]);
}

/// A level may have rows of a thousand clients: a manifest with all of them could not be read.
#[test]
fn levels_with_much_data_are_read_again() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let about = |level: u32| serde_json::json!({"level": level, "clients": vec!["x".repeat(50_000); 90]});
    let end = |writer: &mut RecordingWriter, number: u32| {
        let level = writer.begin(number, None).unwrap();
        let about = if number == 0 { Value::from("little") } else { about(number) };
        let finished = Finished { load_name: None, span_ns: (None, None), state: Vec::new(), about, part: None };
        writer.end(level, finished, &Names::default()).unwrap();
    };
    let mut writer = RecordingWriter::create(folder, manifest(), false).unwrap();
    (0..4).for_each(|number| end(&mut writer, number));
    drop(writer);
    assert!(!folder.join("level-0000/about.json").exists() && folder.join("level-0001/about.json").exists());
    let seen = Recording::open(folder).unwrap().manifest;
    assert_eq!((&seen.levels[0].about, &seen.levels[3].about), (&Value::from("little"), &about(3)));
    // A recording that is continued has them, too, and one that is replaced leaves nothing.
    let mut resumed = RecordingWriter::resume(folder, &seen, |level| level.number < 3).unwrap();
    end(&mut resumed, 3);
    drop(resumed);
    assert_eq!(Recording::open(folder).unwrap().manifest.levels, seen.levels);
    fs::remove_file(folder.join("level-0003/about.json")).unwrap();
    let missing = Recording::open(folder).map(drop).unwrap_err().to_string();
    assert!(missing.contains("level-0003/about.json"), "{missing}");
    RecordingWriter::create(folder, manifest(), true).unwrap().discard().unwrap();
    assert!(folder.join("level-0002/about.json").exists());
}

/// The new recording may never have results: its program fails, or is killed.
#[test]
fn a_recording_stays_until_the_one_that_replaces_it_has_results() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    recorded(&operations(300, 4_000_000), Some(IntervalWidth::USUAL), folder);
    let before = Recording::open(folder).unwrap().manifest;
    let create = || RecordingWriter::create(folder, manifest(), true).unwrap();
    let names = || {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    };
    // Killed twice, then failed.
    for _ in 0..2 {
        let killed = create();
        drop(killed.begin(0, None).unwrap());
    }
    assert_eq!(names(), ["level-0000.partial", "manifest.json", "replaced"]);
    assert_eq!(Recording::open(folder).unwrap().replaced(), Some(folder.join("replaced")));
    // Killed before the new manifest was there.
    fs::remove_file(folder.join("manifest.json")).unwrap();
    let missing = Recording::open(folder).map(drop).unwrap_err().to_string();
    assert!(missing.contains("was killed while it replaced one: name ") && missing.contains("replaced\""), "{missing}");
    create().discard().unwrap();
    assert_eq!(names(), ["level-0000", "manifest.json"]);
    let recording = Recording::open(folder).unwrap();
    assert_eq!(recording.manifest, before);
    recording.intervals(&before.levels[0]).unwrap();
    // A kill while it was moved: its manifest is still there.
    fs::create_dir(folder.join("replaced")).unwrap();
    fs::rename(folder.join("level-0000"), folder.join("replaced/level-0000")).unwrap();
    create().discard().unwrap();
    assert_eq!(names(), ["level-0000", "manifest.json"]);
    // Somebody's file is not moved either.
    fs::create_dir(folder.join("replaced")).unwrap();
    for file in ["replaced/notes.txt", "replaced/manifest.json"] {
        fs::write(folder.join(file), "{}").unwrap();
        let refused = RecordingWriter::create(folder, manifest(), true).map(drop);
        assert!(matches!(refused, Err(FolderError::NotEmpty { .. })), "{file}");
        fs::remove_file(folder.join(file)).unwrap();
    }
    let mut replacing = create();
    let level = replacing.begin(0, None).unwrap();
    assert!(folder.join("replaced/level-0000").exists());
    let finished =
        Finished { load_name: None, span_ns: (None, None), state: Vec::new(), about: Value::Null, part: None };
    replacing.end(level, finished, &Names::default()).unwrap();
    assert_eq!(names(), ["level-0000", "manifest.json"]);
    let recording = Recording::open(folder).unwrap();
    assert_eq!(recording.intervals(&recording.manifest.levels[0]).unwrap().sum().total().count, 0, "the new one");
}

/// Killed with results, while the old recording was removed, and while a recording was moved.
#[test]
fn a_kill_at_any_moment_loses_no_results() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, old) = (scratch.path().join("R"), scratch.path().join("old"));
    let aside = folder.join("replaced");
    for (folder, count) in [(&old, 300), (&folder, 600)] {
        recorded(&operations(count, 4_000_000), Some(IntervalWidth::USUAL), folder);
    }
    let before = Recording::open(&folder).unwrap().manifest;
    let create = || RecordingWriter::create(&folder, manifest(), true).unwrap();
    let count = || {
        let recording = Recording::open(&folder).unwrap();
        recording.intervals(&recording.manifest.levels[0]).unwrap().sum().total().count
    };
    fs::rename(&old, &aside).unwrap();
    create().discard().unwrap();
    assert_eq!((count(), aside.exists()), (600, false), "it had results, so it replaced the old one");
    fs::create_dir_all(aside.join("level-0000")).unwrap();
    fs::write(aside.join("level-0000/statistics.zst"), "").unwrap();
    create().discard().unwrap();
    assert_eq!((count(), aside.exists()), (600, false), "the rest of the old one");
    fs::create_dir(&aside).unwrap();
    fs::rename(folder.join("level-0000"), aside.join("level-0000")).unwrap();
    assert_eq!(count(), 600, "it is read where it is");
    drop(RecordingWriter::resume(&folder, &before, |_| true).unwrap());
    assert_eq!((count(), aside.exists()), (600, false), "its level comes back");
    // No kill, but the new manifest cannot be written.
    let too_long = Manifest { measured: Value::from("x".repeat(65 << 20)), ..manifest() };
    assert!(RecordingWriter::create(&folder, too_long, true).is_err());
    assert_eq!((count(), aside.exists()), (600, false), "it is there again");
    // An error after the results.
    let mut replacing = create();
    let level = replacing.begin(0, None).unwrap();
    let finished =
        Finished { load_name: None, span_ns: (None, None), state: Vec::new(), about: Value::Null, part: None };
    assert!(replacing.can_restore());
    replacing.end(level, finished, &Names::default()).unwrap();
    // The removal of the old one may fail.
    fs::create_dir(&aside).unwrap();
    fs::copy(folder.join("manifest.json"), aside.join("manifest.json")).unwrap();
    assert!(!replacing.can_restore(), "it has results");
    fs::remove_dir_all(&aside).unwrap();
    replacing.discard().unwrap();
    assert_eq!((count(), aside.exists()), (0, false), "the new one stays");
}

/// A user's file in the folder of a level, or in a folder with such a name, is not a recording's.
#[test]
fn files_of_others_stay_whatever_the_names_of_their_folders() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    recorded(&operations(300, 4_000_000), Some(IntervalWidth::USUAL), folder);
    let before = Recording::open(folder).unwrap().manifest;
    fs::create_dir(folder.join("level-2026")).unwrap();
    for mine in ["level-0000/notes.txt", "level-2026/notes.txt"] {
        fs::write(folder.join(mine), "mine").unwrap();
        let overwritten = RecordingWriter::create(folder, manifest(), true).map(drop);
        let resumed = RecordingWriter::resume(folder, &before, |_| false).map(drop);
        for refused in [overwritten, resumed].map(Result::unwrap_err) {
            assert!(matches!(refused, FolderError::NotEmpty { .. }) && refused.to_string().contains(mine), "{refused}");
        }
        assert_eq!(fs::read_to_string(folder.join(mine)).unwrap(), "mine");
        assert_eq!(Recording::open(folder).unwrap().manifest, before);
        fs::remove_file(folder.join(mine)).unwrap();
    }
    // A level that stays may have such a file, and the folder of one that was not finished goes.
    fs::write(folder.join("level-0000/notes.txt"), "mine").unwrap();
    fs::create_dir(folder.join("level-0001.partial")).unwrap();
    fs::write(folder.join("level-0001.partial/progress.zst"), "").unwrap();
    let resumed = RecordingWriter::resume(folder, &before, |_| true).unwrap();
    assert!(!folder.join("level-0001.partial").exists());
    // Nor does the end of a program without results delete it.
    resumed.discard().unwrap();
    assert_eq!(fs::read_to_string(folder.join("level-0000/notes.txt")).unwrap(), "mine");
}

/// Another process adds a level between the decision what stays and the lock: nothing is removed.
#[test]
fn a_recording_that_was_changed_in_the_meantime_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&operations(300, 4_000_000), Some(IntervalWidth::USUAL), folder.path());
    let now = Recording::open(folder.path()).unwrap().manifest;
    let seen = Manifest { levels: Vec::new(), ..now.clone() };
    let refused = RecordingWriter::resume(folder.path(), &seen, |_| false).map(drop).unwrap_err().to_string();
    assert!(refused.contains("in the meantime"), "{refused}");
    assert_eq!(Recording::open(folder.path()).unwrap().manifest, now);
    assert!(folder.path().join("level-0000").exists());
    drop(RecordingWriter::resume(folder.path(), &now, |_| false).unwrap());
    assert!(!folder.path().join("level-0000").exists());
}

#[test]
fn a_file_that_is_cut_off_or_lengthened_is_damaged_and_named() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&operations(3_000, 4_000_000), Some(IntervalWidth::USUAL), folder.path());
    let (recording, file) = (Recording::open(folder.path()).unwrap(), folder.path().join("level-0000/intervals.zst"));
    let whole = fs::read(&file).unwrap();
    let read = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        recording.intervals(&recording.manifest.levels[0])
    };
    for length in (0..whole.len()).step_by(whole.len() / 30) {
        let error = read(&whole[..length]).unwrap_err();
        assert!(matches!(error, FolderError::Damaged { .. }), "{length} of {}: {error}", whole.len());
        assert!(error.to_string().contains("intervals.zst"), "{error}");
    }
    assert!(read(&[&whole[..], b"more"].concat()).is_err());
    assert!(read(&whole).is_ok());
    fs::remove_file(&file).unwrap();
    assert!(recording.intervals(&recording.manifest.levels[0]).unwrap_err().to_string().contains("intervals.zst"));
}
