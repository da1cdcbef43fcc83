//! The first screen: verdict, coverage, diagnosis, one table, the slowest requests and the next command, in 40 lines of 80 columns.
//!
//! Omitted lines are counted, and the last line says how to see them.

mod compared;
mod head;
mod levels;
mod moments;
mod operations;

use super::page::{Page, Role};
use super::units::TimeScale;
use super::{Style, breakdown, scale_of};
use crate::findings::{Diagnosis, Findings, Report};
use std::fmt;

/// Lines of a first screen: a terminal of default size, less the prompt and the command.
pub const LINES: usize = 40;
/// Lines that the tables have in any case, so that a long diagnosis does not push them out.
const TABLES: usize = 14;
/// Slowest requests on a first screen.
const MOMENTS: usize = 5;

/// How a screen is drawn: its width and colour, and the unit of its times.
type Look<'s> = (&'s Style, TimeScale);

/// Lines that belong together; a blank line stands between blocks.
type Block = Vec<String>;

/// The first screen of a report: at most [`LINES`] lines where the page has 80 columns or more.
pub fn screen(report: &Report, style: &Style) -> String {
    let scale = scale_of(&report.sides);
    let blocks = match (&report.comparison, report.sides.as_slice()) {
        (Some(comparison), sides) => compared::blocks(sides, comparison, (style, scale)),
        (None, sides) => sides.iter().flat_map(|side| side_blocks(side, (style, scale))).collect(),
    };
    let blocks: Vec<String> = blocks.iter().filter(|block| !block.is_empty()).map(|block| block.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

/// The blocks of a side; with the whole of a long warning if nothing else has to make room for it.
fn side_blocks(findings: &Findings, look: Look<'_>) -> Vec<Block> {
    let of = |warning| below(findings, look, drawn(look, |page| head::draw(page, findings, warning)));
    let (brief, whole) = (of(head::WARNING), of(usize::MAX));
    if whole.iter().skip(1).eq(brief.iter().skip(1)) && height(&whole) <= LINES { whole } else { brief }
}

/// The lines of these blocks and between them.
fn height(blocks: &[Block]) -> usize {
    let drawn = blocks.iter().filter(|block| !block.is_empty());
    drawn.map(|block| block.len() + 1).sum::<usize>().saturating_sub(1)
}

/// The head, and the blocks for which it leaves room.
fn below(findings: &Findings, look: Look<'_>, head: Block) -> Vec<Block> {
    let foot = drawn(look, |page| foot(page, &findings.diagnosis));
    // Each block but the last has a blank line behind it.
    let room = LINES.saturating_sub(head.len() + foot.len() + 2);
    let diagnosis = statements(&findings.diagnosis, look, room.saturating_sub(TABLES));
    let mut room = room.saturating_sub(diagnosis.len() + usize::from(!diagnosis.is_empty()));
    let mut tables = Vec::new();
    if let Some(special) = levels::block(findings, look, room) {
        room = room.saturating_sub(special.len() + 1);
        tables.push(special);
    }
    if findings.breakdown.is_some() {
        // If requested, the breakdown replaces the usual tables.
        tables.push(by_key(findings, look, room));
        return [head, diagnosis].into_iter().chain(tables).chain([foot]).collect();
    }
    let moments = findings.slowest.len().min(MOMENTS).min(room / 4);
    let moments = drawn(look, |page| moments::draw(page, findings, moments));
    room = room.saturating_sub(moments.len() + usize::from(!moments.is_empty()));
    let operations = drawn(look, |page| operations::draw(page, findings, room));
    tables.push(operations);
    tables.push(moments);
    [head, diagnosis].into_iter().chain(tables).chain([foot]).collect()
}

/// The table of `--by`, of as many rows as fit into `room` lines, the first in any case.
fn by_key(findings: &Findings, look: Look<'_>, room: usize) -> Block {
    let of = |rows| drawn(look, |page| breakdown::draw_rows(page, findings, rows));
    let fitting = (1..=room).rev().map(of).find(|block| block.len() <= room);
    fitting.unwrap_or_else(|| of(1))
}

/// What `draw` writes, as lines; a heading's blank line is left out, for blocks have one between them.
fn drawn((style, scale): Look<'_>, draw: impl FnOnce(&mut Page<'_>) -> fmt::Result) -> Block {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let mut page = Page::new(&mut text, style);
    page.set_scale(scale);
    let _ = draw(&mut page);
    text.trim_matches('\n').lines().map(str::to_owned).collect()
}

/// As many statements as fit into `room` lines, at least the first; the others are counted.
fn statements(diagnosis: &Diagnosis, look: Look<'_>, room: usize) -> Block {
    let of = |text: &str| drawn(look, |page| page.paragraph(Role::Plain, "* ", text));
    let mut lines: Block = Vec::new();
    for (place, statement) in diagnosis.statements.iter().enumerate() {
        let more = of(&statement.text);
        let left = diagnosis.statements.len() - place;
        let reserve = usize::from(left > 1);
        if place > 0 && lines.len() + more.len() + reserve + 1 > room {
            lines.extend(of(&format!("{left} more: --section diagnosis")));
            break;
        }
        lines.extend(more);
    }
    if !lines.is_empty() {
        lines.insert(0, drawn(look, |page| page.heading("Diagnosis:")).join(""));
    }
    lines
}

/// The next command, and how to see the rest.
fn foot(page: &mut Page<'_>, diagnosis: &Diagnosis) -> fmt::Result {
    if let Some(next) = &diagnosis.next {
        page.command("Next: ", next)?;
    }
    page.paragraph(Role::Quiet, "", "Whole report: --full. One section: --section NAME (--help lists the names).")
}
