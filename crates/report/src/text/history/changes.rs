//! Where numbers of a history change, in sentences.

use super::{NAMED, count};
use crate::findings::comparison::ComparedVerdict;
use crate::findings::history::{ChangePoint, FactChange, HistoryMetric, HistoryRun, HistorySeries, MetricChange};
use crate::instant::second;
use crate::safe;
use crate::text::page::Role;
use crate::text::{comparison, with_unit};

/// Widest value of a fact that changed.
const VALUE: usize = 40;

/// Role, text before the first line, and the text.
pub(super) type Paragraph = (Role, String, String);

/// Paragraphs about the change points. In `room` lines: the latest are shown where there is no room for all.
pub(super) fn paragraphs(series: &HistorySeries, room: Option<usize>, width: usize) -> Vec<Paragraph> {
    let mut points: Vec<Vec<Paragraph>> =
        series.changes.iter().map(|point| of_point(series, point, room.is_none())).collect();
    let all = points.len();
    while points.len() > 1 && room.is_some_and(|room| lines(points.iter().flatten(), width) > room) {
        points.remove(0);
    }
    let hidden = all - points.len();
    let note = (hidden > 0)
        .then(|| (Role::Quiet, String::new(), format!("({}: --full)", count(hidden, "earlier change point"))));
    note.into_iter().chain(points.into_iter().flatten()).collect()
}

/// Lines that paragraphs take, about.
pub(super) fn lines<'p>(paragraphs: impl IntoIterator<Item = &'p Paragraph>, width: usize) -> usize {
    let of = |(_, lead, text): &Paragraph| safe::columns(text).div_ceil(width.saturating_sub(lead.len()).max(1));
    paragraphs.into_iter().map(of).sum()
}

fn of_point(series: &HistorySeries, point: &ChangePoint, full: bool) -> Vec<Paragraph> {
    let mut metrics: Vec<(&HistoryMetric, &MetricChange)> = series
        .metrics
        .iter()
        .flat_map(|metric| metric.changes.iter().map(move |change| (metric, change)))
        .filter(|(_, change)| change.run == point.run)
        .collect();
    let most = if full { usize::MAX } else { NAMED };
    if metrics.len() > most {
        metrics.sort_by(|a, b| b.1.relative.abs().total_cmp(&a.1.relative.abs()));
    }
    let recording =
        usize::try_from(point.run).ok().and_then(|run| series.runs.get(run)).map(|run: &HistoryRun| &run.recording);
    let mut labels: Vec<String> = point.labels.iter().take(most).map(fact).collect();
    labels.extend((point.labels.len() > most).then(|| "…".to_owned()));
    let labels = labels.join("; ");
    let labels = if labels.is_empty() { labels } else { format!(" ({labels})") };
    let recording = recording.map_or_else(String::new, |name| format!(", {name}"));
    let head = format!("From {}{recording}{labels}:", second(point.begin_ns));
    let mut all = vec![(Role::Heading, String::new(), head)];
    for (metric, change) in metrics.iter().take(most) {
        let role = if change.verdict == ComparedVerdict::Worse { Role::Bad } else { Role::Plain };
        all.push((role, "  ".to_owned(), sentence(metric, change)));
    }
    let more = |of: usize, what: &str| {
        let more = of.saturating_sub(most);
        (more > 0).then(|| (Role::Quiet, "  ".to_owned(), format!("({}: --full)", count(more, what))))
    };
    all.extend(more(metrics.len(), "more number"));
    for also in point.also_changed.iter().take(most) {
        all.push((Role::Plain, "  ".to_owned(), format!("also changed{}: {}", later(also.runs_later), fact(also))));
    }
    all.extend(more(point.also_changed.len(), "more changed fact"));
    all
}

/// A change of a number, in words.
pub(crate) fn sentence(metric: &HistoryMetric, change: &MetricChange) -> String {
    let interval = match change.relative_low.zip(change.relative_high) {
        Some((low, high)) => {
            format!(" (95 % interval {} to {} %)", comparison::signed(low), comparison::signed(high))
        }
        None => String::new(),
    };
    let (before, after) = (with_unit(metric.unit, change.before), with_unit(metric.unit, change.after));
    let size = comparison::signed(change.relative);
    format!("{} {size} %{interval}, {before} -> {after}, {}", metric.label(), change.verdict.label())
}

/// A fact that changed: `Label kernel 6.11 -> 6.12`.
pub(crate) fn fact(change: &FactChange) -> String {
    let value = |of: &Option<String>| of.as_deref().map_or_else(|| "(not given)".to_owned(), |of| safe::fit(of, VALUE));
    format!("{} {} -> {}", change.name, value(&change.before), value(&change.after))
}

/// Where a fact changed, from the change of the numbers.
pub(crate) fn later(runs: i64) -> String {
    match runs {
        0 => String::new(),
        1 | -1 => format!(" 1 run {}", if runs > 0 { "later" } else { "earlier" }),
        runs => format!(" {} runs {}", runs.abs(), if runs > 0 { "later" } else { "earlier" }),
    }
}
