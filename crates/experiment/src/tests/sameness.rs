//! Whether the recording of a run is that of its parts, merged: bit for bit.

use std::path::Path;

use plimsoll_model::{Names, Procedure};
use plimsoll_recording::folder::Recording;
use plimsoll_report::findings::Findings;
use plimsoll_report::json::{self, Layout};
use plimsoll_results::recording_findings;
use plimsoll_stats::{Accumulator, Statistics};

/// A report as JSON, but for what says how many parts there were, and for numbers of calls (see [`counted`]).
pub(super) fn json_of(mut findings: Findings) -> String {
    let run = findings.run.as_mut().unwrap();
    (run.facts, run.threads) = (Vec::new(), 0);
    let mut text = Vec::new();
    json::write(&findings.into(), Layout::Pretty, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().filter(|line| !line.contains("rpc.xid")).map(|line| format!("{line}\n")).collect()
}

pub(super) fn reported(folder: &Path) -> Findings {
    recording_findings::findings(&Recording::open(folder).unwrap(), plimsoll_client::status_name).unwrap()
}

/// All that is counted at each level, with the same names for all.
pub(super) fn states(folder: &Path, names: &mut Names) -> Vec<Statistics> {
    let recording = Recording::open(folder).unwrap();
    recording.manifest.levels.iter().map(|level| recording.statistics(level, names).unwrap().0).collect()
}

/// What differs of all that statistics hold, but for the slowest, which have random numbers of calls: these are in the report.
pub(super) fn differences(one: &Statistics, other: &Statistics) -> Vec<&'static str> {
    let rows = |rows: &mut dyn Iterator<Item = (Procedure, &Accumulator)>| -> Vec<(Procedure, Accumulator)> {
        rows.map(|(procedure, row)| (procedure, row.clone())).collect()
    };
    let [io, its_io] = [one.io().unwrap(), other.io().unwrap()];
    let same = [
        ("operations", rows(&mut one.operations()) == rows(&mut other.operations())),
        ("long-lived requests", rows(&mut one.long_lived()) == rows(&mut other.long_lived())),
        ("members of compounds", rows(&mut one.members()) == rows(&mut other.members())),
        ("reads", io.reads() == its_io.reads()),
        ("writes", io.writes() == its_io.writes()),
        ("reuse of blocks", io.reuse() == its_io.reuse()),
        ("series", one.series() == other.series()),
        ("heat maps", one.heat_maps() == other.heat_maps()),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

/// Two recordings are the same: of one process, and of parts.
pub(super) fn same(whole: &Path, merged: &Path, case: &str) {
    let mut names = Names::default();
    let [one, all] = [whole, merged].map(|folder| states(folder, &mut names));
    assert_eq!(one.len(), all.len(), "{case}");
    for (one, all) in one.iter().zip(&all) {
        assert_eq!(one.queue_depth(), all.queue_depth(), "{case}");
        let one_count = one.operations().map(|(_, row)| row.count()).sum::<u64>();
        assert!(one_count > 40, "{case}: {one_count} requests");
        assert_eq!(differences(one, all), [""; 0], "{case}");
    }
    let [one, all] = [whole, merged].map(|folder| Recording::open(folder).unwrap());
    for (first, second) in one.manifest.levels.iter().zip(&all.manifest.levels) {
        assert!(one.intervals(first).unwrap() == all.intervals(second).unwrap(), "{case}: intervals differ");
        assert_eq!(first.transactions, second.transactions, "{case}");
    }
    // Which thread has a client depends on the processes.
    let placed = |line: &&str| line.trim_start().starts_with("\"thread\": ");
    let without_places = |json: String| json.lines().filter(|line| !placed(line)).collect::<Vec<_>>().join("\n");
    let [one, all] = [whole, merged].map(|folder| without_places(json_of(reported(folder))));
    let differs = one.lines().zip(all.lines()).find(|(one, all)| one != all);
    assert!(one == all, "{case} (one process, merged): {differs:#?}");
}
