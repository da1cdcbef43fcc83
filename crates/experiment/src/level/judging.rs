//! Converts the results of a level for a report, and judges them.

use plimsoll_drive::engine::{self, ClientTally, EngineResult, Plan};
use plimsoll_model::{Reason, Validity, Verdict};
use plimsoll_report::collect::clients::spread;
use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts, operations_together};
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{Interruption, LevelFacts, Times};
use plimsoll_stats::{Intervals, Statistics};
use plimsoll_workload::{Load, Pause};

use super::confidence::ConfidenceIntervals;
use super::counts::{
    alike, answered_in_it, failures, fairness, iteration_kind, keeping_up, machines_fault, server_failed,
    session_requests, share,
};
use super::disruption;
use super::frequent_status::most_frequent_of_clients;
use super::given_up;
use super::judgement::Judgement;
use super::outages;
use super::pace::pace;
use super::result::LevelResult;
use crate::lateness::alone_and_beside;
use crate::parts::part_result::PartResult;
use crate::validity;

/// Ends a level: judges it, and, if it is a part, stores the data for merging.
pub(crate) fn ended(
    statistics: Statistics,
    intervals: Option<Intervals>,
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
) -> LevelResult {
    let part = plan.part.map(|_| Box::new(PartResult::of(ran.clone())));
    let ending = (End::of(&ran, plan), processors());
    LevelResult { part, ..judged(statistics, intervals, ran, plan, words, ending) }
}

/// Ends a level that several processes measured together: this process may use other `processors` than all of them.
pub(crate) fn ended_together(
    (statistics, intervals): (Statistics, Option<Intervals>),
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
    processors: usize,
) -> LevelResult {
    let ending = (End::of(&ran, plan), processors);
    judged(statistics, intervals, ran, plan, words, ending)
}

/// The data so far of a level that may not end.
pub(crate) fn unfinished(
    (statistics, intervals): (Statistics, Option<Intervals>),
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
) -> LevelResult {
    judged(statistics, intervals, ran, plan, words, (End::Unknown, processors()))
}

/// How a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Planned,
    Stopped,
    /// No client made load at the end.
    GaveUp,
    /// These are its last numbers; why there are no later ones is unknown.
    Unknown,
}

impl End {
    fn of(ran: &EngineResult<()>, plan: &Plan) -> Self {
        match () {
            () if ran.stopped => End::Stopped,
            () if given_up::ended_early(ran, plan) => End::GaveUp,
            () => End::Planned,
        }
    }
}

/// Processors that this process may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The input of the checks, from the workers' counts.
pub(crate) fn judged_of<'a>(
    plan: &Plan,
    (generator, clients): (&'a engine::Generator, &'a [ClientTally]),
    measured: (i64, i64),
    response: Option<Times>,
) -> validity::Level<'a> {
    validity::Level {
        generator,
        clients,
        users: users_of(plan).is_some(),
        pauses: matches!(plan.load, Load::Closed { think, .. } if think != Pause::None),
        unended: 0,
        response,
        status: None,
        seconds: (measured.1 - measured.0) as f64 / 1e9,
        slots: plan.outstanding(),
        processors: processors(),
    }
}

fn judged(
    statistics: Statistics,
    intervals: Option<Intervals>,
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
    (end, processors): (End, usize),
) -> LevelResult {
    let EngineResult { clients, iterations: kinds, generator, measured, silences, targets, .. } = ran;
    let (response, users) = (response(&statistics), users_of(plan));
    let scheduled = users.is_some();
    let status = most_frequent_of_clients(&statistics, &clients);
    let unended = kinds.iter().map(|kind| kind.unended).sum();
    let of_this_process = judged_of(plan, (&generator, &clients), measured, response);
    let seen = validity::Level { status, unended, processors, ..of_this_process };
    let silence = disruption::silence(&silences, &generator.unanswered, &statistics);
    // What the server did stands before the lateness of the generator.
    let mut reasons = outages::reasons(&silence, (&silences, &outages::targets(&targets)), &clients, measured);
    reasons.extend(given_up::reason(&clients, plan, measured, (end == End::GaveUp, silence.without_answer_s)));
    let unserved = unserved(&seen, &reasons);
    reasons.extend(validity::reasons(&seen));
    let short_reads = disruption::short_reads(&clients);
    let planned_s = plan.phases.measured_ns.map(|ns| ns as f64 / 1e9);
    let interruption = (end != End::Planned).then_some(Interruption { after_s: seen.seconds, planned_s });
    let words = plan.part.map_or_else(|| words.to_owned(), |part| format!("{words}, part {part}"));
    let (words, stopped, ends) = ending(end, words, interruption);
    let (unanswered, answered) = ((generator.unanswered, plan.phases.drain_ns), generator.answered.requests);
    reasons.extend(disruption::reasons(&silence, short_reads, unanswered, stopped, answered));
    reasons.extend(disruption::unbound(generator.bindings_at_stop));
    reasons.extend(disruption::given_up(&generator.channels_given_up, plan.connections_in_all()));
    reasons.extend(ends.map(|at| disruption::not_finished(at, measured.1)));
    let confidence =
        intervals.as_ref().map_or_else(ConfidenceIntervals::default, |whole| ConfidenceIntervals::of(whole, measured));
    let answered = answered_in_it(&generator);
    // `LevelResult` adds its place in the run, and the numbers of the server.
    let facts = LevelFacts {
        load_name: words,
        clients: clients.len() as u64,
        depth: plan.depth,
        asked_per_s: generator.asked_rate,
        pace: pace(plan),
        operations_per_s_interval: confidence
            .throughput(answered.requests, operations_together(&statistics).answered()),
        response_mean_interval: confidence.response_mean,
        generator: keeping_up(&seen),
        fairness: fairness(&clients, alike(&generator, response)),
        spread: spread(&clients.iter().map(share).collect::<Vec<_>>(), alike(&generator, response)),
        connections: plan.connections_in_all(),
        validity: Validity::default(),
        silence,
        short_reads,
        interruption,
        iterations: kinds.iter().map(iteration_kind).collect(),
        session_requests: session_requests(&generator.session_requests),
        ..LevelFacts::default()
    };
    let mut about = RecordedFacts {
        facts,
        claimed_source: None,
        answered: Some(answered),
        failures: failures(&clients),
        users,
        overtime_s: scheduled.then_some(generator.overtime_ns as f64 / 1e9),
    };
    let iterations = clients.iter().map(|client| client.iterations).sum();
    let threads = u32::try_from(generator.workers.len()).unwrap_or(u32::MAX);
    let late_iterations = if scheduled { kinds.iter().map(|kind| kind.late + kind.unended).sum() } else { 0 };
    let judgement = Judgement { late_iterations, unserved, gave_up: end == End::GaveUp, ..judgement(&seen, reasons) };
    about.facts.validity = judgement.validity();
    let recorded = MeasuredLevel {
        statistics,
        span_ns: measured,
        iterations,
        about,
        threads,
        complete: end == End::Planned,
        generators_fault: validity::generators_fault(&seen),
        invalid_by_generator: judgement.is_invalid_by_generator(),
    };
    LevelResult { recorded, intervals, part: None, judgement }
}

/// The load of a level in words, with its end, and its interruption: if it was stopped, and if its end is unknown.
fn ending(
    end: End,
    words: String,
    interruption: Option<Interruption>,
) -> (String, Option<Interruption>, Option<Interruption>) {
    match end {
        // If all clients gave up, the reason says more.
        End::Planned | End::GaveUp => (words, None, None),
        End::Stopped => (format!("{words}{}", Interruption::WORDS), interruption, None),
        End::Unknown => (format!("{words} (not finished)"), None, interruption),
    }
}

/// Faults of the server with which a level misses any objective. Failures in the measured phase are counted apart. `reasons`: those that
/// outages and clients that gave up give against the level.
fn unserved(level: &validity::Level<'_>, reasons: &[Reason]) -> Vec<String> {
    let most_of_it = reasons.iter().filter(|reason| reason.verdict == Verdict::Invalid);
    validity::unserved(level).into_iter().chain(most_of_it.map(|reason| reason.text.clone())).collect()
}

/// The reasons against a level, and the data for a search that follow from the input of the checks.
fn judgement(level: &validity::Level<'_>, reasons: Vec<Reason>) -> Judgement {
    let clients = level.clients;
    Judgement {
        reasons,
        late: alone_and_beside(level),
        due: level.users.then(|| clients.iter().map(|client| client.due_iterations).sum()),
        asked: Some(clients.iter().map(ClientTally::asked).sum()),
        on_time: validity::on_time(level),
        busy: validity::busy(level),
        behind: validity::behind(level),
        behind_by_generator: validity::behind_by_generator(level),
        ended_later: validity::ended_later(level),
        long_iterations: validity::long_iterations(level),
        server_failed: server_failed(clients),
        machines_fault: machines_fault(clients),
        may_hang: disruption::may_hang(level.generator, clients),
        unusable: validity::refused_at_any_rate(level),
        of_the_generator: validity::reasons_of_the_generator(level),
        ..Judgement::default()
    }
}

/// Number of users with schedules; `None` if there are none.
fn users_of(plan: &Plan) -> Option<u64> {
    matches!(plan.load, Load::Partly { .. }).then(|| plan.clients().into())
}

/// Response times of all operations together.
pub(crate) fn response(statistics: &Statistics) -> Option<Times> {
    times_of(&operations_together(statistics).response())
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::{Generator, IterationTally};
    use plimsoll_stats::Options;
    use plimsoll_workload::Arrivals;

    use super::*;
    use crate::tests::connection_failures::ran;

    /// Each iteration begins on time. Those that are outstanding when the drain gives up are in no number.
    #[test]
    fn iterations_that_never_end_do_not_keep_a_rate() {
        let plan = Plan::new(Load::Open { clients: 1, rate: 100.0, arrivals: Arrivals::Constant });
        let (asked_rate, planned, achieved_rate) = (Some(100.0), 100, 50.0);
        let generator = Generator { asked_rate, planned, achieved_rate, ..Generator::default() };
        let client = ClientTally { actions: 50, iterations: 50, connected: true, ..ClientTally::default() };
        let of = |unended: u64| {
            let iterations = vec![IterationTally { ended: planned - unended, unended, ..IterationTally::default() }];
            let of_client = ran(vec![client.clone()], (0, 1_000_000_000));
            let ran = EngineResult { iterations, generator: generator.clone(), ..of_client };
            let level = ended(Statistics::new(Options::default()), None, ran, &plan, "some load");
            (level.behind().is_some(), level.ended_later().is_some())
        };
        assert_eq!([of(50), of(4)], [(true, false), (false, true)]);
    }

    /// The times of the requests before the outage may meet the objective of a search.
    #[test]
    fn an_outage_of_most_of_the_phase_misses_any_objective() {
        const S: i64 = 1_000_000_000;
        let plan = Plan::new(Load::Closed { clients: 1, think: Pause::None });
        let found = |silence: (i64, i64)| {
            let client = ClientTally { actions: 50, iterations: 50, connected: true, ..ClientTally::default() };
            let ran = EngineResult { silences: vec![silence], ..ran(vec![client], (0, 40 * S)) };
            ended(Statistics::new(Options::default()), None, ran, &plan, "some load").unserved().to_vec()
        };
        let most = found((10 * S, 40 * S));
        let said = "the server sent no response to any action for 30.00 s of 40.00 s";
        assert!(most.len() == 1 && most[0].starts_with(said), "{most:?}");
        assert_eq!(found((10 * S, 20 * S)), Vec::<String>::new());
    }
}
