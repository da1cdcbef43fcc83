//! The diagnosis of a run: its maximum load, its knee, its bottleneck, and its schedule.

use plimsoll_model::Protocol;

use super::{interference, measured, percentiles, rate};
use crate::collect::{percent, plural};
use crate::findings::{
    Confidence, CurveMaximum, Diagnosis, Findings, LoadCurve, LoadLevel, Rule, Statement, Times, Verdict,
};
use crate::text::duration;

/// The load generator was the bottleneck: its threads were busy for this part of their time.
const GENERATOR_BUSY: f64 = 0.9;
/// It was not the bottleneck: its threads were busy for at most this fraction.
const GENERATOR_IDLE: f64 = 0.5;
/// The network was the bottleneck: the smoothed round trip is at least this fraction of the mean response time, and the minimum round
/// trip at least half of that.
const NETWORK_SHARE: f64 = 0.5;
/// It was not the bottleneck: the smoothed round trip is at most this fraction.
const NETWORK_ABSENT: f64 = 0.1;
/// The server takes most of the time only if the service times, which include its time, are at least this fraction of the response times.
const SERVER_SHARE: f64 = 0.5;
/// A schedule was not kept: less than this part of the iterations that were due ended.
const SCHEDULE_KEPT: f64 = 0.98;
/// Statuses of NFS 4 after which the client repeats the request later: NFS4ERR_DELAY, NFS4ERR_GRACE.
const LATER: [u32; 2] = [10_008, 10_013];
/// Minimum fraction of such responses that changes throughput or percentiles noticeably.
const LATER_SHARE: f64 = 0.01;
/// Causes named in a sentence.
const NAMED: usize = 2;

/// The diagnosis of a run, from the diagnosis `waiting` of its requests.
pub(super) fn diagnose(findings: &Findings, waiting: Diagnosis) -> Diagnosis {
    if findings.validity.verdict == Verdict::Invalid {
        // Nothing follows from numbers that must not be used, but that the load generator made them so.
        let statements: Vec<Statement> = generator(findings).into_iter().collect();
        return Diagnosis { statements, ..Diagnosis::default() };
    }
    let mut statements: Vec<Statement> = findings.curves.iter().flat_map(|curve| of_curve(findings, curve)).collect();
    statements.extend(interference::statements(&findings.interference));
    let at = decisive(findings);
    if statements.is_empty() {
        statements.extend(at.and_then(one_level));
    }
    statements.extend(at.and_then(postponed));
    statements.extend(at.and_then(schedule));
    statements.extend(generator(findings).or_else(|| at.and_then(bottleneck)));
    // The other rules for captures are for servers under other clients' load: nothing stands out, clients of a queue, and similar.
    let kept = |rule| matches!(rule, Rule::Operation | Rule::FewSlowRequests | Rule::Burst | Rule::Retransmission);
    statements.extend(waiting.statements.into_iter().filter(|one| kept(one.rule)));
    statements.extend(failures(findings));
    Diagnosis { waited_s: waiting.waited_s, statements, next: next(findings) }
}

/// The decisive level: the one with the highest throughput, otherwise the last valid one.
fn decisive(findings: &Findings) -> Option<&LoadLevel> {
    let peak = findings.curves.iter().find_map(|curve| curve.maximum.as_ref()).map(|peak| peak.level);
    let usable = || findings.remote_levels().filter(|level| level.facts.validity.valid && level.was_measured());
    usable().find(|level| Some(level.number) == peak).or_else(|| usable().last())
}

/// The highest throughput of a curve, and its knee.
fn of_curve(findings: &Findings, curve: &LoadCurve) -> Vec<Statement> {
    let Some(peak) = &curve.maximum else { return Vec::new() };
    let level = |number: u32| findings.levels.iter().find(|level| level.number == number);
    let Some(at) = level(peak.level) else { return Vec::new() };
    let response =
        at.headline_time().map_or_else(String::new, |times| format!(", with {}", percentiles(&times, " and ")));
    let rivals: Vec<String> = peak.not_shown_lower.iter().filter_map(|number| Some(level(*number)?.words())).collect();
    let rivals = match rivals.as_slice() {
        [] => String::new(),
        some => format!("; throughput at {} is not significantly lower", some.join(", ")),
    };
    let highest =
        format!("Highest throughput: {} op/s at {}{response}{rivals}.", rate(peak.operations_per_s), at.words());
    let mut found = vec![measured(Rule::Throughput, highest)];
    found.extend(knee(curve, at, is_alone(findings, curve, peak)));
    found
}

/// Whether throughput was shown to be lower at every other load: a level without an interval, or that must not be used, was not compared.
fn is_alone(findings: &Findings, curve: &LoadCurve, peak: &CurveMaximum) -> bool {
    let has_interval = |number: u32| {
        let mut levels = findings.levels.iter().filter(|level| level.number == number);
        levels.any(|level| level.facts.operations_per_s_interval.is_some())
    };
    let mut others = curve.points.iter().filter(|point| point.level != peak.level);
    let are_compared = others.all(|point| point.used && has_interval(point.level));
    peak.interval.is_some() && peak.not_shown_lower.is_empty() && are_compared
}

fn knee(curve: &LoadCurve, peak: &LoadLevel, alone: bool) -> Option<Statement> {
    let of = curve.curve.as_deref().map_or_else(String::new, |name| format!(" of {name}"));
    let last = curve.points.iter().rfind(|point| point.used)?;
    if let (Some(load), Some(interval)) = (curve.knee.load, curve.knee.interval) {
        let text = format!(
            "The knee{of} is at {knee} {unit} (95 % interval {low} to {high}): a higher load does not raise throughput.",
            knee = rate(load),
            unit = curve.load,
            low = rate(interval.low),
            high = rate(interval.high),
        );
        return Some(Statement { confidence: Confidence::Inferred, ..measured(Rule::Knee, text) });
    }
    // If the highest load is the best, and significantly better than every other, the server was not at its limit.
    (last.level == peak.number && alone).then(|| {
        let text =
            format!("Throughput{of} still rose at the highest load, {load}: test higher loads.", load = peak.words());
        measured(Rule::Knee, text)
    })
}

/// Throughput and response time of a run at one load.
fn one_level(level: &LoadLevel) -> Option<Statement> {
    let times = level.headline_time()?;
    let data = (level.read_bytes_per_s + level.write_bytes_per_s) / 1e6;
    let data = if data > 0.0 { format!(" and {} MB/s", rate(data)) } else { String::new() };
    let text = format!(
        "{rate} op/s{data} at {level}: response time{from} {percentiles}, max {max}.",
        rate = rate(level.operations_per_s),
        level = level.words(),
        from = level.headline.words(),
        percentiles = percentiles(&times, ", "),
        max = duration(times.max_s),
    );
    Some(measured(Rule::Throughput, text))
}

/// Responses that only ask to repeat the request later: numbers that include them say little of the server's work.
fn postponed(level: &LoadLevel) -> Option<Statement> {
    let rows = level.operations.iter().filter(|row| row.is_counted_once() && row.protocol == Protocol::Nfs4.label());
    let mut statuses: Vec<(&str, u64)> = Vec::new();
    for status in rows.flat_map(|row| &row.statuses).filter(|status| LATER.contains(&status.status)) {
        match statuses.iter_mut().find(|(name, _)| *name == status.name) {
            Some((_, count)) => *count = count.saturating_add(status.count),
            None => statuses.push((&status.name, status.count)),
        }
    }
    statuses.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let count = statuses.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    if count == 0 || (count as f64) < LATER_SHARE * level.count as f64 {
        return None;
    }
    let names: Vec<&str> = statuses.into_iter().map(|(name, _)| name).collect();
    // From the intended start, the times contain the waits.
    let waits = match level.headline.is_from_intended() {
        true => "",
        false => ", but not the waits before the client tried again",
    };
    let text = format!(
        "At {level}, {count} of {all} only asked the client to try again later ({names}): op/s and percentiles include these \
        responses{waits}.",
        level = level.words(),
        all = plural(level.count, "response"),
        names = names.join(", "),
    );
    Some(measured(Rule::ErrorStatuses, text))
}

/// Whether users ended in time, or as many iterations as were asked for.
fn schedule(level: &LoadLevel) -> Option<Statement> {
    if let Some(users) = level.users.filter(|users| users.due > 0) {
        let text = match users.late {
            0 => format!(
                "At {level}, all {iterations} ended before the user's next one was due.",
                level = level.words(),
                iterations = plural(users.due, "iteration")
            ),
            late => format!(
                "At {level}, {late} of {due} ended late or not at all ({share}): the server could not serve all users on schedule.",
                level = level.words(),
                due = plural(users.due, "iteration"),
                share = percent(users.overload)
            ),
        };
        return Some(measured(Rule::Schedule, text));
    }
    let asked = level.facts.asked_per_s.filter(|&asked| asked > 0.0)?;
    let asked = due_per_s(level).map_or(asked, |due| due.min(asked));
    let share = level.iterations_per_s / asked;
    (share < SCHEDULE_KEPT).then(|| {
        let text = format!(
            "The schedule asked for {asked} iterations/s, but only {ended} iterations/s ended ({share}).",
            asked = rate(asked),
            ended = rate(level.iterations_per_s),
            share = percent(share),
        );
        measured(Rule::Schedule, text)
    })
}

/// Iterations per second that were due in the phase; `None` if they were not counted. With arrivals at random, or a low rate, fewer may be
/// due than the rate says.
fn due_per_s(level: &LoadLevel) -> Option<f64> {
    // Without kinds of iterations, only those that were never sent are known.
    if level.facts.iterations.is_empty() {
        return None;
    }
    let begun = level.facts.iterations.iter().map(|kind| kind.ended.saturating_add(kind.unended));
    let due = begun.fold(level.facts.generator.never_sent, u64::saturating_add);
    let seconds = level.span.elapsed_s.filter(|&seconds| seconds > 0.0)?;
    (due > 0).then(|| due as f64 / seconds)
}

/// The load generator is the bottleneck, if its processors were busy.
fn generator(findings: &Findings) -> Option<Statement> {
    let busiest = findings
        .remote_levels()
        .filter(|level| level.was_measured() && level.operations_per_s > 0.0)
        .max_by(|a, b| a.facts.generator.cpu_share.total_cmp(&b.facts.generator.cpu_share))?;
    let share = busiest.facts.generator.cpu_share;
    (share >= GENERATOR_BUSY).then(|| {
        let text = format!(
            "The load generator is the bottleneck: at {level} its threads were busy for {share} of their time. Use more threads or \
            machines.",
            level = busiest.words(),
            share = percent(share.min(1.0)),
        );
        measured(Rule::Bottleneck, text)
    })
}

/// Network or server, where the round trip proves it.
fn bottleneck(level: &LoadLevel) -> Option<Statement> {
    let trip = level.facts.generator.round_trip?;
    let mean_s = level.response_time?.mean_s;
    if mean_s <= 0.0 || trip.smoothed_s <= 0.0 || level.facts.generator.cpu_share > GENERATOR_IDLE {
        return None;
    }
    let share = trip.smoothed_s / mean_s;
    let facts = format!(
        "At {level} the network round trip was {share} of the mean response time ({round_trip} of {mean}), and the load generator \
        was busy for {busy} of the time",
        level = level.words(),
        share = percent(share.min(1.0)),
        round_trip = duration(trip.smoothed_s),
        mean = duration(mean_s),
        busy = percent(level.facts.generator.cpu_share),
    );
    let is_served = || service_share(level).is_none_or(|of_service| of_service >= SERVER_SHARE);
    let whose = if share <= NETWORK_ABSENT && is_served() {
        "most of the time is spent in the server"
    } else if share >= NETWORK_SHARE && trip.least_s >= trip.smoothed_s / 2.0 {
        "the network is the bottleneck"
    } else {
        return None;
    };
    let text = format!("{facts}: {whose}.");
    Some(Statement { confidence: Confidence::Inferred, ..measured(Rule::Bottleneck, text) })
}

/// The part of the response times that is service time, to the first byte of the response; `None` if it was not measured. The rest is the
/// transfer of requests and responses, which a fast network shortens, too.
fn service_share(level: &LoadLevel) -> Option<f64> {
    let rows = level.operations.iter().filter(|row| row.is_counted_once());
    let times = rows.filter_map(|row| Some((row.service_time?, row.response_time?)));
    let (service, response) = times.fold((0.0, 0.0), |(service, response), (of_service, whole)| {
        let sum = |times: Times| times.count as f64 * times.mean_s;
        (service + sum(of_service), response + sum(whole))
    });
    (response > 0.0).then(|| service / response)
}

/// Failed actions by cause.
fn failures(findings: &Findings) -> Option<Statement> {
    let failed: u64 = findings.remote_levels().map(LoadLevel::failed).fold(0, u64::saturating_add);
    if failed == 0 {
        return None;
    }
    let mut causes: Vec<(&str, u64)> = Vec::new();
    let all = findings.remote_levels().flat_map(|level| &level.failures);
    for one in all.filter(|one| one.is_action()) {
        match causes.iter_mut().find(|(cause, _)| *cause == one.cause) {
            Some((_, count)) => *count = count.saturating_add(one.count),
            None => causes.push((&one.cause, one.count)),
        }
    }
    causes.sort_by_key(|&(cause, count)| (std::cmp::Reverse(count), cause));
    let named: Vec<String> = causes.iter().take(NAMED).map(|(cause, count)| format!("{cause} ({count})")).collect();
    let more = if causes.len() > NAMED { ", …" } else { "" };
    Some(measured(Rule::Failures, format!("{} failed: {}{more}.", plural(failed, "action"), named.join(", "))))
}

/// The next command: a breakdown of a call's time by layer, which a run does not have.
pub(super) fn next(findings: &Findings) -> Option<String> {
    let target = findings.target()?;
    let known = ["smb://", "nfs://", "file://", "embedded:"].iter().any(|scheme| target.starts_with(scheme));
    // As a shell takes it without quotes.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:@,".contains(c);
    (known && target.chars().all(plain)).then(|| format!("plimsoll breakdown {target}"))
}
