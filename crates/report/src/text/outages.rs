//! Silences, requests without an answer and short reads, a line a load level.

use std::fmt;

use super::page::{Page, Role};
use super::run::optional;
use super::table::Table;
use super::units::{NONE, time};
use crate::findings::Place;

pub(super) fn draw(page: &mut Page<'_>, place: Place<'_>) -> fmt::Result {
    page.heading(&format!("Silences, requests without an answer, short reads{}:", place.words()))?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Slowest", "Silence", "Outages", "No answer", "Unansw.", "Short", "Empty"]);
    for stage in place.stages {
        let (silence, reads) = (&stage.silence, &stage.short_reads);
        let slowest = stage.maximum_s().map(|(s, at_least)| format!("{}{}", if at_least { "≥ " } else { "" }, time(s)));
        table.row(vec![
            stage.words(),
            slowest.unwrap_or_else(|| NONE.to_owned()),
            optional(silence.longest_s, time),
            silence.outages.to_string(),
            if silence.outages > 0 { time(silence.without_answer_s) } else { NONE.to_owned() },
            stage.unanswered.to_string(),
            reads.short.to_string(),
            reads.empty.to_string(),
        ]);
    }
    page.table(&table)?;
    let note = "Silence: the longest time without an answer while a request was outstanding or due. No answer: all outages together. \
                Short, empty: reads that returned fewer bytes than asked for, or none.";
    page.paragraph(Role::Quiet, "", note)
}
