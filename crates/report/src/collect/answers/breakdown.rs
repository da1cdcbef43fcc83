//! The diagnosis of a breakdown: which part of a call takes most of its time, and how much a server adds to a local directory.

use super::measured;
use crate::collect::percent;
use crate::findings::calls::{CallPart, CallPhase, Calls, LocalCall, PartSource};
use crate::findings::{Confidence, Diagnosis, Findings, Rule, Statement, Verdict};
use crate::text::duration;

/// A part that is named has this part of the call's time.
const NAMED_FROM: f64 = 0.25;
/// A call that is called slower than locally takes this many times as long.
const SLOWER: f64 = 1.25;

pub(super) fn diagnose(findings: &Findings, calls: &Calls) -> Diagnosis {
    if findings.validity.verdict == Verdict::Invalid {
        return Diagnosis::default();
    }
    // If calls overlap, parts of one are hidden behind another.
    let alone = calls.phases.iter().filter(|phase| !phase.local && phase.outstanding <= 1);
    let mut statements: Vec<Statement> = alone.filter_map(largest).collect();
    statements.extend(beside_local(calls));
    statements.extend(unlike_caches(calls));
    Diagnosis { waited_s: None, statements, next: None }
}

/// The largest of the parts that add up to the call.
fn largest(phase: &CallPhase) -> Option<Statement> {
    let known = |part: &&CallPart| part.adds && part.part != "remainder" && part.seconds.is_some();
    let seconds = |part: &CallPart| part.seconds.unwrap_or(0.0);
    let mut parts: Vec<&CallPart> = phase.parts.iter().filter(known).collect();
    parts.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    let (first, others) = parts.split_first()?;
    let share = |part: &CallPart| seconds(part) / phase.whole_s;
    if phase.whole_s <= 0.0 || !(NAMED_FROM..=1.0).contains(&share(first)) {
        return None;
    }
    let second = others.first().filter(|part| share(part) >= NAMED_FROM);
    let second = second.map_or_else(String::new, |part| format!(", {} is {}", percent(share(part)), part.part));
    let text = format!(
        "The mean {call} call takes {takes}: {share} is {part}{second}.",
        call = phase.call,
        takes = duration(phase.whole_s),
        part = first.part,
        share = percent(share(first)),
    );
    let confidence = if first.how == PartSource::Measured { Confidence::Measured } else { Confidence::Inferred };
    Some(Statement { confidence, ..measured(Rule::Part, text) })
}

/// A warning about calls that read a disk on the server and a cache locally, or vice versa, or from unknown sources: the caches were in
/// different states, so the difference of the times is not the cost of being remote.
fn unlike_caches(calls: &Calls) -> Option<Statement> {
    let unlike = calls.beside_local.iter().filter(|one| !calls.comparable(&one.call));
    let shares = |one: &LocalCall| {
        let [remote, local] =
            calls.from_disk(&one.call).map(|share| share.map_or_else(|| "unknown".to_owned(), percent));
        format!("{}: server {remote}, local directory {local}", one.call)
    };
    let named: Vec<String> = unlike.map(shares).collect();
    (!named.is_empty()).then(|| {
        let text = format!(
            "The times on the server and in the local directory are not comparable, because the share of the data that came from disks \
            differs or is unknown ({}). Use --server-pid or --server-metrics to measure this share on the server. Use --empty-caches or \
            a --size larger than the server's memory to make the server read from its disks.",
            named.join("; ")
        );
        measured(Rule::Local, text)
    })
}

/// The call that loses most by being remote.
fn beside_local(calls: &Calls) -> Option<Statement> {
    let comparable = calls.beside_local.iter().filter(|one| one.local_s > 0.0 && calls.comparable(&one.call));
    let most = comparable.max_by(|a, b| (a.remote_s / a.local_s).total_cmp(&(b.remote_s / b.local_s)))?;
    let times = most.remote_s / most.local_s;
    (times >= SLOWER).then(|| {
        let text = format!(
            "{call} takes {times:.1} times as long on the server as in a local directory ({remote} against {local}).",
            call = most.call,
            remote = duration(most.remote_s),
            local = duration(most.local_s),
        );
        measured(Rule::Local, text)
    })
}
