//! Parts of a run besides operations: its load levels, the loads that a search tried, the parts of a call.

use super::super::page::{Page, Role};
use super::super::table::Table;
use super::super::units::{NONE, significant};
use super::super::{calls, capacity};
use super::{Block, Look, drawn};
use crate::findings::capacity::{Capacity, Trial, first_missed};
use crate::findings::{Findings, LoadLevel};
use crate::sides::response_time_of;
use crate::tables;
use std::fmt;

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
    (findings.levels.len() > 1).then(|| drawn(look, |page| levels(page, findings)))
}

fn levels(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let scale = page.scale();
    let times = response_time_of(findings.levels.iter().map(|level| level.headline));
    page.heading(&format!("Load levels ({times} {}):", scale.words()))?;
    let mut table = Table::new();
    table.head(&["Level", "op/s", "MB/s", "p50", "p95", "p99", "max", "Errors"]);
    let shown = choose(findings);
    for level in &shown {
        let times = level.headline_time();
        let data = level.read_bytes_per_s + level.write_bytes_per_s;
        let (role, mark) = if level.facts.validity.valid { (Role::Plain, "") } else { (Role::Bad, " !") };
        let measured = level.was_measured();
        table.row_as(
            role,
            vec![
                format!("{}{mark}", level.words()),
                if measured { significant(level.operations_per_s) } else { NONE.to_owned() },
                if data > 0.0 { significant(data / 1e6) } else { NONE.to_owned() },
                scale.show_maybe(times.map(|t| t.p50_s)),
                scale.show_maybe(times.map(|t| t.p95_s)),
                scale.show_maybe(times.map(|t| t.p99_s)),
                scale.show_maybe(times.map(|t| t.max_s)),
                if measured { level.errors.to_string() } else { NONE.to_owned() },
            ],
        );
    }
    let left_out = findings.levels.len() - shown.len();
    if left_out > 0 {
        table.row(vec![format!("  {left_out} more: --section run")]);
    }
    page.table(&table)?;
    match marks(&shown) {
        Some(words) => page.paragraph(Role::Quiet, "", &words),
        None => Ok(()),
    }
}

/// The meaning of the mark of INVALID levels; `None` without such a level.
fn marks(shown: &[&LoadLevel]) -> Option<String> {
    let invalid = || shown.iter().filter(|level| !level.facts.validity.valid);
    let unusable: Vec<String> = invalid().filter(|level| !level.names_reliable()).map(|level| level.words()).collect();
    let all = invalid().count();
    if all == 0 {
        return None;
    }
    let named = "!: INVALID; use only the numbers that are named as reliable above";
    Some(match unusable.len() {
        0 => format!("{named}."),
        some if some < all => format!("{named}, and no number at: {}.", unusable.join(", ")),
        _ => "!: the numbers of this level are INVALID and must not be used.".to_owned(),
    })
}

/// All levels, or the first, the last, and those about the highest throughput of each curve.
fn choose(findings: &Findings) -> Vec<&LoadLevel> {
    let levels = &findings.levels;
    if levels.len() <= LEVELS {
        return levels.iter().collect();
    }
    let last = levels.len() - 1;
    let peaks = findings.curves.iter().filter_map(|curve| curve.maximum.as_ref());
    let peaks = peaks.filter_map(|peak| levels.iter().position(|level| level.number == peak.level));
    let mut places: Vec<usize> = Vec::new();
    let wanted = [0, last].into_iter().chain(peaks.flat_map(|at| [at, at.saturating_sub(1), at + 1]));
    for place in wanted.chain(0..levels.len()) {
        if place <= last && !places.contains(&place) && places.len() < LEVELS - 1 {
            places.push(place);
        }
    }
    places.sort_unstable();
    places.into_iter().filter_map(|place| levels.get(place)).collect()
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
        table.row(vec![
            capacity::exact(load),
            trials.len().to_string(),
            capacity::met_of(trials),
            crate::safe::fit_middle(first_missed(trials), BECAUSE),
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
    use crate::findings::LevelFacts;

    #[test]
    fn a_mark_allows_no_number_of_a_level_that_names_none() {
        let level = |load_name: &str, reasons: &[&str]| {
            let validity = Validity::of(reasons.iter().map(|&reason| Reason::invalid(reason)));
            LoadLevel {
                facts: LevelFacts { load_name: load_name.to_owned(), validity, ..LevelFacts::default() },
                ..LoadLevel::default()
            }
        };
        let late = level("1 client", &["the load generator was late; p50 is reliable"]);
        let dead = level("4 clients", &["the server sent no response to any action"]);
        let valid = level("8 clients", &[]);
        assert_eq!(marks(&[&valid]), None);
        let said = |shown: &[&LoadLevel]| marks(shown).unwrap();
        assert_eq!(said(&[&late, &valid]), "!: INVALID; use only the numbers that are named as reliable above.");
        assert_eq!(
            said(&[&late, &dead, &valid]),
            "!: INVALID; use only the numbers that are named as reliable above, and no number at: 4 clients."
        );
        assert_eq!(said(&[&dead]), "!: the numbers of this level are INVALID and must not be used.");
    }
}
