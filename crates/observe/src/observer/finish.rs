//! The end of the capture: waiting data are passed on, and the sums of all stages become the coverage.

use plimsoll_model::{Anomalies, Anomaly, ClockGranularity, Coverage, Missing, Sink, Unseen};

use super::{Observed, Observer};
use crate::capture::ClockEstimate;
use crate::missing::between_connections;
use crate::packet::Fragments;
use crate::pairing::Shared;

impl<S: Sink> Observer<S> {
    /// Ends the capture: passes on waiting data.
    pub fn finish(mut self) -> Observed<S> {
        self.end_gate();
        self.release_all();
        self.shared.smb2.give_back();
        for mut connection in self.connections.drain() {
            connection.end_with_capture(&mut self.shared, &mut self.packets);
        }
        let Shared { mut output, mut smb2, mut account, .. } = self.shared;
        smb2.end(&mut output);
        let encrypted = std::mem::take(&mut smb2.sealed).finish();
        let (breaks, lease_breaks) = std::mem::take(&mut output.breaks).finish();
        let credits = smb2.credits;
        account.add_asynchronous(&output.tally.take());
        account.unseen.missing.add(&between_connections(&account.ends, account.bursts.finish(), self.span));
        let until_ns = self.span.1.max(self.until_ns.unwrap_or(i64::MIN));
        add_incomplete(&self.fragments, (self.span.0, until_ns), &mut output.anomalies, &mut account.unseen);
        let unfinished = std::mem::take(&mut output.unfinished).finish(until_ns, &output.last_responses);
        let last_responses = output.last_responses.all();
        let (slots, slots_left_out) = std::mem::take(&mut output.slots).finish();
        let (delegations, delegations_left_out, delegations_partial) = std::mem::take(&mut output.delegations).finish();
        output.anomalies.add_many(Anomaly::PacketOutOfOrder, self.clock.granularity().out_of_order);
        output.anomalies.add_many(Anomaly::NameRefused, output.names.refused());
        let (first_ns, last_ns) = self.span;
        let timed = first_ns <= last_ns;
        let (client_paths, without_path) = account.client_paths.finish();
        let (name_lookups, name_servers) = self.name_lookups.finish(&account.lives.begins());
        let resets = account.lives.resets();
        let restarts = account.lives.restarts();
        let coverage = Coverage {
            packets: self.packets,
            anomalies: output.anomalies,
            clock: granularity(&self.clock),
            late_requests: output.late_requests,
            unseen: account.unseen,
            resent: output.resent,
            network: account.network,
            client_paths,
            restarts,
            resets,
            name_lookups,
            name_servers,
            without_path,
            breaks,
            lease_breaks,
            credits,
            slots,
            slots_left_out,
            delegations,
            delegations_left_out,
            delegations_partial,
            unfinished,
            last_responses,
            unopened: account.unopened,
            encrypted,
            first_ns: timed.then_some(first_ns),
            last_ns: timed.then_some(last_ns),
            connections: self.connections_used,
            one_way: output.one_way,
            unknown_links: self.unknown_links,
            rpc_tls: account.rpc_tls,
            one_sided: account.one_sided,
            one_sided_named: account.one_sided_named,
            ..Coverage::default()
        };
        Observed { sink: output.sink, names: output.names, coverage }
    }
}

/// Counts the datagrams without all fragments. Those with messages of RPC over UDP count as missing.
fn add_incomplete(fragments: &Fragments, span_ns: (i64, i64), anomalies: &mut Anomalies, unseen: &mut Unseen) {
    let messages = fragments.incomplete_messages(span_ns);
    anomalies.add_many(Anomaly::FragmentsIncomplete, fragments.incomplete());
    anomalies.add_many(Anomaly::MessageFragmentsIncomplete, messages);
    unseen.missing.add(&in_incomplete_datagrams(messages, unseen.paired));
}

/// Messages over UDP of which fragments are missing, beside `paired` operations. Each may be one of a captured request or response, or of
/// an operation of which nothing else was captured: a few widen the interval, and with many the number is unknown.
fn in_incomplete_datagrams(messages: u64, paired: u64) -> Missing {
    /// Maximum share of such messages in the paired operations.
    const FEW: f64 = 0.01;
    match messages as f64 <= FEW * paired as f64 {
        true => Missing { high: messages, ..Missing::default() },
        false => Missing { unknown: messages, ..Missing::default() },
    }
}

fn granularity(clock: &ClockEstimate) -> ClockGranularity {
    let found = clock.granularity();
    ClockGranularity { estimate_ns: found.estimate_ns, at_most: found.at_most, backward_steps: found.backward_steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_incomplete_datagrams_make_the_number_of_missing_operations_unknown() {
        let found = |messages, paired| in_incomplete_datagrams(messages, paired);
        assert_eq!(found(0, 0), Missing::default());
        assert_eq!(found(2, 200), Missing { high: 2, ..Missing::default() });
        assert_eq!(found(3, 200), Missing { unknown: 3, ..Missing::default() });
        assert_eq!(found(1, 0), Missing { unknown: 1, ..Missing::default() });
    }
}
