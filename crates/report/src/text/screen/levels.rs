//! Parts of a run besides operations: its load levels, the loads that a search tried, the parts of a call.

use super::super::page::{Page, Role};
use super::super::table::Table;
use super::super::units::{NONE, significant};
use super::super::{calls, capacity};
use super::{Block, Look, drawn};
use crate::findings::capacity::{Capacity, Trial};
use crate::findings::{Findings, Stage};
use crate::tables;
use std::fmt;

/// Words of a reason that names reliable numbers.
const RELIABLE: [&str; 2] = [" is reliable", " are reliable"];
/// Words of a reason that names none.
const NONE_RELIABLE: &str = "no number of this level";
/// Lines of load levels at most, so that operations keep room.
const LEVELS: usize = 8;
/// Loads of a search shown on each side of its answer.
const TRIALS: usize = 3;
/// Longest reason why a load did not hold.
const BECAUSE: usize = 44;

/// The block, at most `room` lines; none for a capture, and for a run at one level, whose operations say it all.
pub(super) fn block(findings: &Findings, look: Look<'_>, room: usize) -> Option<Block> {
    let run = findings.run.as_ref()?;
    if let Some(calls) = run.calls.as_deref() {
        let mut lines = drawn(look, |page| calls::brief(page, calls));
        lines.truncate(room);
        return Some(lines);
    }
    if let Some(capacity) = run.capacity.as_deref() {
        return Some(drawn(look, |page| trials(page, capacity)));
    }
    if !findings.interference.is_empty() {
        let tables = tables::interference(std::slice::from_ref(findings));
        let mut lines = drawn(look, |page| super::super::drawn::draw(page, tables));
        lines.truncate(room);
        return Some(lines);
    }
    (findings.stages.len() > 1).then(|| drawn(look, |page| levels(page, findings)))
}

fn levels(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let scale = page.scale();
    let words = findings.stages.first().map_or("", |stage| stage.headline.words());
    page.heading(&format!("Load levels (response time{words} {}):", scale.words()))?;
    let mut table = Table::new();
    table.head(&["Level", "op/s", "MB/s", "p50", "p95", "p99", "max", "Errors"]);
    let shown = choose(findings);
    for stage in &shown {
        let times = stage.headline_time();
        let data = stage.read_bytes_per_s + stage.write_bytes_per_s;
        let (role, mark) = if stage.validity.valid { (Role::Plain, "") } else { (Role::Bad, " !") };
        let measured = stage.was_measured();
        table.row_as(
            role,
            vec![
                format!("{}{mark}", stage.words()),
                if measured { significant(stage.operations_per_s) } else { NONE.to_owned() },
                if data > 0.0 { significant(data / 1e6) } else { NONE.to_owned() },
                scale.show_maybe(times.map(|t| t.p50_s)),
                scale.show_maybe(times.map(|t| t.p95_s)),
                scale.show_maybe(times.map(|t| t.p99_s)),
                scale.show_maybe(times.map(|t| t.max_s)),
                if measured { stage.errors.to_string() } else { NONE.to_owned() },
            ],
        );
    }
    let left_out = findings.stages.len() - shown.len();
    if left_out > 0 {
        table.row(vec![format!("  {left_out} more: --section run")]);
    }
    page.table(&table)?;
    let invalid: Vec<&Stage> = shown.iter().filter(|stage| !stage.validity.valid).copied().collect();
    match invalid.iter().any(|stage| names_reliable(stage)) {
        true => page.paragraph(Role::Quiet, "", "!: INVALID; use only the numbers that are named as reliable above."),
        false if invalid.is_empty() => Ok(()),
        false => page.paragraph(Role::Quiet, "", "!: the numbers of this level are INVALID and must not be used."),
    }
}

/// Whether the reasons against a level name numbers that are reliable in spite of them.
fn names_reliable(stage: &Stage) -> bool {
    let names = |reason: &String| !reason.contains(NONE_RELIABLE) && RELIABLE.iter().any(|word| reason.contains(word));
    let invalidating = stage.validity.invalidating();
    !invalidating.is_empty() && invalidating.iter().all(names)
}

/// All levels, or the first, the last, and those about the highest throughput of each curve.
fn choose(findings: &Findings) -> Vec<&Stage> {
    let stages = &findings.stages;
    if stages.len() <= LEVELS {
        return stages.iter().collect();
    }
    let last = stages.len() - 1;
    let peaks = findings.curves.iter().filter_map(|curve| curve.maximum.as_ref());
    let peaks = peaks.filter_map(|peak| stages.iter().position(|stage| stage.number == peak.stage));
    let mut places: Vec<usize> = Vec::new();
    let wanted = [0, last].into_iter().chain(peaks.flat_map(|at| [at, at.saturating_sub(1), at + 1]));
    for place in wanted.chain(0..stages.len()) {
        if place <= last && !places.contains(&place) && places.len() < LEVELS - 1 {
            places.push(place);
        }
    }
    places.sort_unstable();
    places.into_iter().filter_map(|place| stages.get(place)).collect()
}

fn trials(page: &mut Page<'_>, found: &Capacity) -> fmt::Result {
    let loads = capacity::by_load(&found.trials);
    let met = |trials: &[&Trial]| trials.iter().any(|one| one.met == Some(true));
    // The lowest load above the answer, or the highest of all.
    let missed = loads.iter().position(|trials| !met(trials)).unwrap_or(loads.len());
    let from = missed.saturating_sub(TRIALS);
    let shown = loads.get(from..loads.len().min(missed + TRIALS)).unwrap_or_default();
    page.heading(&format!("Loads near the capacity, in {}:", found.unit))?;
    let mut table = Table::new().left(3);
    table.head(&["Load", "Runs", "Met", "First objective missed"]);
    for trials in shown {
        let load = trials.first().map_or(0.0, |one| one.load);
        let why = trials.iter().find_map(|one| one.because.first()).map_or("", String::as_str);
        table.row(vec![
            capacity::exact(load),
            trials.len().to_string(),
            capacity::met_of(trials),
            crate::safe::fit_middle(why, BECAUSE),
        ]);
    }
    let left_out = loads.len() - shown.len();
    if left_out > 0 {
        table.row(vec![format!("  {left_out} more: --section run")]);
    }
    page.table(&table)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Reason, Validity};

    use super::*;

    #[test]
    fn numbers_are_named_as_reliable_only_if_every_reason_names_them() {
        let named = |reasons: &[&str]| {
            let validity = Validity::of(reasons.iter().map(|&reason| Reason::invalid(reason)));
            names_reliable(&Stage { validity, ..Stage::default() })
        };
        let late = "the load generator was late: without that delay, …; p50, p90 are reliable; use another machine";
        let none = "the load generator was late: without that delay, …; no number of this level is reliable";
        assert!(named(&[late]) && named(&["it was late; p50 is reliable"]));
        assert!(!named(&[none]) && !named(&[late, "4.0 % of the actions failed"]) && !named(&[]));
    }
}
