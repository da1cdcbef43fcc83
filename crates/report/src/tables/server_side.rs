//! The server's own metrics, one line per load level.

use super::{Cell, Column, Note, Row, Table, Weight, wanted_levels};
use crate::findings::{Findings, LoadLevel};

/// The table; None without server metrics.
pub(crate) fn server_side(sides: &[Findings]) -> Option<Table> {
    let seen = wanted_levels(sides, |side, level| level.facts.server.is_some() && !side.is_local(level));
    let servers = || seen.iter().filter_map(|(prefix, level)| Some((prefix, level, level.facts.server.as_ref()?)));
    let mut sources: Vec<String> = servers().map(|(prefix, _, server)| format!("{prefix}{}", server.source)).collect();
    sources.dedup();
    let source = format!("From {}.", sources.join("; "));
    let missing = servers().filter_map(|(prefix, level, server)| {
        Some(Note::of(Weight::Bad, format!("{prefix}{}: {}", level.words(), server.why_missing.as_ref()?)))
    });
    let row = |(prefix, level, server): (&String, &&crate::findings::LoadLevel, &crate::findings::ServerSide)| Row {
        name: format!("{prefix}{}", level.words()),
        invalid: false,
        cells: vec![
            Cell::Number(server.cores_busy, 2, ""),
            Cell::Time(server.cpu_per_operation_s),
            Cell::Bytes(server.disk_read_bytes_per_s),
            Cell::Bytes(server.disk_write_bytes_per_s),
            Cell::Number(server.disk_reads_per_s, 1, ""),
            Cell::Number(server.disk_writes_per_s, 1, ""),
            Cell::Bytes(server.received_bytes_per_s),
            Cell::Bytes(server.sent_bytes_per_s),
        ],
    };
    (!seen.is_empty()).then(|| Table {
        id: "server".to_owned(),
        title: "Server-side metrics (disk and network in MB/s)".to_owned(),
        scaled: None,
        caption: "Server-side metrics.".to_owned(),
        columns: columns![
            "Level", "Cores busy": "Cores", "Processor, per operation": "CPU/op", "Disk, read": "Disk read",
            "Disk, written": "written", "Disk reads per second": "Reads/s", page "Disk writes per second",
            "Received": "Net in", "Sent": "Net out"
        ],
        rows: servers().map(row).collect(),
        notes: std::iter::once(Note::of(Weight::Quiet, source)).chain(from_disk(&seen)).chain(missing).collect(),
    })
}

/// How much of the data that clients read came from disks, where the server tells: near 0 % it was in the server's cache.
fn from_disk(seen: &[(String, &LoadLevel)]) -> Option<Note> {
    let share = |(prefix, level): &(String, &LoadLevel)| {
        let read = level.facts.server.as_ref()?.disk_read_bytes_per_s?;
        // Of several workloads at the same time nobody knows whose data came from disks.
        if level.facts.share.as_ref().is_some_and(|share| !share.beside.is_empty()) {
            return None;
        }
        let share = (level.read_bytes_per_s > 0.0).then(|| read / level.read_bytes_per_s)?;
        Some(format!("{prefix}{} {:.0} %", level.words(), share * 100.0))
    };
    let all: Vec<String> = seen.iter().filter_map(share).collect();
    let text = format!("Read from disks, as a percentage of the file data that clients read: {}.", all.join("; "));
    (!all.is_empty()).then(|| Note::of(Weight::Plain, text))
}
