//! Outages as reasons against a level's numbers: of the server, and of each target if there are several.

use std::cmp::Reverse;

use plimsoll_client::operation::Cause;
use plimsoll_client::status_name;
use plimsoll_drive::engine::{ClientTally, TargetGaps};
use plimsoll_model::{Protocol, Reason};
use plimsoll_report::findings::Silence;

use super::disruption::USUAL;

/// Maximum fraction of the phase in outages; beyond it its rates and response times do not describe the answering server.
pub(super) const MOST_SILENT: f64 = 0.5;
/// Minimum number of actions of a target from which its usual response time is known.
const FEWEST: u64 = 10;
/// An outage of a target that is longer than the common outage by at most this factor is the common outage.
const SAME: f64 = 1.05;

/// A target of several.
pub(super) struct Target {
    /// The target in messages.
    pub(super) name: String,
    /// Its silences: from, to, ns since the Unix epoch, in their order.
    pub(super) silences: Vec<(i64, i64)>,
}

/// The targets of a run with their silences.
pub(super) fn targets(targets: &[TargetGaps]) -> Vec<Target> {
    targets.iter().map(|target| Target { name: target.name.clone(), silences: target.silences() }).collect()
}

/// All outages of a server or target in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outages {
    count: u64,
    total_s: f64,
    longest_s: f64,
    limit_s: f64,
    /// When the last one began, ns since the Unix epoch, if it lasted until the end of the phase.
    until_the_end: Option<i64>,
}

impl Outages {
    fn of(silences: &[(i64, i64)], limit_s: f64, end_ns: i64) -> Self {
        let seconds = |&(from, to): &(i64, i64)| to.saturating_sub(from) as f64 / 1e9;
        let outages = || silences.iter().filter(|silence| seconds(silence) >= limit_s);
        Self {
            count: outages().count() as u64,
            // The sum of none is -0.
            total_s: outages().map(seconds).sum::<f64>() + 0.0,
            longest_s: outages().map(seconds).fold(0.0, f64::max),
            limit_s,
            until_the_end: outages().map(|&(from, to)| (to >= end_ns).then_some(from)).next_back().flatten(),
        }
    }

    /// The reason against the numbers, if there is an outage. `who` did not respond to `clients` in a phase of so many seconds.
    fn reason<'c>(
        &self,
        who: &str,
        seconds: f64,
        clients: impl Iterator<Item = &'c ClientTally> + Clone,
    ) -> Option<Reason> {
        let postponed = postponed(clients.clone());
        let times = if self.count == 1 { "once".to_owned() } else { format!("{} times", self.count) };
        let end = self.until_the_end.map_or_else(String::new, |from| {
            let since = plimsoll_report::utc(from);
            format!("; silent from {since} until the end of the phase{}", failed_attempts(clients))
        });
        let text = format!(
            "{who} sent no response to any action for {total:.2} s of {seconds:.2} s ({times}; longest {longest:.2} s; silences shorter than \
            {limit:.2} s do not count), although requests were outstanding or due{postponed}{end}",
            total = self.total_s,
            longest = self.longest_s,
            limit = self.limit_s,
        );
        let most = self.total_s > MOST_SILENT * seconds;
        (self.count > 0).then(|| if most { Reason::invalid(text) } else { Reason::partial(text) })
    }
}

/// Reasons against the numbers because of outages; empty if there are none. `silences` are those of all targets together; `targets` is
/// empty if there is only one.
pub(super) fn reasons(
    silence: &Silence,
    (silences, targets): (&[(i64, i64)], &[Target]),
    clients: &[ClientTally],
    measured: (i64, i64),
) -> Vec<Reason> {
    let seconds = measured.1.saturating_sub(measured.0) as f64 / 1e9;
    let common = Outages::of(silences, silence.outage_limit_s, measured.1);
    let who = if targets.is_empty() { "the server" } else { "all targets together" };
    let mut reasons: Vec<Reason> = common.reason(who, seconds, clients.iter()).into_iter().collect();
    for (at, Target { name, silences }) in targets.iter().enumerate() {
        let own = || clients.iter().filter(|client| client.client_index as usize % targets.len() == at);
        let limit_s = silence.outage_limit_s.max(usual_s(own()) * USUAL);
        let outages = Outages::of(silences, limit_s, measured.1);
        if outages.total_s > SAME * common.total_s {
            reasons.extend(outages.reason(&format!("target {name}"), seconds, own()));
        }
    }
    reasons
}

/// The usual response time of a target's clients, s: the mean without the longest of each client. 0 if it is unknown.
fn usual_s<'c>(clients: impl Iterator<Item = &'c ClientTally>) -> f64 {
    let (mut sum_ns, mut count) = (0.0, 0);
    for responses in clients.map(|client| &client.responses) {
        sum_ns += responses.sum_ns() as f64 - responses.max_ns().unwrap_or(0) as f64;
        count += responses.count().saturating_sub(1);
    }
    if count < FEWEST { 0.0 } else { sum_ns / count as f64 / 1e9 }
}

/// Responses that only asked the clients to repeat their requests later; empty if there are none.
fn postponed<'c>(clients: impl Iterator<Item = &'c ClientTally>) -> String {
    let mut statuses: Vec<(u32, u64)> = Vec::new();
    for &(status, count) in clients.flat_map(|client| &client.postponed) {
        match statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, all)) => *all += count,
            None => statuses.push((status, count)),
        }
    }
    if statuses.is_empty() {
        return String::new();
    }
    statuses.sort_unstable_by_key(|&(status, count)| (Reverse(count), status));
    let name = |status| status_name(Protocol::Nfs4, status).map_or_else(|| format!("{status:#010x}"), str::to_owned);
    let named: Vec<String> = statuses.iter().map(|&(status, count)| format!("{} {count}", name(status))).collect();
    format!("; a refusal that asks the client to wait does not count as a response ({})", named.join(", "))
}

/// The failed attempts of clients to connect in the measured phase; empty if there are none.
fn failed_attempts<'c>(clients: impl Iterator<Item = &'c ClientTally>) -> String {
    let failures = clients.flat_map(|client| &client.connection_failures);
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    for failure in failures.filter(|failure| failure.measured && !failure.was_up) {
        crate::validity::add(&mut causes, failure.cause, failure.count);
    }
    let attempts: u64 = causes.iter().map(|(_, count)| count).sum();
    causes.into_iter().max_by_key(|&(_, count)| count).map_or_else(String::new, |(cause, _)| {
        let s = if attempts == 1 { "" } else { "s" };
        format!("; {attempts} attempt{s} to connect failed ({})", cause.label())
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Verdict;

    use super::*;
    use crate::tests::connection_failures::refused;

    const S: i64 = 1_000_000_000;

    fn target(name: &str, silences: &[(i64, i64)]) -> Target {
        Target { name: name.to_owned(), silences: silences.to_vec() }
    }

    fn client(client_index: u32, responses: &[u64]) -> ClientTally {
        let mut tally = ClientTally { client_index, ..ClientTally::default() };
        responses.iter().for_each(|&ns| tally.responses.record(ns));
        tally
    }

    /// In a phase of 4 s: verdicts and texts.
    fn found(silences: &[(i64, i64)], targets: &[Target], clients: &[ClientTally]) -> Vec<(Verdict, String)> {
        let limit = Silence { outage_limit_s: 1.0, ..Silence::default() };
        let reasons = reasons(&limit, (silences, targets), clients, (0, 4 * S));
        reasons.into_iter().map(|reason| (reason.verdict, reason.text)).collect()
    }

    #[test]
    fn a_target_that_is_silent_while_others_answer_is_named() {
        let clients = [client(0, &[1_000_000; 20]), client(1, &[1_000_000; 20])];
        let part = found(&[], &[target("a", &[(S, 5 * S / 2)]), target("b", &[(0, S / 2)])], &clients);
        assert_eq!(part.len(), 1, "{part:?}");
        assert_eq!(part[0].0, Verdict::Partial);
        assert!(
            part[0].1.starts_with("target a sent no response to any action for 1.50 s of 4.00 s (once;"),
            "{part:?}"
        );
        let most = found(&[], &[target("a", &[]), target("b", &[(S, 4 * S)])], &clients);
        assert_eq!(most[0].0, Verdict::Invalid, "{most:?}");
        assert!(most[0].1.starts_with("target b sent no response to any action for 3.00 s of 4.00 s"), "{most:?}");
    }

    #[test]
    fn an_outage_of_all_targets_is_said_once() {
        let both = [(S, 3 * S)];
        let one = found(&both, &[target("a", &both), target("b", &both)], &[]);
        assert_eq!(one.len(), 1, "{one:?}");
        assert!(one[0].1.starts_with("all targets together sent no response to any action for 2.00 s"), "{one:?}");
        let longer = found(&both, &[target("a", &both), target("b", &[(S, 4 * S)])], &[]);
        assert_eq!(longer.len(), 2, "{longer:?}");
        assert!(longer[1].1.starts_with("target b sent no response to any action for 3.00 s"), "{longer:?}");
    }

    #[test]
    fn a_slow_target_is_not_silent() {
        // Each response takes 1.5 s; another target is fast.
        let clients = [client(0, &[1_000_000; 99]), client(1, &[1_500_000_000; 12])];
        let slow = [target("fast", &[]), target("slow", &[(0, 3 * S / 2), (3 * S / 2, 3 * S)])];
        assert_eq!(found(&[], &slow, &clients), []);
        // The longest response of a client is that of the outage, and says nothing of the usual one.
        let mut stalled = vec![1_000_000; 20];
        stalled.push(2_000_000_000);
        assert_eq!(found(&[], &slow, &[client(0, &[]), client(1, &stalled)]).len(), 1);
    }

    #[test]
    fn refusals_that_ask_to_wait_are_named_with_their_number() {
        let postponed = |client_index, statuses: &[(u32, u64)]| {
            let postponed = statuses.to_vec();
            ClientTally { postponed, ..client(client_index, &[1_000_000; 20]) }
        };
        let clients = [postponed(0, &[(10_008, 3)]), postponed(1, &[(10_008, 1), (10_013, 99)])];
        let said = found(&[(S, 3 * S)], &[], &clients);
        assert!(
            said[0].1.ends_with(
                "although requests were outstanding or due; a refusal that asks the client to wait does not count as a response \
                (NFS4ERR_GRACE 99, NFS4ERR_DELAY 4)"
            ),
            "{said:?}"
        );
        let targets = [target("a", &[(S, 3 * S)]), target("b", &[])];
        let of_a = &found(&[], &targets, &clients)[0].1;
        assert!(of_a.ends_with("(NFS4ERR_DELAY 3)"), "only those of its clients: {of_a}");
    }

    #[test]
    fn an_outage_until_the_end_says_since_when_and_that_nobody_could_connect() {
        let mut away = client(0, &[]);
        away.connection_failures = vec![refused(true, true, 1), refused(false, true, 9), refused(false, false, 4)];
        let dead = found(&[(3 * S / 2, 4 * S)], &[], &[away]);
        assert!(
            dead[0].1.ends_with(
                "outstanding or due; silent from 1970-01-01T00:00:01.500000Z until the end of the phase; 9 attempts to connect failed \
                (connection refused)"
            ),
            "{dead:?}"
        );
        assert_eq!(dead[0].0, Verdict::Invalid);
        let back = found(&[(S, 5 * S / 2)], &[], &[]);
        assert!(back[0].1.ends_with("although requests were outstanding or due"), "{back:?}");
    }
}
