//! Users with a schedule each: how many there were, how many of their turns were late, which, by how much and why.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, significant, time};
use crate::findings::{Stage, TurnKind};
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, stages: &[Stage]) -> fmt::Result {
    if stages.iter().all(|stage| stage.users.is_none()) {
        return Ok(());
    }
    page.heading("Did the server carry its users?")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Users", "Overload", "Throughput", "Errors", "Errors [%]", "Duration [ms]"]);
    for stage in stages {
        let Some(users) = &stage.users else { continue };
        let role = if stage.validity.valid { Role::Plain } else { Role::Bad };
        let cells = vec![
            stage.words_with(&users.users.to_string()),
            share(users.overload),
            significant(stage.turns_per_s),
            users.failed.to_string(),
            share(users.failed_share),
            stage.span.elapsed_s.map_or_else(|| NONE.to_owned(), |s| format!("{:.0}", s * 1e3)),
        ];
        table.row_as(role, cells);
    }
    page.table(&table)?;
    let note = "Overload: turns that had not ended when their user's next one was due, or never began. Throughput: turns ended, a second. \
                Errors: turns of which an action failed.";
    page.paragraph(Role::Quiet, "", note)?;
    late(page, stages)
}

/// Every kind of turn of which some were late.
fn late(page: &mut Page<'_>, stages: &[Stage]) -> fmt::Result {
    let overloaded =
        |stage: &&Stage| stage.users.is_some() && stage.turns.iter().any(|kind| kind.late + kind.unended > 0);
    let kinds = |stage: &Stage| -> Vec<TurnKind> {
        stage.turns.iter().filter(|kind| kind.late + kind.unended > 0).cloned().collect()
    };
    if !stages.iter().any(|stage| overloaded(&stage)) {
        return Ok(());
    }
    page.heading("Which turns were late, by how much, and why:")?;
    page.blank()?;
    let mut table = Table::new().left(1);
    table.head(&["Users", "Turn", "Late", "Of", "Took", "Over", "Over max", "Too long", "Begun late", "No end"]);
    for stage in stages.iter().filter(overloaded) {
        for kind in kinds(stage) {
            let shown = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), time);
            table.row(vec![
                stage.words_with(&stage.stations.to_string()),
                kind.name.clone(),
                kind.late.to_string(),
                (kind.ended + kind.unended).to_string(),
                shown(kind.mean_s),
                shown(kind.overrun_mean_s),
                shown(kind.overrun_max_s),
                kind.late.saturating_sub(kind.late_from_before).to_string(),
                kind.late_from_before.to_string(),
                kind.unended.to_string(),
            ]);
        }
    }
    page.table(&table)?;
    let note = "Took: from due to ended, the mean of all. Over: of late ones, how long after the next one was due. Too long: \
                begun in time, and took longer than there was. Begun late: the one before had not ended.";
    page.paragraph(Role::Quiet, "", note)
}

fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
