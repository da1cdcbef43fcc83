//! The sum of the coverage of several captures.

use super::{Breaks, ClockGranularity, Coverage, FileGaps, PacketCounts};
use crate::add_fields;
use crate::{ClientPath, Encrypted, NameServer, RoundTrip, Waited};

impl Coverage {
    /// Adds another capture, which was observed by itself. A connection of both counts in each; percentiles of both together are not known.
    pub fn add(&mut self, other: &Coverage) {
        self.packets.add(&other.packets);
        other.anomalies.iter().for_each(|(kind, count)| self.anomalies.add_many(kind, count));
        self.downtime.add(&other.downtime);
        self.clock.add(&other.clock);
        self.late_requests.add(&other.late_requests);
        self.unseen.add(&other.unseen);
        add_fields!(self.resent, other.resent; operations, wait_ns, brief_operations, brief_wait_ns, unknown);
        self.network.add(&other.network);
        for path in &other.client_paths {
            match self.client_paths.iter_mut().find(|mine| mine.client == path.client) {
                Some(mine) => mine.add(path),
                None => self.client_paths.push(*path),
            }
        }
        self.restarts.extend(other.restarts.iter().copied());
        self.restarts.truncate(Self::RESTARTS);
        self.resets.extend(other.resets.iter().copied());
        self.resets.sort_by_key(|one| (std::cmp::Reverse(one.count), one.client, one.server));
        self.resets.truncate(Self::RESETS);
        self.name_lookups.extend(other.name_lookups.iter().copied());
        self.name_lookups.truncate(Self::LOOKUPS);
        other.name_servers.iter().for_each(|server| add_server(&mut self.name_servers, server));
        self.name_servers.truncate(Self::LOOKUPS);
        self.breaks.add(&other.breaks);
        for breaks in &other.lease_breaks {
            match self.lease_breaks.iter_mut().find(|mine| mine.is_like(breaks)) {
                Some(mine) => mine.add(breaks),
                None => self.lease_breaks.push(*breaks),
            }
        }
        self.lease_breaks.truncate(Self::LEASE_BREAKS);
        self.add_delegations(other);
        self.credits.add(&other.credits);
        super::slots::add((&mut self.slots, &mut self.slots_left_out), (&other.slots, other.slots_left_out));
        self.unfinished.extend(other.unfinished.iter().copied());
        self.unfinished.sort_by_key(|one| (one.end_ns, one.client));
        self.unfinished.truncate(Self::UNFINISHED);
        self.add_last_responses(other);
        other.unopened.iter().for_each(|one| one.add_to(&mut self.unopened));
        self.encrypted.add(&other.encrypted);
        self.rpc_tls.add(&other.rpc_tls);
        self.add_span(other);
        add_fields!(self, other; connections, one_way, without_path, filtered_out, one_sided);
        for &(link, packets) in &other.unknown_links {
            match self.unknown_links.iter_mut().find(|(known, _)| *known == link) {
                Some((_, count)) => *count += packets,
                None => self.unknown_links.push((link, packets)),
            }
        }
        self.one_sided_named.extend(other.one_sided_named.iter().copied());
        self.one_sided_named.truncate(Self::ONE_SIDED_NAMED);
    }

    fn add_span(&mut self, other: &Coverage) {
        let spans = [&*self, other].map(|one| one.first_ns.zip(one.last_ns));
        self.file_gaps = match spans {
            [Some(mine), Some(theirs)] => FileGaps::of_both((&self.file_gaps, mine), (&other.file_gaps, theirs)),
            [None, _] => other.file_gaps,
            [_, None] => self.file_gaps,
        };
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.last_ns = self.last_ns.into_iter().chain(other.last_ns).max();
        let both = self.capture_ns.into_iter().chain(other.capture_ns);
        self.capture_ns = both.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)));
    }
}

impl PacketCounts {
    fn add(&mut self, more: &Self) {
        add_fields!(self, more; all
            total, tcp, tcp_data, ack_only, ack_repeated, udp, other, retransmitted, out_of_order, dropped_at_least,
            dropped_estimate, missing_bytes, truncated, continued, commands, command_first, command_continued_sync,
            command_continued_async, command_ack, command_retry, captured_bytes, wire_bytes; largest largest
        );
    }
}

impl ClockGranularity {
    /// The finer of two: both may be of the same clock, and one of too few packets to tell.
    fn add(&mut self, other: &Self) {
        let backward_steps = self.backward_steps + other.backward_steps;
        let finer = match (self.estimate_ns, other.estimate_ns) {
            (Some(mine), Some(theirs)) if theirs < mine => *other,
            (None, _) => *other,
            _ => *self,
        };
        *self = Self { backward_steps, ..finer };
    }
}

impl Breaks {
    fn add(&mut self, other: &Self) {
        let longest = if other.longest_ns > self.longest_ns { *other } else { *self };
        *self = Self {
            notified: self.notified + other.notified,
            opens: self.opens + other.opens,
            wait_ns: self.wait_ns.saturating_add(other.wait_ns),
            unanswered: self.unanswered + other.unanswered,
            unsolicited: self.unsolicited + other.unsolicited,
            unmatched: self.unmatched + other.unmatched,
            ..longest
        };
    }
}

impl ClientPath {
    /// Adds what another capture tells of the same client.
    fn add(&mut self, other: &Self) {
        add_fields!(self, other; connections, handshakes, late_handshakes, late_handshake_ns);
        for way in 0..2 {
            self.round_trips[way].add(&other.round_trips[way]);
            self.paces[way].add(&other.paces[way]);
            self.data_segments[way] += other.data_segments[way];
            self.resent_segments[way] += other.resent_segments[way];
            self.reordered_segments[way] += other.reordered_segments[way];
            self.zero_window_ns[way] = self.zero_window_ns[way].saturating_add(other.zero_window_ns[way]);
            self.small_window_ns[way] = self.small_window_ns[way].saturating_add(other.small_window_ns[way]);
            self.stuck[way].add(&other.stuck[way]);
            self.largest_acknowledged[way] = self.largest_acknowledged[way].max(other.largest_acknowledged[way]);
            self.largest_since_stuck[way] = self.largest_since_stuck[way].max(other.largest_since_stuck[way]);
        }
        self.unanswered.add(&other.unanswered);
        self.unanswered_from_ns = self.unanswered_from_ns.into_iter().chain(other.unanswered_from_ns).min();
    }
}

impl RoundTrip {
    fn add(&mut self, other: &Self) {
        let least_ns = self.least_ns.into_iter().chain(other.least_ns).min();
        let median_ns = if self.count > 0 && other.count > 0 { None } else { self.median_ns.or(other.median_ns) };
        *self = Self { least_ns, median_ns, count: self.count + other.count };
    }
}

impl Encrypted {
    fn add(&mut self, other: &Self) {
        add_fields!(self, other; connections, besides, unexplained, unanswered, cancels, interrupted);
        for way in 0..2 {
            self.messages[way] += other.messages[way];
            self.bytes[way] = self.bytes[way].saturating_add(other.bytes[way]);
            self.sum_ns[way] = self.sum_ns[way].saturating_add(other.sum_ns[way]);
        }
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.last_ns = self.last_ns.into_iter().chain(other.last_ns).max();
        self.all.add(&other.all);
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
    }
}

impl Waited {
    fn add(&mut self, other: &Self) {
        let percentiles_ns = match (self.count, other.count) {
            (_, 0) => self.percentiles_ns,
            (0, _) => other.percentiles_ns,
            _ => [None; 3],
        };
        *self = Self {
            count: self.count + other.count,
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            bytes: self.bytes.saturating_add(other.bytes),
            percentiles_ns,
            longest_ns: self.longest_ns.max(other.longest_ns),
        };
    }
}

fn add_server(servers: &mut Vec<NameServer>, other: &NameServer) {
    match servers.iter_mut().find(|mine| mine.server == other.server) {
        Some(mine) => {
            mine.questions += other.questions;
            mine.answers += other.answers;
        }
        None => servers.push(*other),
    }
}
