//! Tables of a breakdown: calls beside those in a local directory, and processor time by kind of work.

use super::{Cell, Column, Note, Row, Table};
use crate::findings::calls::{Calls, LocalCall};
use crate::findings::profile::{Profile, ProfiledCall};

const COMPARED: &str = "Plimsoll compares the times only if these shares differ by at most 5 percentage points; otherwise one side may \
                        read from a cache and the other from a disk.";

/// A line a call that was made in both places; none where none was.
pub(crate) fn beside_local(calls: &Calls) -> Option<Table> {
    let row = |call: &LocalCall| {
        let alike = calls.comparable(&call.call);
        let [remote_disk, local_disk] = calls.from_disk(&call.call);
        let cells = vec![
            Cell::Scaled(Some(call.remote_s)),
            Cell::Scaled(Some(call.local_s)),
            Cell::Share(remote_disk),
            Cell::Share(local_disk),
            Cell::Scaled(alike.then_some(call.remote_s - call.local_s)),
            Cell::Ratio((alike && call.local_s > 0.0).then(|| call.remote_s / call.local_s)),
        ];
        Row { name: call.call.clone(), invalid: false, cells }
    };
    let are_alike = calls.beside_local.iter().all(|call| calls.comparable(&call.call));
    let note =
        (!are_alike).then(|| Note::quiet(format!("From disk: share of the data that came from disks. {COMPARED}")));
    (!calls.beside_local.is_empty()).then(|| Table {
        id: "calls-local".to_owned(),
        title: "Remote and local".to_owned(),
        scaled: Some("mean response times".to_owned()),
        caption: format!(
            "Mean response times on the target and in a local directory, and the share of the data that came from disks. {COMPARED}"
        ),
        columns: columns![
            "Call", "Remote", "Local", "Remote, from disk": "From disk", "Local, from disk": "(local)", "Difference",
            "Times"
        ],
        rows: calls.beside_local.iter().map(row).collect(),
        notes: note.into_iter().collect(),
    })
}

/// A line a kind of work, and the samples; none where the samples do not show the kernel.
pub(crate) fn kinds(profile: &Profile) -> Option<Table> {
    let share = |(part, call): (&u64, &ProfiledCall)| {
        Cell::Share((call.samples > 0).then(|| *part as f64 / call.samples as f64))
    };
    let row = |name: &str, cells: Vec<Cell>| Row { name: name.to_owned(), invalid: false, cells };
    let kinds =
        profile.kinds.iter().map(|kind| row(&kind.kind, kind.samples.iter().zip(&profile.calls).map(share).collect()));
    let samples = row("samples", profile.calls.iter().map(|call| Cell::Count(call.samples)).collect());
    let title = format!("CPU time of the {} by kind of work", profile.side);
    (!profile.kinds.is_empty()).then(|| Table {
        id: format!("profile-kinds-{}", profile.id()),
        title: format!("{title} (percentage of the perf samples of each call)"),
        scaled: None,
        caption: format!("{title}: percentage of the perf samples of each call."),
        columns: std::iter::once(Column::new("Kind", "Kind"))
            .chain(profile.calls.iter().map(|call| Column::named(&call.call)))
            .collect(),
        rows: kinds.chain([samples]).collect(),
        notes: Vec::new(),
    })
}
