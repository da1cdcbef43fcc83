//! Coverage, and the words of the model in it.

use plimsoll_model::{
    Anomalies, Anomaly, Breaks, CachingRight, ClientPath, ClockGranularity, Coverage, Credits, Delegations,
    DelegationsLeftOut, Downtime, Encrypted, FileGaps, LateRequests, LeaseBreaks, Missing, MostResent, NameLookup,
    NameServer, Network, OneSided, Pace, PacketCounts, PartialPairs, Resent, Resets, Restart, RoundTrip, RpcTls,
    RpcTlsConnection, SessionSlots, SlotsLeftOut, SmallWindow, Stuck, Unfinished, Unopened, Unseen, WaitEnd, Waited,
};

use super::{Counter, Reader, State, StateError, Writer, choice, fields};

choice!("end of a wait", WaitEnd, WaitEnd::ALL);

impl State for CachingRight {
    fn put(&self, out: &mut Writer) {
        match *self {
            CachingRight::Lease(state) => (false, state).put(out),
            CachingRight::Oplock(level) => (true, u32::from(level)).put(out),
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (is_oplock, number) = (bool::take(from)?, u32::take(from)?);
        match (is_oplock, u8::try_from(number)) {
            (false, _) => Ok(CachingRight::Lease(number)),
            (true, Ok(level)) => Ok(CachingRight::Oplock(level)),
            (true, Err(_)) => Err(from.no("oplock level")),
        }
    }
}

impl State for Anomalies {
    fn put(&self, out: &mut Writer) {
        let all: Vec<(u8, u64)> = self.iter().map(|(kind, count)| (kind as u8, count)).collect();
        all.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut anomalies = Anomalies::default();
        for (kind, count) in Vec::<(u8, u64)>::take(from)? {
            let kind = Anomaly::ALL.get(usize::from(kind)).filter(|&&kind| anomalies.count(kind) == 0);
            let kind = kind.filter(|_| Counter::all(&[count])).ok_or_else(|| from.no("anomaly"))?;
            anomalies.add_many(*kind, count);
        }
        Ok(anomalies)
    }
}

fields!("packet counts"; PacketCounts {
    total, tcp, tcp_data, ack_only, ack_repeated, udp, other, retransmitted, out_of_order, dropped_at_least,
    dropped_estimate, missing_bytes, largest, truncated, continued, commands, command_first, command_continued_sync,
    command_continued_async, command_ack, command_retry, captured_bytes, wire_bytes
});
fields!("downtime"; Downtime { count, first_ns, first_end_ns, total_ns } if |one| Counter::all(&[one.count]));

impl State for FileGaps {
    fn put(&self, out: &mut Writer) {
        self.iter().collect::<Vec<(i64, i64)>>().put(out);
        self.others_ns().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self::of(Vec::<(i64, i64)>::take(from)?, u64::take(from)?))
    }
}

fields!("clock"; ClockGranularity { estimate_ns, at_most, backward_steps });
fields!("late requests"; LateRequests { count, most_ns } if |one| Counter::all(&[one.count]));
fields!("missing"; Missing { operations, low, high, unknown });
fields!("unseen"; Unseen {
    paired, requests_after_gap, responses_after_gap, requests_after_cut, responses_after_cut, requests_one_sided,
    responses_one_sided, requests_waiting, responses_before_start, requests_unexplained, responses_unexplained,
    encrypted, compressed, missing
} if |one| Counter::all(&[
    one.paired, one.requests_after_gap, one.responses_after_gap, one.requests_after_cut, one.responses_after_cut,
    one.requests_one_sided, one.responses_one_sided, one.requests_waiting, one.responses_before_start,
    one.requests_unexplained, one.responses_unexplained, one.encrypted, one.compressed
]));
fields!("one-sided connection"; OneSided { from, to, requests, responses });
fields!("network"; Network {
    zero_windows, zero_window_ns, small_windows, small_window_ns, smallest_window, delayed_acks, delayed_ack_ns,
    data_segments, resent_segments, reordered_segments, resent_wait_ns, most_resent, handshakes, late_handshakes,
    late_handshake_ns, slow_reader, to_server_ns, to_client_ns
});
fields!("path to a client"; ClientPath {
    client, connections, handshakes, late_handshakes, late_handshake_ns, round_trips, paces, data_segments,
    resent_segments, reordered_segments, zero_window_ns, small_window_ns, stuck, unanswered, unanswered_from_ns,
    largest_acknowledged, largest_since_stuck
});
fields!("stuck segments"; Stuck { segments, copies, ns, bytes });
fields!("round trip"; RoundTrip { least_ns, median_ns, count });
fields!("pace"; Pace { count, bytes, ns, on_the_way, log2_sum, log2_squares });
fields!("client with most retransmissions"; MostResent { client, lead });
fields!("small window"; SmallWindow { client, waits, wait_ns, bytes });
fields!("credits"; Credits { waits, wait_ns, busy_ns, requests_ns });
fields!("slots of a session"; SessionSlots {
    session, id, client, server, granted, target, slots, requests, most, full_ns, waits, wait_ns, span_ns,
    is_partial
} if |one| Counter::all(&[one.requests, one.waits]));
fields!("slots left out"; SlotsLeftOut { requests } if |one| Counter::all(&[one.requests]));
fields!("connection with unanswered requests"; Unfinished {
    server, client, end, end_ns, responded_ns, requests, first_ns, last_ns, is_acknowledged, procedure, share, path
});
fields!("connection that was not opened"; Unopened { server, client, refused, unanswered, wait_ns, first_ns, last_ns });
fields!("name that was asked for"; NameLookup {
    asker, server, name, first_ns, last_ns, questions, answered_ns, is_answered_by_first, connected_ns
});
fields!("name server"; NameServer { server, questions, answers });
fields!("restart"; Restart { server, closed_ns, connections, clients, back, back_after_ns, away_ns });
fields!("breaks of leases"; Breaks {
    notified, opens, wait_ns, longest_ns, holder, path, is_longest_unanswered, unanswered, unsolicited, unmatched
});
fields!("breaks of a kind"; LeaseBreaks {
    client, share, is_directory, from, to, notified, acknowledged, acknowledged_ns, longest_ns, closed, unanswered,
    waits, wait_ns
} if |one| Counter::all(&[one.notified, one.acknowledged, one.closed, one.unanswered, one.waits]));
fields!("delegations"; Delegations {
    client, server, granted_read, granted_write, refused, recalled, repeated, returned, after_recall,
    after_recall_ns, longest_ns, unreturned, not_held, untracked, is_partial
} if |one| Counter::all(&[one.granted_read, one.granted_write, one.refused, one.recalled, one.repeated, one.returned])
    && Counter::all(&[one.after_recall, one.unreturned, one.not_held, one.untracked]));
fields!("delegations left out"; DelegationsLeftOut {
    granted, refused, recalled, returned, is_partial
} if |one| Counter::all(&[one.granted, one.refused, one.recalled, one.returned]));
fields!("partial pairs"; PartialPairs { pairs, all });
fields!("times of encrypted messages"; Waited { count, sum_ns, bytes, percentiles_ns, longest_ns });
fields!("encrypted messages"; Encrypted {
    connections, messages, bytes, first_ns, last_ns, all, sum_ns, reads, writes, besides, unexplained, unanswered,
    cancels, interrupted
});
fields!("connection with RPC over TLS"; RpcTlsConnection { client, server, records, bytes, requests, most_requests });
fields!("RPC over TLS"; RpcTls { connections, records, bytes, requests, named });
fields!("resent"; Resent { operations, wait_ns, brief_operations, brief_wait_ns, unknown });
fields!("resets"; Resets {
    server, client, count, from_client, span_ns, back_after_ns, others, others_reset
} if |resets| {
    Counter::all(&[resets.count, resets.from_client, resets.back_after_ns, resets.others, resets.others_reset])
});
fields!("coverage"; Coverage {
    packets, anomalies, downtime, file_gaps, clock, late_requests, unseen, resent, network, client_paths, without_path,
    restarts, resets, name_lookups, name_servers, breaks, lease_breaks, delegations, delegations_left_out,
    delegations_partial, credits, slots, slots_left_out, unfinished, last_responses, unopened, encrypted, rpc_tls,
    first_ns, last_ns, connections, one_way, unknown_links, filtered_out, capture_ns, one_sided, one_sided_named
});
