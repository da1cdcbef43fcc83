//! Clients that gave up their connections: from then on the load was lower than the report says.

use plimsoll_drive::engine::{ClientTally, EngineResult, GivenUp, Plan};
use plimsoll_model::Reason;
use plimsoll_report::significant;
use plimsoll_workload::Load;

use super::outages::MOST_SILENT;
use crate::validity::add;

/// Maximum fraction of the clients' time that a closed loop may lack. If it lacks more, the load was not that of so many clients. A rate has the
/// same limit.
const MOST_MISSING: f64 = 0.05;

/// How the reason against a level begins that ended early because all clients had given up.
pub(crate) const EARLY_END: &str = "the level ended early";

/// Whether a level ended before its planned end because all clients had given up.
pub(crate) fn ended_early(ran: &EngineResult<()>, plan: &Plan) -> bool {
    let given_up = ran.clients.iter().filter_map(|client| client.given_up);
    let slots: u64 = given_up.map(|given_up| u64::from(given_up.slots)).sum();
    let is_early = plan.phases.measured_ns.is_none_or(|planned| length_ns(ran.measured) < planned);
    !ran.stopped && slots >= plan.outstanding() && is_early
}

/// The reason against a level in which clients gave up; `None` if none did. `ended`: the level ended because of this. It had outages of
/// `without_answer_s`.
pub(super) fn reason(
    clients: &[ClientTally],
    plan: &Plan,
    measured: (i64, i64),
    (ended, without_answer_s): (bool, f64),
) -> Option<Reason> {
    match ended {
        true => Some(early_end(clients, plan, measured, without_answer_s)),
        false => lower_load(clients, plan, measured),
    }
}

/// The reason against a level that ended early.
fn early_end(clients: &[ClientTally], plan: &Plan, measured: (i64, i64), without_answer_s: f64) -> Reason {
    let after_s = length_ns(measured) as f64 / 1e9;
    let planned_s = plan.phases.measured_ns.map(|ns| ns as f64 / 1e9);
    let of = planned_s.map_or_else(String::new, |planned_s| format!(" of {planned_s:.1} s"));
    let text = format!(
        "{EARLY_END}, after {after_s:.1} s{of}: no client was connected any more, and all had stopped their attempts to \
        connect{}",
        cause(clients)
    );
    // In the rest of the planned phase there was no response either.
    let is_most = |planned_s: f64| planned_s - after_s + without_answer_s > MOST_SILENT * planned_s;
    if planned_s.is_some_and(is_most) { Reason::invalid(text) } else { Reason::partial(text) }
}

/// The reason against a level to which some clients contributed only until they gave up.
fn lower_load(clients: &[ClientTally], plan: &Plan, measured: (i64, i64)) -> Option<Reason> {
    // Clients without an action have a gate of their own.
    let gone: Vec<GivenUp> = clients.iter().filter(|client| client.actions > 0).filter_map(|it| it.given_up).collect();
    if gone.is_empty() {
        return None;
    }
    let all_ns = plan.outstanding() as f64 * length_ns(measured) as f64;
    let lacks_ns = |gone: &GivenUp| f64::from(gone.slots) * length_ns((gone.since.max(measured.0), measured.1)) as f64;
    let missing = gone.iter().map(lacks_ns).sum::<f64>() / all_ns;
    let is_closed = matches!(plan.load, Load::Closed { .. });
    let limit = if is_closed { format!(" (limit {:.0} %)", MOST_MISSING * 100.0) } else { String::new() };
    let text = format!(
        "{count} of {all} clients lost {their} and could not connect again{cause}: the load lacks {missing} % of the clients' time{limit}",
        count = gone.len(),
        all = clients.len(),
        their = if gone.len() == 1 { "its connection" } else { "their connections" },
        cause = cause(clients),
        missing = significant(missing * 100.0),
    );
    let is_invalid = is_closed && missing > MOST_MISSING;
    Some(if is_invalid { Reason::invalid(text) } else { Reason::partial(text) })
}

/// Why clients that gave up could not connect, in brackets.
fn cause(clients: &[ClientTally]) -> String {
    let mut causes = Vec::new();
    let failures = clients.iter().filter(|client| client.given_up.is_some()).flat_map(|it| &it.connection_failures);
    for failure in failures.filter(|failure| !failure.was_up) {
        add(&mut causes, failure.cause, failure.count);
    }
    let most = if causes.len() > 1 { "most frequent cause" } else { "cause" };
    let found = causes.into_iter().max_by_key(|&(_, count)| count);
    found.map_or_else(String::new, |(cause, _)| format!(" ({most}: {})", cause.label()))
}

fn length_ns((from, to): (i64, i64)) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Verdict;
    use plimsoll_stats::{Options, Statistics};
    use plimsoll_workload::{Arrivals, Pause, Phases};

    use super::super::judging::ended;
    use super::*;
    use crate::level::LevelResult;
    use crate::tests::connection_failures::{ran, refused};

    const S: i64 = 1_000_000_000;

    fn plan(load: Load, seconds: u64) -> Plan {
        let phases = Phases { measured_ns: Some(seconds * 1_000_000_000), ..Phases::default() };
        Plan { phases, ..Plan::new(load) }
    }

    fn closed(clients: u32) -> Load {
        Load::Closed { clients, think: Pause::Constant(45_000_000) }
    }

    fn works(client_index: u32) -> ClientTally {
        ClientTally { client_index, actions: 3_000, iterations: 3_000, connected: true, ..ClientTally::default() }
    }

    /// The client lost its connection after this many seconds, and gave up.
    fn gone(client_index: u32, after_s: i64) -> ClientTally {
        let connection_failures = vec![refused(true, true, 1), refused(false, true, 10)];
        let given_up = Some(GivenUp { since: after_s * S, slots: 1 });
        ClientTally { actions: 1_500, connected: false, connection_failures, given_up, ..works(client_index) }
    }

    fn judged(ran: EngineResult<()>, plan: &Plan) -> LevelResult {
        ended(Statistics::new(Options::default()), None, ran, plan, "some load")
    }

    fn about_clients(level: &LevelResult, words: &str) -> Option<(Verdict, String)> {
        let mut reasons = level.validity().each_reason();
        reasons.find(|(_, text)| text.contains(words)).map(|(verdict, text)| (verdict, text.to_owned()))
    }

    #[test]
    fn a_client_that_gave_up_makes_the_load_lower_than_the_report_says() {
        let of = |load: Load, clients: Vec<ClientTally>| {
            let level = judged(ran(clients, (0, 60 * S)), &plan(load, 60));
            assert!(level.complete() && !level.gave_up());
            about_clients(&level, "could not connect again")
        };
        let half = of(closed(2), vec![works(0), gone(1, 9)]);
        let said = "1 of 2 clients lost its connection and could not connect again (cause: connection refused): the load lacks 42.5 % of \
            the clients' time (limit 5 %)";
        assert_eq!(half, Some((Verdict::Invalid, said.to_owned())));
        let late = of(closed(2), vec![works(0), gone(1, 55)]);
        assert!(late.is_some_and(|(verdict, text)| verdict == Verdict::Partial && text.contains("lacks 4.17 % of")));
        // Others take over its iterations.
        let rate = Load::Open { clients: 2, rate: 10.0, arrivals: Arrivals::Constant };
        let scheduled = of(rate, vec![works(0), gone(1, 9)]);
        assert!(scheduled.is_some_and(|(verdict, text)| verdict == Verdict::Partial && !text.contains("limit")));
    }

    #[test]
    fn a_client_that_may_still_connect_or_had_no_action_has_not_lowered_the_load() {
        let away = ClientTally { given_up: None, ..gone(1, 9) };
        let starved = ClientTally { actions: 0, iterations: 0, ..gone(1, 9) };
        for client in [away, starved] {
            let level = judged(ran(vec![works(0), client], (0, 60 * S)), &plan(closed(2), 60));
            assert_eq!(about_clients(&level, "could not connect again"), None);
        }
    }

    /// The server died for good: after the last client has given up, the level ends.
    #[test]
    fn a_level_whose_clients_all_gave_up_is_not_complete_and_is_judged_by_its_planned_length() {
        let of = |died_s: i64| {
            let end = (died_s + 26) * S;
            let ran = EngineResult { silences: vec![(died_s * S, end)], ..ran(vec![gone(0, died_s)], (0, end)) };
            let level = judged(ran, &plan(closed(1), 600));
            assert_eq!(level.complete(), !level.gave_up());
            assert_eq!(level.facts().interruption.is_some(), level.gave_up());
            assert_eq!(about_clients(&level, "could not connect again").is_none(), level.gave_up(), "said once");
            about_clients(&level, "the level ended early")
        };
        let said = "the level ended early, after 126.0 s of 600.0 s: no client was connected any more, and all had stopped their attempts \
            to connect (cause: connection refused)";
        assert_eq!(of(100), Some((Verdict::Invalid, said.to_owned())));
        assert_eq!(of(299).map(|(verdict, _)| verdict), Some(Verdict::Invalid), "served for less than half");
        assert_eq!(of(301).map(|(verdict, _)| verdict), Some(Verdict::Partial));
        assert_eq!(of(574), None, "at the end of the phase");
    }

    #[test]
    fn a_workload_that_ends_by_itself_is_cut_only_if_all_its_clients_gave_up() {
        let mut unlimited = plan(closed(2), 1);
        unlimited.phases.measured_ns = None;
        let of = |clients: Vec<ClientTally>| judged(ran(clients, (0, 60 * S)), &unlimited);
        let played = of(vec![works(0), works(1)]);
        assert!(played.complete() && about_clients(&played, "the level ended early").is_none());
        let cut = of(vec![gone(0, 9), gone(1, 9)]);
        let (verdict, text) = about_clients(&cut, "the level ended early").unwrap();
        assert!(!cut.complete() && verdict == Verdict::Partial && text.contains("after 60.0 s: no client"), "{text}");
        assert!(of(vec![works(0), gone(1, 9)]).complete());
    }

    #[test]
    fn a_level_that_the_user_stopped_is_no_level_that_clients_ended() {
        let stopped = EngineResult { stopped: true, ..ran(vec![gone(0, 9)], (0, 30 * S)) };
        let level = judged(stopped, &plan(closed(1), 60));
        assert!(!level.complete() && !level.gave_up());
        assert_eq!(about_clients(&level, "the level ended early"), None);
    }
}
