//! Outages, interruptions, requests without an answer and empty reads: their effect on a load level. MEASUREMENT.md has the thresholds.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{Bindings, ClientTally, Generator, Unanswered};
use plimsoll_model::Reason;
use plimsoll_report::findings::{Interruption, ShortReads, Silence};
use plimsoll_stats::{Headline, Statistics};

/// A shorter silence is no outage, s: a lost packet at the end of a burst is sent again after 0.2 to 1 s.
const SHORTEST_OUTAGE_S: f64 = 1.0;
/// Minimum outage, as a multiple of the usual response time of the slowest procedure: a single client's answers are that far apart.
pub(super) const USUAL: f64 = 10.0;
/// Minimum number of response times of a usual procedure: those of a stall are fewer.
const FEWEST: u64 = 10;
/// A shorter wait of an action without a response says nothing, s: its connection was lost at once.
const SHORTEST_WAIT_S: f64 = 0.010;
/// An interrupted level with fewer requests says nothing of the load.
const FEWEST_INTERRUPTED: u64 = 10;

/// Silences of a phase, ns since the Unix epoch, and requests without an answer.
pub(super) fn silence(silences: &[(i64, i64)], unanswered: &Unanswered, statistics: &Statistics) -> Silence {
    let seconds = |&(from, to): &(i64, i64)| to.saturating_sub(from) as f64 / 1e9;
    let limit = outage_limit_s(statistics);
    let longest = silences.iter().max_by_key(|(from, to)| to.saturating_sub(*from));
    let outages: Vec<f64> = silences.iter().map(seconds).filter(|s| *s >= limit).collect();
    let waited_ns = match statistics.headline() {
        Headline::Response => unanswered.longest_ns,
        Headline::FromIntended => unanswered.longest_from_intended_ns,
    };
    Silence {
        longest_s: longest.map(seconds),
        longest_at_ns: longest.map(|(from, _)| *from),
        outage_limit_s: limit,
        outages: outages.len() as u64,
        // The sum of none is -0.
        without_answer_s: outages.iter().sum::<f64>() + 0.0,
        unanswered_wait_s: (unanswered.count > 0).then_some(waited_ns as f64 / 1e9),
    }
}

/// From uncorrected times: those from intended have the outages in them.
fn outage_limit_s(statistics: &Statistics) -> f64 {
    let usual = statistics.operations().filter_map(|(_, row)| {
        let times = row.response();
        (times.moments().count() >= FEWEST).then(|| times.percentile_ns(50.0)).flatten()
    });
    (usual.max().unwrap_or(0) as f64 / 1e9 * USUAL).max(SHORTEST_OUTAGE_S)
}

/// Reads by result.
pub(super) fn short_reads(clients: &[ClientTally]) -> ShortReads {
    let sum = |of: fn(&ClientTally) -> u64| clients.iter().map(of).sum();
    ShortReads {
        reads: sum(|client| client.reads),
        short: sum(|client| client.short_reads),
        empty: sum(|client| client.empty_reads),
        verified: Some(sum(|client| client.verified_reads)),
    }
}

/// Whether the server may not answer any more: it sent nothing during the drain, or no client was connected. Single actions or logoffs
/// without a response may only be slow.
pub(super) fn may_hang(generator: &Generator, clients: &[ClientTally]) -> bool {
    generator.servers_hang || clients.iter().all(|client| !client.connected)
}

/// What ended the waits of actions without a response; a drain lasts at most `drain_ns`.
fn end_of_waits(Unanswered { count, at_end, .. }: Unanswered, drain_ns: u64) -> String {
    let earlier = "the timeout (--timeout) or the loss of the connection";
    let drain = || {
        let drain = plimsoll_report::duration(drain_ns as f64 / 1e9);
        format!("the end of the drain (at most {drain} after the measured phase)")
    };
    match at_end {
        0 => earlier.to_owned(),
        _ if at_end < count => format!("{earlier}, or {} ({at_end} of them)", drain()),
        _ => drain(),
    }
}

/// Reasons against the numbers besides outages; empty if there are none. `answered` requests were answered in the phase.
pub(super) fn reasons(
    silence: &Silence,
    reads: ShortReads,
    (unanswered, drain_ns): (Unanswered, u64),
    interruption: Option<Interruption>,
    answered: u64,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(waited_s) = silence.unanswered_wait_s {
        let longest = plimsoll_report::duration(waited_s);
        let count = unanswered.count;
        reasons.push(Reason::partial(format!(
            "{actions} no response before {end}, and {are} missing from the percentiles{longest}",
            actions = if count == 1 { "1 action had".to_owned() } else { format!("{count} actions had") },
            end = end_of_waits(unanswered, drain_ns),
            are = if count == 1 { "is" } else { "are" },
            longest =
                if waited_s < SHORTEST_WAIT_S { String::new() } else { format!("; the longest wait was {longest}") },
        )));
    }
    if reads.empty > 0 {
        reasons.push(Reason::partial(format!(
            "{empty} of {reads} reads started at or beyond the end of their file and returned no data; use files that are larger than \
            the highest offset of the workload",
            empty = reads.empty, reads = reads.reads
        )));
    }
    if let Some(Interruption { after_s, planned_s }) = interruption {
        let of = planned_s.map_or_else(String::new, |planned_s| format!(" of {planned_s:.1} s"));
        let text = format!("interrupted after {after_s:.1} s{of}");
        reasons.push(match answered {
            FEWEST_INTERRUPTED.. => Reason::partial(text),
            1 => Reason::invalid(format!("{text}, with 1 request (at least {FEWEST_INTERRUPTED} are necessary)")),
            few => {
                Reason::invalid(format!("{text}, with {few} requests (at least {FEWEST_INTERRUPTED} are necessary)"))
            }
        });
    }
    reasons
}

/// The outstanding bindings of a run that was stopped before its load began.
pub(super) fn unbound(Bindings { channels, unbound }: Bindings) -> Option<Reason> {
    let were = if unbound == 1 { "was" } else { "were" };
    (unbound > 0).then(|| {
        Reason::invalid(format!(
            "interrupted before the load began: {unbound} of {channels} channels {were} not bound to the session yet (SESSION_SETUP \
            BINDING)"
        ))
    })
}

/// That sessions continued with fewer connections than the `channels` of the plan.
pub(super) fn given_up(causes: &[(Cause, u64)], channels: u64) -> Option<Reason> {
    let count: u64 = causes.iter().map(|(_, count)| count).sum();
    let (cause, _) = causes.iter().max_by_key(|(_, count)| count)?;
    let were = if count == 1 { "was" } else { "were" };
    let most = if causes.len() > 1 { "most frequent cause" } else { "cause" };
    Some(Reason::partial(format!(
        "{count} of {channels} channels {were} lost and could not be bound again ({most}: {}); the load continued on the other channels",
        cause.label()
    )))
}

/// A note that a recording has only a part of a level; with its last instant, ns since the Unix epoch.
pub(super) fn not_finished(Interruption { after_s, planned_s }: Interruption, last_ns: i64) -> Reason {
    let of = planned_s.map_or_else(String::new, |planned_s| format!(" of {planned_s:.1} s"));
    Reason::partial(format!(
        "the level is unfinished: the recording contains its first {after_s:.1} s{of}, until {}; the program was killed, \
        failed or is still running",
        plimsoll_report::utc(last_ns)
    ))
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::{EngineResult, Plan};
    use plimsoll_model::{Procedure, Protocol, Verdict};
    use plimsoll_stats::Options;
    use plimsoll_testkit::transaction;
    use plimsoll_workload::{Load, Pause};

    use super::*;
    use crate::tests::connection_failures::ran;

    const S: i64 = 1_000_000_000;

    fn served(count: i64, took_ns: i64) -> Statistics {
        let mut statistics = Statistics::new(Options::default());
        (0..count)
            .for_each(|i| statistics.record(&transaction(Procedure::of(Protocol::Nfs3, 6), i + took_ns, took_ns)));
        statistics
    }

    fn judged(silences: &[(i64, i64)], statistics: &Statistics, seconds: i64) -> (Silence, Vec<Reason>) {
        let silence = silence(silences, &Unanswered::default(), statistics);
        let reasons = super::super::outages::reasons(&silence, (silences, &[]), &[], (0, seconds * S));
        (silence, reasons)
    }

    #[test]
    fn an_outage_makes_a_level_partial_and_most_of_it_invalid() {
        let quick = served(1_000, 100_000);
        let (silence, reasons) = judged(&[(S, 4 * S), (5 * S, 5 * S + S / 2)], &quick, 8);
        assert_eq!((silence.longest_s, silence.outages, silence.without_answer_s), (Some(3.0), 1, 3.0));
        assert_eq!(reasons.iter().map(|reason| reason.verdict).collect::<Vec<_>>(), [Verdict::Partial]);
        assert!(
            reasons[0].text.starts_with("the server sent no response to any action for 3.00 s of 8.00 s (once;"),
            "{}",
            reasons[0].text
        );
        let (_, reasons) = judged(&[(S, 6 * S)], &quick, 8);
        assert_eq!(reasons.iter().map(|reason| reason.verdict).collect::<Vec<_>>(), [Verdict::Invalid]);
    }

    #[test]
    fn outstanding_bindings_of_a_stopped_run_are_counted() {
        assert_eq!(unbound(Bindings { channels: 4, unbound: 0 }), None);
        let said = unbound(Bindings { channels: 4, unbound: 1 }).unwrap();
        assert!(said.text.contains("1 of 4 channels was not bound to the session yet (SESSION_SETUP BINDING)"));
    }

    #[test]
    fn channels_that_were_given_up_make_a_level_partial() {
        let channels_given_up = vec![(Cause::ConnectionReset, 1), (Cause::LogonRefused, 2)];
        let generator = Generator { channels_given_up, ..Generator::default() };
        let client = ClientTally { actions: 100, ..ClientTally::default() };
        let ran = EngineResult { generator, ..ran(vec![client], (0, S)) };
        let plan = Plan { channels: 4, ..Plan::new(Load::Closed { clients: 1, think: Pause::None }) };
        let level = super::super::judging::ended(served(100, 1_000_000), None, ran, &plan, "1 client");
        let validity = &level.recorded().about.facts.validity;
        let said = "3 of 4 channels were lost and could not be bound again (most frequent cause: logon refused)";
        assert!(validity.each_reason().any(|(verdict, text)| verdict == Verdict::Partial && text.starts_with(said)));
        assert_eq!(level.recorded().about.facts.generator.channels_given_up, 3);
        let one = given_up(&[(Cause::LogonRefused, 1)], 2).unwrap().text;
        assert!(
            one.starts_with("1 of 2 channels was lost and could not be bound again (cause: logon refused)"),
            "{one}"
        );
        assert_eq!(given_up(&[], 4), None);
    }

    #[test]
    fn an_outage_stands_before_the_failures_that_follow_from_it() {
        let client = ClientTally { actions: 1, errors: vec![(Cause::TimedOut, 9)], ..ClientTally::default() };
        let ran = EngineResult { silences: vec![(S, 4 * S)], ..ran(vec![client], (0, 4 * S)) };
        let plan = Plan::new(Load::Closed { clients: 1, think: Pause::None });
        let level = super::super::judging::ended(served(1, 1_000_000), None, ran, &plan, "1 client");
        let reasons = &level.recorded().about.facts.validity.reasons;
        assert!(reasons[0].starts_with("the server sent no response to any action for 3.00 s"), "{reasons:?}");
        assert!(reasons[1].starts_with("9 of 10 actions of the workload failed"), "{reasons:?}");
    }

    #[test]
    fn a_slow_server_is_not_silent() {
        let gaps: Vec<(i64, i64)> = (0..20).map(|i| (i * S, i * S + S)).collect();
        let (silence, reasons) = judged(&gaps, &served(20, S), 20);
        assert_eq!((silence.longest_s, silence.outages, reasons.len()), (Some(1.0), 0, 0));
        // The few of a stall do not make it usual.
        let mut stalled = served(1_000, 100_000);
        (0..9).for_each(|i| stalled.record(&transaction(Procedure::of(Protocol::Nfs3, 7), i + 3 * S, 3 * S)));
        assert_eq!(judged(&[(0, 3 * S)], &stalled, 20).0.outages, 1);
    }

    #[test]
    fn the_end_of_the_drain_is_no_timeout() {
        let said = |count, at_end| end_of_waits(Unanswered { count, at_end, ..Unanswered::default() }, 10_000_000_000);
        assert_eq!(said(2, 2), "the end of the drain (at most 10.0 s after the measured phase)");
        assert_eq!(said(2, 0), "the timeout (--timeout) or the loss of the connection");
        let both = said(3, 2);
        assert!(both.starts_with("the timeout (--timeout) or the loss of the connection, or the end of the drain (at"));
        assert!(both.ends_with("(2 of them)"), "{both}");
    }

    #[test]
    fn a_server_that_sends_nothing_at_the_end_may_hang() {
        let connected = |connected| ClientTally { connected, ..ClientTally::default() };
        let clients = [connected(true), connected(false)];
        assert!(!may_hang(&Generator::default(), &clients) && may_hang(&Generator::default(), &clients[1..]));
        assert!(may_hang(&Generator { servers_hang: true, ..Generator::default() }, &clients));
        let unanswered = Unanswered { count: 1, at_end: 1, ..Unanswered::default() };
        let slow = Generator { unanswered, left_rudely: 1, ..Generator::default() };
        assert!(!may_hang(&slow, &clients), "one action and one logoff were slow");
    }

    #[test]
    fn what_had_no_answer_what_was_empty_and_what_was_interrupted_is_told() {
        let quick = served(10, 100_000);
        let (longest_ns, longest_from_intended_ns) = (3_000_000_000, 4_000_000_000);
        let none = Unanswered { count: 2, at_end: 0, longest_ns, longest_from_intended_ns };
        let silence = silence(&[], &none, &quick);
        assert_eq!(silence.unanswered_wait_s, Some(3.0));
        let reads = ShortReads { reads: 6_792, short: 3, empty: 5_943, verified: None };
        let interruption = Some(Interruption { after_s: 2.5, planned_s: Some(20.0) });
        let reasons = reasons(&silence, reads, (none, 1), interruption, 10);
        assert!(reasons.iter().all(|reason| reason.verdict == Verdict::Partial));
        let said: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
        assert!(
            said[0].starts_with("2 actions had no response before the timeout") && said[0].ends_with("3.00 s"),
            "{said:?}"
        );
        assert!(said[1].starts_with("5943 of 6792 reads started at or beyond"), "{said:?}");
        let brief = Silence { unanswered_wait_s: Some(480e-6), ..silence };
        let once = (Unanswered { count: 1, ..none }, 1);
        let one = &super::reasons(&brief, ShortReads::default(), once, None, 10)[0].text;
        assert!(one.starts_with("1 action had") && one.ends_with("missing from the percentiles"), "{one}");
        let nothing = (Unanswered::default(), 1);
        let few = &super::reasons(&Silence::default(), ShortReads::default(), nothing, interruption, 1)[0];
        assert_eq!(few.verdict, Verdict::Invalid);
        assert_eq!(few.text, "interrupted after 2.5 s of 20.0 s, with 1 request (at least 10 are necessary)");
        assert_eq!(said[2], "interrupted after 2.5 s of 20.0 s");
    }
}
