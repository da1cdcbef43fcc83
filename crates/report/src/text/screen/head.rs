//! The subject of the report, the verdict on its numbers, and their coverage.

use super::super::described;
use super::super::packets::labelled;
use super::super::page::{Page, Role, wrap};
use super::super::units::time;
use crate::collect::{missing, plural, thousands};
use crate::findings::{CONNECTION_ATTEMPT, Findings, Kind, LoadLevel, Verdict};
use crate::instant::Zone;
use crate::safe;
use std::fmt;

/// Maximum number of lines for the reasons: more if the numbers are INVALID, because nothing else matters then.
const REASONS: [usize; 2] = [6, 16];
/// Lines that a warning may take if other parts of the screen need the room.
pub(super) const WARNING: usize = 2;

/// `most`: lines that a warning may take.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings, most: usize) -> fmt::Result {
    let (role, word) = labelled(findings.validity.verdict);
    let room = page.width().saturating_sub(word.len() + 2);
    let name = page.paint(Role::Heading, &safe::fit_middle(&title(findings), room));
    let word = page.paint(role, word);
    page.line(&format!("{name}: {word}"))?;
    described::brief(page, findings)?;
    reasons(page, findings)?;
    page.paragraph(Role::Plain, "", &coverage(findings))?;
    if !findings.source.filters.is_empty() {
        page.paragraph(Role::Plain, "Filters: ", &findings.source.filter_words())?;
    }
    warnings(page, findings, most)
}

fn title(findings: &Findings) -> String {
    let name = match findings.source.inputs.as_slice() {
        [] => findings.name.clone(),
        [only] if only == "-" => "standard input".to_owned(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    };
    match &findings.run {
        Some(run) if findings.kind != Kind::Breakdown => format!("{name}, workload {}", run.workload),
        _ => name,
    }
}

/// Reasons against the numbers, as many as there is room for.
fn reasons(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let room = REASONS[usize::from(findings.validity.verdict == Verdict::Invalid)];
    let all: Vec<&str> = findings.validity.each_reason().map(|(_, reason)| reason).collect();
    let mut used = 0;
    for (place, reason) in all.iter().enumerate() {
        let lines = wrap(&safe::for_terminal(reason), page.width().saturating_sub(2)).len();
        let left = all.len() - place;
        if place > 0 && used + lines + usize::from(left > 1) > room {
            let words = if left == 1 { "1 more reason" } else { "more reasons" };
            let count = if left == 1 { String::new() } else { format!("{left} ") };
            return page.paragraph(Role::Caution, "! ", &format!("{count}{words}: --section packets"));
        }
        page.paragraph(Role::Caution, "! ", reason)?;
        used += lines;
    }
    Ok(())
}

/// When, how much, and whether anything is missing.
fn coverage(findings: &Findings) -> String {
    let mut words = match (findings.span.first_ns, findings.span.last_ns, findings.span.elapsed_s) {
        (Some(first), Some(last), Some(elapsed)) => {
            let covered = findings.span.covered_s().filter(|_| findings.span.between_files_s > 0.0);
            let covered = covered.map_or_else(String::new, |s| format!("; the capture files cover {}", time(s)));
            format!("{} ({}{covered}): ", Zone::shown().span(first, last), time(elapsed))
        }
        _ => String::new(),
    };
    let counted = findings.operations.iter().filter(|row| row.is_counted_once());
    let requests: u64 = counted.map(|row| row.count).sum();
    words.push_str(&plural(requests, "request"));
    let waiting = findings.long_lived.iter().filter(|row| row.is_counted_once());
    let waiting: u64 = waiting.map(|row| row.count).sum();
    // No call of `breakdown` waits by design.
    let has_calls = findings.run.as_ref().is_some_and(|run| run.calls.is_some());
    if waiting > 0 && !has_calls {
        let wait = if waiting == 1 { "waits" } else { "wait" };
        words.push_str(&format!(" (and {} that {wait} by design: --section long-lived)", thousands(waiting)));
    }
    // With a filter these requests may use fewer connections.
    if findings.connections > 0 && findings.source.filters.is_empty() {
        // For a run this is the planned number: after failed attempts, not all of them may have existed.
        let failed = |level: &LoadLevel| level.failures.iter().any(|one| one.cause.starts_with(CONNECTION_ATTEMPT));
        let bound = if findings.levels.iter().any(failed) { "at most " } else { "" };
        words.push_str(&format!(" on {bound}{}", plural(findings.connections, "connection")));
    }
    // The requests are those to the server, so phases in a local directory are not counted.
    let levels = findings.remote_levels().count();
    if levels > 1 {
        let run = findings.run.as_ref();
        // A search tries a load more than once; a breakdown makes one kind of call per phase.
        let (at, what) =
            match (run.is_some_and(|run| run.capacity.is_some()), run.is_some_and(|run| run.calls.is_some())) {
                (true, _) => ("in", "trial"),
                (false, true) => ("in", "phase"),
                (false, false) => ("at", "load level"),
            };
        match findings.interference.first() {
            Some(_) => words.push_str(" while all workloads ran at the same time"),
            None => words.push_str(&format!(" {at} {}", plural(levels as u64, what))),
        }
    }
    // Where something is missing, the reasons above say so.
    if findings.validity.verdict == Verdict::Valid && findings.run.is_none() {
        words.push_str(&format!(". {}", missing::headline(findings)));
    } else {
        words.push('.');
    }
    words
}

/// The first warning if it has at most `most` lines, and how many there are.
fn warnings(page: &mut Page<'_>, findings: &Findings, most: usize) -> fmt::Result {
    let Some((first, others)) = findings.warnings.split_first() else { return Ok(()) };
    let short = wrap(&safe::for_terminal(first), page.width().saturating_sub(9)).len() <= most;
    if short {
        page.paragraph(Role::Caution, "Warning: ", first)?;
    }
    let more = if short { "more " } else { "" };
    match others.len() + usize::from(!short) {
        0 => Ok(()),
        1 => page.paragraph(Role::Caution, "", &format!("1 {more}warning: --section packets")),
        left => page.paragraph(Role::Caution, "", &format!("{left} {more}warnings: --section packets")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::calls::{CallPhase, Calls};
    use crate::findings::{FailureCount, OperationRow, Run};

    #[test]
    fn connections_that_could_not_be_made_are_not_counted_as_there() {
        let mut findings = Findings { connections: 12, levels: vec![LoadLevel::default()], ..Findings::default() };
        findings.run = Some(Run::default());
        assert_eq!(coverage(&findings), "0 requests on 12 connections.");
        let cause = format!("{CONNECTION_ATTEMPT}connection reset");
        findings.levels[0].failures = vec![FailureCount { cause, count: 9 }];
        assert_eq!(coverage(&findings), "0 requests on at most 12 connections.");
    }

    #[test]
    fn requests_that_wait_by_design_are_counted_beside_the_others() {
        let row = |count, parent: Option<&str>| {
            let parent = parent.map(str::to_owned);
            OperationRow { count, parent, ..OperationRow::default() }
        };
        let (operations, run) = (vec![row(53, None)], Some(Run::default()));
        let mut findings = Findings { operations, run, ..Findings::default() };
        assert_eq!(coverage(&findings), "53 requests.");
        findings.long_lived = vec![row(33, None), row(2, Some("TRANSACTION2"))];
        assert_eq!(coverage(&findings), "53 requests (and 33 that wait by design: --section long-lived).");
        findings.long_lived[0].count = 1;
        assert!(coverage(&findings).contains("(and 1 that waits by design:"), "{}", coverage(&findings));
    }

    #[test]
    fn the_first_line_says_how_much_time_the_capture_files_cover() {
        let mut findings = Findings::default();
        findings.span.first_ns = Some(0);
        findings.span.last_ns = Some(100_000_000_000);
        findings.span.elapsed_s = Some(100.0);
        assert!(coverage(&findings).contains(" (100 s): 0 requests"), "{}", coverage(&findings));
        findings.span.between_files_s = 80.0;
        assert!(coverage(&findings).contains(" (100 s; the capture files cover 20.0 s): "), "{}", coverage(&findings));
    }

    #[test]
    fn only_phases_on_the_target_are_counted() {
        let levels = (0..3).map(|number| LoadLevel { number, ..LoadLevel::default() }).collect();
        let mut findings = Findings { levels, run: Some(Run::default()), ..Findings::default() };
        assert_eq!(coverage(&findings), "0 requests at 3 load levels.");
        let phases = vec![CallPhase { level: 2, local: true, ..CallPhase::default() }];
        let calls = Some(Box::new(Calls { phases, ..Calls::default() }));
        findings.run = Some(Run { calls, ..Run::default() });
        assert_eq!(coverage(&findings), "0 requests in 2 phases.");
    }
}
