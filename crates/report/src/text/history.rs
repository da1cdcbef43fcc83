//! A history as text: one line per number with its course, followed by the changes and other facts that changed there.

mod changes;

use super::Style;
use super::comparison::signed;
use super::page::{Page, Role};
use super::screen::LINES;
use super::spark::spark_between;
use super::table::Table;
use super::units::{NONE, with_unit};
use crate::findings::comparison::{ComparedUnit, ComparedVerdict, Estimate};
use crate::findings::history::{History, HistorySeries};
use crate::instant::{Zone, second};
use crate::safe;
pub(crate) use changes::{fact, later, sentence};
use std::fmt;

/// Widest course, columns.
const COURSE: usize = 20;
/// Full height of a course, as a factor: the scatter of a quiet server must not look like a change.
const HEIGHT: f64 = 1.1;
/// Widest name of a number.
const NAME: usize = 20;
/// Numbers that a change point names on the screen; `--full` has all.
const NAMED: usize = 3;
/// Lines of a series in any case: name, head, two numbers, one change.
const LEAST: usize = 8;

/// The history as text: at most [`LINES`] lines where the page has 80 columns or more, unless it is `full`.
pub fn history(history: &History, style: &Style, full: bool) -> String {
    let mut text = String::new();
    let mut page = Page::new(&mut text, style);
    // Writing to a String cannot fail.
    let _ = draw(&mut page, history, style, full);
    text
}

fn draw(page: &mut Page<'_>, history: &History, style: &Style, full: bool) -> fmt::Result {
    head(page, history, full)?;
    let mut shown = 0;
    for series in &history.series {
        // One more line counts the omitted ones.
        let left = LINES.saturating_sub(page.lines() + 1);
        let room = if full { usize::MAX } else { (left / (history.series.len() - shown)).max(LEAST) };
        let mut text = String::new();
        one(&mut Page::new(&mut text, style), series, room)?;
        if !full && shown > 0 && text.lines().count() > left {
            break;
        }
        text.lines().try_for_each(|line| page.line(line))?;
        shown += 1;
    }
    match history.series.len() - shown {
        0 => Ok(()),
        1 => page.paragraph(Role::Quiet, "", "(1 more series: --full)"),
        more => page.paragraph(Role::Quiet, "", &format!("({more} more series: --full)")),
    }
}

fn head(page: &mut Page<'_>, history: &History, full: bool) -> fmt::Result {
    let runs = || history.series.iter().flat_map(|series| &series.runs);
    let mut recordings: Vec<&str> = runs().map(|run| run.recording.as_str()).collect();
    recordings.sort_unstable();
    recordings.dedup();
    let span = runs().map(|run| run.begin_ns).min().zip(runs().map(|run| run.begin_ns).max());
    let span = span.map_or_else(String::new, |(first, last)| format!(", {}", Zone::shown().span(first, last)));
    page.paragraph(Role::Heading, "", &format!("{}{span}", count(recordings.len(), "recording")))?;
    let most = if full { usize::MAX } else { NAMED };
    for warning in history.warnings.iter().take(most) {
        page.paragraph(Role::Caution, "! ", warning)?;
    }
    match history.warnings.len().saturating_sub(most) {
        0 => Ok(()),
        more => page.paragraph(Role::Caution, "! ", &format!("{} (--full)", count(more, "more warning"))),
    }
}

fn count(many: usize, what: &str) -> String {
    format!("{many} {what}{}", if many == 1 { "" } else { "s" })
}

fn one(page: &mut Page<'_>, series: &HistorySeries, room: usize) -> fmt::Result {
    let full = room == usize::MAX;
    let counted = series.runs.iter().filter(|run| run.counted).count();
    let invalid = series.runs.len() - counted;
    let left_out = if invalid == 0 { String::new() } else { format!(", {invalid} of them INVALID (not counted)") };
    let partial = match series.partial() {
        0 => String::new(),
        some => format!(", {some} of them PARTIAL"),
    };
    page.heading(&format!("{}: {}{left_out}{partial}", series.name, count(series.runs.len(), "run")))?;
    let changed = changes::paragraphs(series, (!full).then(|| room.saturating_sub(LEAST)), page.width());
    let unchanged = series.unchanged().map(|unchanged| (Role::Plain, String::new(), unchanged));
    let late = series.moved().map(|moved| (Role::Caution, "! ".to_owned(), moved));
    let notes: Vec<_> = unchanged.into_iter().chain(late).collect();
    let paragraphs = changes::lines(changed.iter().chain(&notes), page.width());
    let rows = room.saturating_sub(page.lines() + paragraphs + 3).max(1);
    table(page, series, rows)?;
    if !changed.is_empty() {
        page.blank()?;
    }
    for (role, lead, text) in changed.iter().chain(&notes) {
        page.paragraph(*role, lead, text)?;
    }
    if full { uncounted(page, series) } else { Ok(()) }
}

/// The runs that do not count, and why.
fn uncounted(page: &mut Page<'_>, series: &HistorySeries) -> fmt::Result {
    for run in series.runs.iter().filter(|run| !run.counted) {
        let why = run.validity.invalidating().first().map_or("no measured phase", String::as_str);
        page.paragraph(Role::Caution, "! ", &format!("INVALID: {}, {}: {why}", second(run.begin_ns), run.recording))?;
    }
    Ok(())
}

/// A line per number: those that change first, where there is no room for all.
fn table(page: &mut Page<'_>, series: &HistorySeries, room: usize) -> fmt::Result {
    let mut chosen: Vec<usize> = (0..series.metrics.len()).collect();
    if series.metrics.len() > room {
        chosen.sort_by_key(|&at| series.metrics.get(at).is_some_and(|metric| metric.changes.is_empty()));
        chosen.truncate(room.saturating_sub(1).max(1));
        chosen.sort_unstable();
    }
    let mut table = Table::new().left(1);
    table.head(&["", "Over time", "First", "Last", "95 % interval", "Change"]);
    for metric in chosen.iter().filter_map(|&at| series.metrics.get(at)) {
        let known = || (0..).zip(&metric.points).filter_map(|(at, point)| Some((at, point.as_ref()?)));
        let counts = |at: usize| series.counts(metric, at);
        let counted = || known().filter(|(at, _): &(usize, _)| counts(*at));
        let values: Vec<f64> = counted().map(|(_, point)| point.value).collect();
        let number = |found: Option<(usize, &Estimate)>| match found {
            Some((_, Estimate { value, .. })) => with_unit(metric.unit, *value),
            None => NONE.to_owned(),
        };
        let change = match (metric.changes.as_slice(), &metric.untested) {
            (_, Some(_)) => "?".to_owned(),
            ([], None) => NONE.to_owned(),
            ([only], None) => format!("{} %", signed(only.relative)),
            (several, None) => several.len().to_string() + " changes",
        };
        let last = counted().last();
        let role = match metric.changes.last() {
            Some(last) if last.verdict == ComparedVerdict::Worse => Role::Bad,
            _ => Role::Plain,
        };
        let cells = vec![
            safe::fit_middle(&metric.label(), NAME),
            course(&values),
            number(counted().next()),
            number(last),
            last.map_or_else(|| NONE.to_owned(), |(_, point)| interval(metric.unit, point)),
            change,
        ];
        table.row_as(role, cells);
    }
    page.table(&table)?;
    match series.metrics.len() - chosen.len() {
        0 => Ok(()),
        more => page.paragraph(Role::Quiet, "", &format!("({}: --full)", count(more, "more number"))),
    }
}

/// Means of as many parts as there are columns.
fn course(values: &[f64]) -> String {
    if values.is_empty() {
        return NONE.to_owned();
    }
    let columns = COURSE.min(values.len());
    let part = |column: usize| {
        let (from, to) = (column * values.len() / columns, (column + 1) * values.len() / columns);
        let part = values.get(from..to).unwrap_or_default();
        part.iter().sum::<f64>() / part.len().max(1) as f64
    };
    let parts: Vec<f64> = (0..columns).map(part).collect();
    let low = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let high = parts.iter().copied().fold(0.0, f64::max).max(low * HEIGHT);
    spark_between(&parts, low, high)
}

fn interval(unit: ComparedUnit, point: &Estimate) -> String {
    let Some((low, high)) = point.low.zip(point.high) else { return NONE.to_owned() };
    let (low, high) = (with_unit(unit, low), with_unit(unit, high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} to {high}"),
        (None, None) => format!("{} to {high}", low.trim_end_matches("/s")),
        _ => format!("{low} to {high}"),
    }
}
