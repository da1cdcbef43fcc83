//! Load levels: throughput and response time.

use super::{Cell, Column, LevelGroup, Note, Origin, Row, Table, Weight, level_groups, measured, outages};
use crate::findings::Findings;
use crate::findings::{Headline, LoadLevel, Times};

/// One table per origin of levels; two where only some of its levels have a schedule.
pub(crate) fn levels(sides: &[Findings]) -> Vec<Table> {
    level_groups(sides).into_iter().flat_map(tables).collect()
}

/// The same, those of each origin before its table of silences, which captures do not have.
pub(crate) fn levels_and_outages(sides: &[Findings]) -> Vec<Table> {
    let of = |group: LevelGroup<'_>| {
        let silences = (group.origin != Origin::Capture).then(|| outages::table(&group));
        tables(group).into_iter().chain(silences).collect::<Vec<_>>()
    };
    level_groups(sides).into_iter().flat_map(of).collect()
}

fn tables(group: LevelGroup<'_>) -> Vec<Table> {
    group.by_schedule().iter().map(table).collect()
}

fn table(group: &LevelGroup<'_>) -> Table {
    let scheduled = group.levels.iter().any(|(_, level)| level.headline.is_from_intended());
    let from = if scheduled { Headline::ResponseTimeFromIntended } else { Headline::ResponseTime }.words();
    let beside = match scheduled {
        true => Column::new("p99, uncorrected", "p99 unc."),
        false => Column::new("p99, from intended", "p99 int."),
    };
    let note = match scheduled {
        true => {
            "Response times count from the intended start of each operation, so they include the delay of a late start. \
            p99 unc.: uncorrected p99, from the first byte of the request."
        }
        false => "p99 int.: p99 from the intended start of each operation, so it includes the delay of a late start.",
    };
    Table {
        id: group.id("levels"),
        title: format!("Load levels{}", group.words()),
        scaled: Some(format!("response times of all operations{from}")),
        caption: format!(
            "Throughput and response time{from} at each load level{}, all operations together. A response time from the \
            intended start includes the delay of a late start.",
            group.words()
        ),
        columns: vec![
            Column::new("Level", "Level"),
            Column::new("Operations", "op/s"),
            Column::new("Data", "MB/s"),
            Column::of_pages("Data, in bits"),
            Column::of_pages("Messages / data"),
            Column::of_pages("Network / data"),
            Column::new("Mean", "Mean"),
            Column::new("p50", "p50"),
            Column::new("p95", "p95"),
            Column::new("p99", "p99"),
            beside,
            Column::new("Failed actions", "Failed"),
            Column::of_pages("p50 to p99"),
        ],
        rows: group.levels.iter().map(|(prefix, level)| row(prefix, level, group.origin)).collect(),
        notes: [Note::quiet(note)].into_iter().chain(failed(group)).collect(),
    }
}

/// Failures by kind; None without failures.
fn failed(group: &LevelGroup<'_>) -> Option<Note> {
    let sum = |kind: usize| {
        let of = |(_, level): &(String, &LoadLevel)| level.failures_by_kind().get(kind).copied().unwrap_or(0);
        group.levels.iter().map(of).fold(0_u64, u64::saturating_add)
    };
    let (actions, attempts, lost) = (sum(0), sum(1), sum(2));
    (actions > 0 || attempts > 0 || lost > 0).then(|| Note {
        weight: Weight::Quiet,
        text: format!(
            "Failed: failed actions, {actions} in all. In addition: {attempts} failed attempts to connect, {lost} lost connections."
        ),
        page: true,
    })
}

fn row(prefix: &str, level: &LoadLevel, origin: Origin) -> Row {
    let time = |pick: fn(&Times) -> f64| Cell::Scaled(level.headline_time().as_ref().map(pick));
    let data = level.read_bytes_per_s + level.write_bytes_per_s;
    Row {
        name: format!("{prefix}{}", level.words()),
        invalid: !level.facts.validity.valid,
        cells: vec![
            measured(level, Cell::Rate(level.operations_per_s)),
            Cell::Bytes((data > 0.0).then_some(data)),
            Cell::Bits((data > 0.0).then_some(data)),
            Cell::Number(level.overhead.map(|own| own.message_ratio), 3, ""),
            Cell::Number(level.overhead.and_then(|own| own.network_ratio), 3, ""),
            time(|t| t.mean_s),
            time(|t| t.p50_s),
            time(|t| t.p95_s),
            time(|t| t.p99_s),
            Cell::Scaled(other(level).map(|t| t.p99_s)),
            // A capture does not contain actions.
            if origin == Origin::Capture { Cell::Time(None) } else { measured(level, Cell::Count(level.failed())) },
            Cell::Range(level.headline_time().map(|t| (t.p50_s, t.p99_s))),
        ],
    }
}

/// The response time that does not lead.
fn other(level: &LoadLevel) -> Option<Times> {
    if level.headline.is_from_intended() { level.uncorrected_time() } else { level.response_time_from_intended }
}
