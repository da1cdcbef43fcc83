//! The end of a connection: what still waited, and its part of the sums over all connections.

use plimsoll_model::{Anomaly, Coverage, Missing, PacketCounts, Sink};

use super::Connection;
use super::lives::Life;
use super::stream_consumer::{Messages, StreamConsumer};
use crate::account::Account;
use crate::connection_context::{ConnectionContext, Ended};
use crate::message::Framing;
use crate::missing::client_by_port;
use crate::pairing::smb2::Smb2Shared;
use crate::pairing::{Pending, waits};
use crate::shared_state::Shared;

/// Maximum number of connections whose first and last packet times are remembered.
const ENDS_MAX: usize = 65_536;

impl Connection {
    /// The capture has ended, and the connection with it.
    pub(crate) fn end_with_capture<S: Sink>(&mut self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        self.paired.context.ended = Some(Ended::WithCapture);
        self.end(shared, packets);
    }

    /// The connection has ended or is forgotten: nothing more comes.
    pub(crate) fn end<S: Sink>(&mut self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        self.open_gaps.end(&mut shared.account.bursts);
        (0..2).for_each(|direction| self.give_up_holes(direction, shared, packets));
        for direction in 0..2 {
            let tcp_flow = &self.tcp_flows[direction];
            let end = tcp_flow.next().unwrap_or_default();
            let mut messages = Messages { paired: &mut self.paired, direction, shared };
            self.framed.framers[direction].end(end, |message| messages.take(message));
            self.framed.framers[direction].release_kept(&mut shared.long_messages);
            if self.may_lack_messages(direction) {
                self.paired.context.holes[direction] += 1;
                self.paired.context.breaks[direction] = self.paired.context.breaks[direction].wrapping_add(1);
                let tcp_flow = &self.tcp_flows[direction];
                if tcp_flow.end() > tcp_flow.next() {
                    self.framed.holes[direction].add_end(tcp_flow.end().unwrap_or(end) - end);
                }
            }
            let faults = self.framed.framers[direction].faults;
            let anomalies = &mut shared.output.anomalies;
            anomalies.add_many(Anomaly::HeaderCutShort, faults.cut_short);
            anomalies.add_many(Anomaly::BytesUnrecognised, faults.unrecognised);
            anomalies.add_many(Anomaly::Resynchronised, faults.resynchronised);
            anomalies.add_many(Anomaly::MessageMalformed, faults.malformed);
        }
        if let Some((direction, at_ns)) = self.watch.closed_by() {
            let responded_ns = self.responded_ns;
            self.paired.context.ended = Some(Ended::Closed { direction, at_ns, responded_ns });
        }
        self.paired.context.acknowledged = self.acknowledged();
        let waited = self.has_waited(&shared.smb2);
        self.paired.pairing.end(&self.paired.context, shared);
        self.settle_packets(shared, packets);
        self.settle(waited, shared);
        shared.smb2.leave(&self.paired.context, &mut shared.output);
        shared.account.add_asynchronous(&shared.output.tally.take());
    }

    /// No packet came for minutes. Drops answers whose requests have not come, and passes on what waits behind holes if it takes memory
    /// that other connections may need.
    pub(crate) fn leave_idle<S: Sink>(&mut self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        self.paired.pairing.clear_early(&mut shared.output.early);
        for direction in 0..2 {
            if self.tcp_flows[direction].has_reserved() {
                self.give_up_holes(direction, shared, packets);
            }
        }
    }

    /// Passes on all that waits behind holes.
    fn give_up_holes<S: Sink>(&mut self, direction: usize, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        let messages = Messages { paired: &mut self.paired, direction, shared };
        let mut consumer = StreamConsumer { framed: &mut self.framed, messages, packets };
        self.tcp_flows[direction].finish(&mut consumer);
    }

    /// Whether a request waited for its response when one end closed the connection.
    fn has_waited(&self, smb2: &Smb2Shared) -> bool {
        let Some((_, closed_ns)) = self.watch.closed_by() else { return false };
        let (context, mut waited) = (&self.paired.context, false);
        let mut note = |request: &Pending| waited |= request.first.time_ns <= closed_ns && waits(context, request);
        self.paired.pairing.waiting(&mut note);
        smb2.waiting_of(context.connection, &mut note);
        waited || self.paired.pairing.waited_unread(closed_ns)
    }

    /// The last request that needs the server, or its response, or data where requests cannot be read.
    fn used_ns(&self, last_ns: Option<i64>) -> Option<i64> {
        match &self.framed.tls {
            Some(_) => last_ns,
            None => self.paired.pairing.used_ns(last_ns),
        }
    }

    /// What requests that still wait know of the connection if the capture ends now.
    pub(crate) fn context_at_the_end(&self) -> ConnectionContext {
        let (ended, acknowledged) = (Some(Ended::WithCapture), self.acknowledged());
        let mut context = ConnectionContext { ended, acknowledged, ..self.paired.context };
        for direction in (0..2).filter(|&direction| self.may_lack_messages(direction)) {
            context.holes[direction] += 1;
        }
        context
    }

    fn acknowledged(&self) -> [u64; 2] {
        [0, 1].map(|direction| self.tcp_flows[direction].acknowledged())
    }

    /// Whether messages may be in missing bytes behind the last message, in bytes that were not recognised, or in a segment whose place is
    /// not known.
    fn may_lack_messages(&self, direction: usize) -> bool {
        let tcp_flow = &self.tcp_flows[direction];
        let is_incomplete = tcp_flow.end() > tcp_flow.next() || self.framed.framers[direction].may_hide_messages();
        let unplaced = self.opening.as_ref().and_then(|opening| opening.wrapped_direction());
        self.framed.framing != Framing::Unknown && (is_incomplete || unplaced == Some(direction))
    }

    /// Counts the packets that were dropped, and takes those that were no client's from the client's.
    fn settle_packets<S>(&self, shared: &mut Shared<S>, packets: &mut PacketCounts) {
        let client = self.paired.pairing.client.or_else(|| client_by_port(&self.paired.context.ends));
        let client = client.filter(|_| self.framed.framing != Framing::Unknown);
        for direction in (0..2).filter(|&direction| client != Some(direction)) {
            self.unsure[direction].take_from(packets);
        }
        // Losses of other traffic do not matter, and packets on another path were not dropped.
        if self.is_file_server() {
            for direction in (0..2).filter(|&direction| !self.paired.ledger.is_silent(direction)) {
                self.framed.holes[direction].count(
                    self.tcp_flows[direction].sizes(),
                    packets,
                    &mut shared.output.anomalies,
                );
            }
        }
    }

    /// Adds the TLS records of this connection, which hold operations that the numbers lack.
    fn add_tls(&self, account: &mut Account) {
        let Some(tls) = &self.framed.tls else { return };
        let context = &self.paired.context;
        let client = self.paired.pairing.client.or_else(|| client_by_port(&context.ends));
        let Some(found) = client.and_then(|client| tls.finish(client, context)) else { return };
        let (operations, high) = (found.requests, found.most_requests);
        account.unseen.missing.add(&Missing { operations, low: 1, high: high.max(operations), unknown: 0 });
        account.rpc_tls.add_connection(&found);
    }

    /// Adds the missing data of this connection to the total, and how it ended; `waited`: a request did then.
    fn settle<S>(&mut self, waited: bool, shared: &mut Shared<S>) {
        let mut ledger = std::mem::take(&mut self.paired.ledger);
        ledger.add(0, &mut shared.output.tally);
        let account = &mut shared.account;
        if self.framed.framing == Framing::Unknown {
            let client = client_by_port(&self.paired.context.ends);
            let unopened = client.and_then(|client| self.watch.unopened(client, &self.paired.context.ends));
            unopened.into_iter().for_each(|one| one.add_to(&mut account.unopened));
            if self.framed.cut_unread && client_by_port(&self.paired.context.ends).is_some() {
                shared.output.anomalies.add(Anomaly::ConnectionCutShort);
                account.unseen.missing.unknown += 1;
            }
            return;
        }
        let is_stream = self.tcp_flows.iter().any(|tcp_flow| tcp_flow.next().is_some());
        let ids = self.paired.pairing.client.and_then(|client| self.paired.pairing.ids(client));
        ledger.end_streams(&self.tcp_flows, &self.paired.context);
        if is_stream && account.ends.len() < ENDS_MAX {
            account.ends.extend(ledger.end(&self.tcp_flows, ids, &self.paired.context));
        }
        let is_encrypted = self.framed.tls.as_ref().is_some_and(|tls| tls.is_certain());
        // Datagrams bring other programs: no version 4 of NFS (RFC 8881 2.9.1).
        let is_one_sided = !self.paired.context.datagrams && (0..2).any(|direction| ledger.is_silent(direction));
        if self.framed.framing == Framing::Rpc && (is_encrypted || is_one_sided) {
            shared.output.delegations.partial_between(self.paired.context.ends.map(|end| end.ip));
        }
        let (unseen, one_sided) =
            ledger.close(self.paired.pairing.client, ids, is_stream.then_some(&self.tcp_flows), &self.paired.context);
        account.unseen.add(&unseen);
        self.add_tls(account);
        if let Some(client) = self.paired.pairing.client {
            let segments = [client, 1 - client].map(|direction| self.tcp_flows[direction].sizes().segments);
            let network = self.watch.found(client, self.paired.context.ends[client].ip, segments);
            account.network.add(&network);
            let [low, high] = &self.acknowledgements;
            let acknowledgements = if client == 0 { [low, high] } else { [high, low] };
            let ends = &self.paired.context.ends;
            let life = self.watch.life(client, ends[client].ip, ends[1 - client]);
            let logged_off = self.paired.pairing.has_logged_off();
            let used_ns = self.used_ns(life.last_ns);
            account.lives.add(Life { waited, logged_off, used_ns, ..life });
            let stuck = self.watch.stuck(client);
            account.client_paths.add(self.paired.context.ends[client].ip, &network, acknowledgements, stuck);
        }
        if let Some(one_sided) = one_sided {
            account.one_sided += 1;
            if account.one_sided_named.len() < Coverage::ONE_SIDED_NAMED {
                account.one_sided_named.push(one_sided);
            }
        }
    }
}
