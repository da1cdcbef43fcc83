//! The end of the capture: waiting data are passed on, and the sums of all stages become the coverage.

use plimsoll_model::{Anomaly, ClockGranularity, Coverage, Missing, Sink};

use super::{Observed, Observer};
use crate::capture::ClockEstimate;
use crate::missing::between_connections;
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
        let (breaks, lease_breaks) = smb2.breaks.finish();
        let credits = smb2.credits;
        let unseen = output.tally.take();
        account.unseen.add(&unseen);
        let asynchronous = unseen.requests_after_gap + unseen.requests_after_cut;
        account.unseen.missing.add(&Missing { operations: asynchronous, low: 0, high: asynchronous, unknown: 0 });
        account.unseen.missing.add(&between_connections(&account.ends, account.bursts.finish(), self.span));
        let until_ns = self.span.1.max(self.until_ns.unwrap_or(i64::MIN));
        let unfinished = std::mem::take(&mut output.unfinished).finish(until_ns, &output.last_responses);
        let last_responses = output.last_responses.all();
        let (slots, slots_left_out) = std::mem::take(&mut output.slots).finish();
        let (delegations, delegations_left_out, delegations_partial) = std::mem::take(&mut output.delegations).finish();
        output.anomalies.add_many(Anomaly::FragmentsIncomplete, self.fragments.incomplete());
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

fn granularity(clock: &ClockEstimate) -> ClockGranularity {
    let found = clock.granularity();
    ClockGranularity { estimate_ns: found.estimate_ns, at_most: found.at_most, backward_steps: found.backward_steps }
}
