//! Whether a level kept its schedule: iterations that were due and did not end, and why.

use plimsoll_report::significant;

use super::input::Level;

/// Iterations that ended, of those asked for.
const ACHIEVED: f64 = 0.95;
/// Missing iterations that chance alone may explain.
const FEWEST_MISSING: f64 = 3.0;

/// Fewer iterations were over than were due, and some were not begun on time, or never ended.
pub(crate) fn behind(level: &Level<'_>) -> Option<String> {
    let asked = missed_rate(level).filter(|_| !follows_its_schedule(level))?;
    let generator = level.generator;
    let unended = Some(level.unended).filter(|unended| *unended > 0);
    Some(format!(
        "the rate was not reached: {achieved:.1} of {asked:.1} iterations/s (limit: at least {limit:.0} %){missing}{backlog}{remedy}",
        achieved = generator.achieved_rate,
        limit = ACHIEVED * 100.0,
        missing = missing(generator.never_sent, level.unended),
        backlog = backlog(level),
        remedy = unended.map_or("", |_| "; if iterations take longer than the drain, use a longer --warmup")
    ))
}

/// The planned iterations that were never started, and those that never ended.
pub(super) fn missing(never_started: u64, unended: u64) -> String {
    let planned = |count: u64| match count {
        1 => "1 planned iteration".to_owned(),
        count => format!("{count} planned iterations"),
    };
    let were = if never_started == 1 { "was" } else { "were" };
    match (never_started, unended) {
        (0, 0) => String::new(),
        (0, unended) => format!("; {} never ended", planned(unended)),
        (count, 0) => format!("; {} {were} never started", planned(count)),
        (count, unended) => format!("; {} {were} never started, and {unended} never ended", planned(count)),
    }
}

/// The same, if a load generator that is late or busy may be the only cause: it begins iterations late, or not at all. If iterations that
/// began never end, this is the server's fault.
pub(crate) fn behind_by_generator(level: &Level<'_>) -> Option<String> {
    behind(level).filter(|_| level.unended as f64 <= (1.0 - ACHIEVED) * level.generator.planned as f64)
}

/// Fewer iterations were over than were due, although they began on time and ended later: the load was as asked for.
pub(crate) fn ended_later(level: &Level<'_>) -> Option<String> {
    let asked = missed_rate(level).filter(|_| follows_its_schedule(level))?;
    let planned = level.generator.planned;
    let few = planned as f64 * (1.0 - ACHIEVED) < FEWEST_MISSING;
    let chance = if few { format!(", or it is chance, because only {planned} were due") } else { String::new() };
    Some(format!(
        "iterations began on time, but fewer ended in the measured phase than were due in it: {achieved} of {asked} iterations/s (limit: \
        at least {limit:.0} %); they take longer than the warm-up (use a longer --warmup), or the server falls behind (use a lower \
        rate){chance}",
        achieved = significant(level.generator.achieved_rate),
        asked = significant(asked),
        limit = ACHIEVED * 100.0
    ))
}

/// Why fewer iterations were over than were due, and the share of those due that ended in the phase, if all began on time: they may be too
/// long for the warm-up, or for the drain.
pub(crate) fn long_iterations(level: &Level<'_>) -> Option<(String, f64)> {
    let generator = level.generator;
    let (due, began_late) = (generator.planned as f64, (generator.never_sent + generator.late_starts) as f64);
    let why = ended_later(level).or_else(|| behind(level)).filter(|_| began_late <= (1.0 - ACHIEVED) * due)?;
    let ended: u64 = level.clients.iter().map(|client| client.iterations).sum();
    Some((why, ended as f64 / due))
}

/// The rate that was due, if clearly fewer iterations were over. Of arrivals at random, not always as many are due as were asked for.
fn missed_rate(level: &Level<'_>) -> Option<f64> {
    let generator = level.generator;
    let scheduled = !level.users && generator.planned > 0;
    let asked = generator.asked_rate.filter(|_| scheduled)?.min(generator.planned as f64 / level.seconds);
    (generator.achieved_rate < ACHIEVED * asked).then_some(asked)
}

/// Whether the iterations of the schedule found a free slot when they were due, and ended at some time. An iteration that never
/// ended is in no number.
fn follows_its_schedule(level: &Level<'_>) -> bool {
    let generator = level.generator;
    let missing = generator.never_sent + generator.late_starts + level.unended;
    missing as f64 <= (1.0 - ACHIEVED) * generator.planned as f64
}

/// A note about the numbers of a level whose schedule the server could not keep: they seem inconsistent with the length of the phase.
fn backlog(level: &Level<'_>) -> String {
    let generator = level.generator;
    if generator.planned > 0 && generator.never_sent == generator.planned {
        return ", that is, every iteration due in the phase; the requests in the phase belong to earlier iterations"
            .to_owned();
    }
    let longest = generator.lateness.from_intended.measured.moments().max_ns().map(|ns| ns as f64 / 1e9);
    longest.filter(|&longest| longest > level.seconds).map_or_else(String::new, |longest| {
        format!(
            "; response times from the intended start reach {longest:.2} s, which is longer than the phase ({:.2} s): each response time \
             includes the wait for a free client, and some responses came after the phase",
            level.seconds
        )
    })
}
