//! Where the time of a call goes: a table with a column a phase, and how each part is known.

use std::fmt;

use super::page::{Page, Role};
use super::run::optional;
use super::table::Table;
use super::units::{NONE, TimeScale, percent, significant, time};
use super::{drawn, profile};
use crate::findings::calls::{CallPart, CallPhase, Calls, PartSource, PathRequests, ServerCounter};
use crate::tables;

/// The tables; nothing if not requested.
pub(super) fn draw(page: &mut Page<'_>, calls: Option<&Calls>) -> fmt::Result {
    let Some(calls) = calls else { return Ok(()) };
    page.blank()?;
    page.paragraph(Role::Heading, "", &answer(calls))?;
    let (local, remote): (Vec<&CallPhase>, Vec<&CallPhase>) = calls.phases.iter().partition(|phase| phase.local);
    parts(page, "Where the time of a call goes", &remote)?;
    increments(page, &remote)?;
    parts(page, "Where the time of a call in a local directory goes", &local)?;
    drawn::draw(page, tables::beside_local(calls))?;
    requests(page, &calls.requests)?;
    counters(page, &calls.counters)?;
    profile::draw(page, &calls.profiles)?;
    calls.missing.iter().try_for_each(|why| page.paragraph(Role::Bad, "Missing: ", why))
}

/// The parts of each call on the target, without how they are known; why a part is missing.
pub(super) fn brief(page: &mut Page<'_>, calls: &Calls) -> fmt::Result {
    let remote: Vec<&CallPhase> = calls.phases.iter().filter(|phase| !phase.local).collect();
    table_of_parts(page, "Where the time of a call goes", &remote)?;
    missing(&remote).iter().try_for_each(|words| page.paragraph(Role::Caution, "Missing: ", words))
}

/// Parts that are missing in all phases: their names, and why.
fn missing(phases: &[&CallPhase]) -> Vec<String> {
    let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names(phases) {
        let mut found = phases.iter().filter_map(|phase| of(phase, name)).peekable();
        let Some(first) = found.peek().copied().filter(|_| found.all(|part| part.seconds.is_none())) else { continue };
        match whys.iter_mut().find(|(why, _)| *why == first.why) {
            Some((_, names)) => names.push(name),
            None => whys.push((&first.why, vec![name])),
        }
    }
    whys.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
}

fn parts(page: &mut Page<'_>, title: &str, phases: &[&CallPhase]) -> fmt::Result {
    table_of_parts(page, title, phases)?;
    names(phases).into_iter().try_for_each(|name| how_known(page, name, phases))
}

fn table_of_parts(page: &mut Page<'_>, title: &str, phases: &[&CallPhase]) -> fmt::Result {
    let Some(first) = phases.first() else { return Ok(()) };
    let all = phases.iter().flat_map(|phase| &phase.parts).filter_map(|part| part.seconds);
    let scale = TimeScale::of(all.chain(phases.iter().map(|phase| phase.whole_s)));
    page.heading(&format!("{title} (mean of a call, {}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new().left(1);
    let head: Vec<&str> = ["Part", "How"].into_iter().chain(phases.iter().map(|phase| phase.call.as_str())).collect();
    table.head(&head);
    for name in names(phases) {
        let found = || phases.iter().filter_map(|phase| of(phase, name));
        let mut how: Vec<&str> = found().filter(|part| part.seconds.is_some()).map(|part| part.how.label()).collect();
        how.dedup();
        let how = if how.is_empty() { PartSource::Missing.label().to_owned() } else { how.join(", ") };
        let within = !matches!(name, "client CPU" | "client wait" | "remainder");
        let shown = phases.iter().map(|phase| scale.show_maybe(of(phase, name).and_then(|part| part.seconds)));
        table.row([format!("{}{name}", if within { "  " } else { "" }), how].into_iter().chain(shown).collect());
    }
    let mut row = |name: &str, how: &str, show: &dyn Fn(&CallPhase) -> String| {
        table
            .row([name.to_owned(), how.to_owned()].into_iter().chain(phases.iter().map(|phase| show(phase))).collect());
    };
    row("whole", "measured", &|phase| scale.show(phase.whole_s));
    row("response time", "measured", &|phase| scale.show_maybe(phase.response_s));
    row("client busy", "", &|phase| percent(phase.client_busy));
    if !first.local {
        row("server cores", "", &|phase| optional(phase.server_cores_busy, significant));
    }
    row("from disk", "", &|phase| optional(phase.from_disk, percent));
    if !first.local {
        row("disk reads/s", "", &|phase| optional(phase.disk_reads_per_s, significant));
    }
    row("outstanding", "", &|phase| phase.outstanding.to_string());
    row("calls", "", &|phase| phase.calls.to_string());
    page.table(&table)
}

/// Additional time of each call compared with the previous one: Joy's (1984) "incremental from that above".
fn increments(page: &mut Page<'_>, phases: &[&CallPhase]) -> fmt::Result {
    let later: Vec<&CallPhase> = phases.iter().copied().filter(|phase| phase.above.is_some()).collect();
    if later.is_empty() {
        return Ok(());
    }
    let all = later.iter().flat_map(|phase| &phase.parts).filter_map(|part| part.over_above_s);
    let scale = TimeScale::of(all.chain(later.iter().filter_map(|phase| phase.over_above_s)).map(f64::abs));
    page.heading(&format!("Difference from the call before ({}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&std::iter::once("Part").chain(later.iter().map(|phase| phase.call.as_str())).collect::<Vec<_>>());
    for name in names(&later) {
        let shown = later.iter().map(|phase| scale.show_maybe(of(phase, name).and_then(|part| part.over_above_s)));
        table.row(std::iter::once(name.to_owned()).chain(shown).collect());
    }
    let whole = later.iter().map(|phase| scale.show_maybe(phase.over_above_s));
    table.row(std::iter::once("whole".to_owned()).chain(whole).collect());
    page.table(&table)?;
    let order: Vec<&str> = phases.iter().map(|phase| phase.call.as_str()).collect();
    let note = format!(
        "Each number is the time of a call minus the time of the call before it, in this order: {}. A number is negative if the call was \
         faster than the call before it.",
        order.join(", ")
    );
    page.paragraph(Role::Quiet, "", &note)
}

/// Parts of any phase, in their order.
fn names<'a>(phases: &[&'a CallPhase]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for part in phases.iter().flat_map(|phase| &phase.parts) {
        if !names.contains(&part.part.as_str()) {
            names.push(&part.part);
        }
    }
    // It closes the sum, whichever phase has one.
    names.sort_by_key(|name| *name == "remainder");
    names
}

fn of<'a>(phase: &'a CallPhase, name: &str) -> Option<&'a CallPart> {
    phase.parts.iter().find(|part| part.part == name)
}

/// How a part is known: once, or by phase where that differs.
fn how_known(page: &mut Page<'_>, name: &str, phases: &[&CallPhase]) -> fmt::Result {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (part, phase) in phases.iter().filter_map(|phase| Some((of(phase, name)?, phase))) {
        match said.iter_mut().find(|(why, _)| *why == part.why) {
            Some((_, of)) => of.push(&phase.call),
            None => said.push((&part.why, vec![&phase.call])),
        }
    }
    let several = said.len() > 1;
    let words =
        |(why, of): &(&str, Vec<&str>)| if several { format!("{why} ({})", of.join(", ")) } else { (*why).to_owned() };
    let words: Vec<String> = said.iter().map(words).collect();
    page.paragraph(Role::Quiet, &format!("{name}: "), &words.join("; "))
}

/// How long each call took on the target and in a local directory, in a sentence or two.
pub(crate) fn answer(calls: &Calls) -> String {
    let of = |local: bool, place: &str| {
        let phases = calls.phases.iter().filter(|phase| phase.local == local);
        let one = |phase: &CallPhase| {
            let together =
                if phase.outstanding > 1 { format!(" ({} outstanding)", phase.outstanding) } else { String::new() };
            let took = phase.response_s.map_or_else(|| "unknown".to_owned(), time);
            format!("{} {took}{together}", phase.call)
        };
        let all: Vec<String> = phases.map(one).collect();
        (!all.is_empty()).then(|| format!("Mean response time of a call {place}: {}.", all.join(", ")))
    };
    let said: Vec<String> =
        [of(false, "on the target"), of(true, "in a local directory")].into_iter().flatten().collect();
    said.join(" ")
}

fn requests(page: &mut Page<'_>, calls: &[PathRequests]) -> fmt::Result {
    if calls.is_empty() {
        return Ok(());
    }
    if calls.iter().any(|call| call.first.is_some()) {
        counted(page, calls)?;
    }
    times(page, calls)
}

fn counted(page: &mut Page<'_>, calls: &[PathRequests]) -> fmt::Result {
    page.heading("Requests per call, by the depth of the path:")?;
    page.blank()?;
    let mut table = Table::new().left(1).left(5);
    table.head(&["Call", "Path", "Depth", "First", "Again", "Procedures of the first call"]);
    for call in calls {
        table.row(vec![
            call.call.clone(),
            call.path.clone(),
            call.depth.to_string(),
            optional(call.first, significant),
            optional(call.again, significant),
            run_lengths(&call.procedures),
        ]);
    }
    page.table(&table)?;
    let note = "First: first call on a new connection. Again: each later call.";
    page.paragraph(Role::Quiet, "", note)
}

/// Joy's (1984) 96 and 132 ms.
fn times(page: &mut Page<'_>, calls: &[PathRequests]) -> fmt::Result {
    let scale = TimeScale::of(calls.iter().flat_map(|call| [call.first_s, call.again_s, call.local_s]).flatten());
    page.heading(&format!("Time per call, by the depth of the path ({}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new().left(1);
    table.head(&["Call", "Path", "Depth", "First", "Again", "Local"]);
    for call in calls {
        let shown = [call.first_s, call.again_s, call.local_s].map(|time| scale.show_maybe(time));
        table.row([call.call.clone(), call.path.clone(), call.depth.to_string()].into_iter().chain(shown).collect());
    }
    page.table(&table)?;
    let note = "All times are medians. First: first call on a new connection. Again: each later call. Local: each later call in the local \
    directory.";
    page.paragraph(Role::Quiet, "", note)
}

/// `LOOKUP, LOOKUP, GETATTR` as `2 LOOKUP, GETATTR`.
pub(crate) fn run_lengths(procedures: &[String]) -> String {
    let run = |same: &[String]| match same {
        [one] => one.clone(),
        several => format!("{} {}", several.len(), several.first().map_or("", String::as_str)),
    };
    procedures.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(", ")
}

fn counters(page: &mut Page<'_>, counters: &[ServerCounter]) -> fmt::Result {
    if counters.is_empty() {
        return Ok(());
    }
    page.heading("The server's own counters (over all phases including their preparation):")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Counter", "Count", "Mean", "Waiting"]);
    let shown = |seconds: Option<f64>| seconds.map_or_else(|| NONE.to_owned(), time);
    for ServerCounter { name, count, mean_s, waiting_mean_s } in counters {
        table.row(vec![name.clone(), count.to_string(), shown(*mean_s), shown(*waiting_mean_s)]);
    }
    page.table(&table)?;
    match counters.iter().any(|counter| counter.waiting_mean_s.is_some()) {
        true => page.paragraph(
            Role::Quiet,
            "",
            "Waiting: part of the mean time in which the request waited inside the server.",
        ),
        false => Ok(()),
    }
}
