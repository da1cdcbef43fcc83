//! Data and missing data of one connection.

use plimsoll_model::{Endpoint, Missing, OneSided, Unseen};
use serde::{Deserialize, Serialize};

use super::{Blocks, Estimate, Ids, Tally};
use crate::connection_context::ConnectionContext;
use crate::stream::TcpFlow;

/// Two standard errors each way: 95 %.
const ERRORS: f64 = 2.0;
/// Usual maximum number of operations in an encrypted message, a compound: open, query, close.
const COMPOUND_MAX: u64 = 3;
/// Standard error of counting by SMB1's MIDs, as a fraction: MIDs without an operation (acknowledged breaks, skipped ids).
const MIDS_OFF: f64 = 0.01;
/// Requests of a UDP conversation without any answer before its answers are said not to have been captured. (A client whose
/// server is dead asks again with the same xid, which is not counted again.)
const UDP_ONE_SIDED: u64 = 8;
/// During a shorter silence, a connection does not transfer so much that its sequence numbers wrap, ns.
const SILENT_NS: i64 = 1_000_000_000;
/// Ports that servers have: SMB, SMB over NetBIOS, NFS, portmap.
const SERVER_PORTS: [u16; 4] = [445, 139, 2049, 111];

/// One direction of a connection.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Flow {
    sizes: Blocks,
    /// Where the stream began, if that is known.
    origin: Option<u64>,
    /// Stream offset behind the last message.
    behind: Option<u64>,
    /// Losses before it.
    breaks: u32,
    /// Bytes between messages, across losses: messages without even a header.
    between: u64,
    /// Number of places with such bytes.
    gaps: u32,
    /// Bytes before the first and behind the last message.
    outside: [u64; 2],
    /// The stream continued at an unrelated position: the number of bytes between its messages is not known.
    has_jumped: bool,
    encrypted: u64,
    compressed: u64,
    packets: u64,
    /// When the last packet came, ns.
    last_ns: Option<i64>,
}

/// The account of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    flows: [Flow; 2],
    tally: Unseen,
    /// Responses in `tally` whose requests came later.
    found_requests: u64,
    /// Times of the first and the last packet, ns.
    times: Option<(i64, i64)>,
}

/// First and last sight of a connection, for estimating operations that a loss may have hidden.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    /// Its beginning was captured.
    pub(crate) opened: bool,
    /// Its end was captured.
    pub(crate) closed: bool,
    /// A request waited for its answer at the end: more was to come.
    pub(crate) waits: bool,
    /// Operations measured.
    pub(crate) operations: u64,
    /// Ids of requests before the first that was seen, of a protocol in which they begin at 0.
    pub(crate) before: u64,
}

impl Ledger {
    /// Takes a packet's time. Gives the time of the packet before it.
    #[inline]
    pub(crate) fn packet(&mut self, direction: usize, time_ns: i64) -> i64 {
        let flow = &mut self.flows[direction];
        flow.packets += 1;
        // Packets that are a little out of order leave it; a clock that was set back does not.
        if flow.last_ns.is_none_or(|last_ns| time_ns > last_ns || last_ns.saturating_sub(time_ns) >= SILENT_NS) {
            flow.last_ns = Some(time_ns);
        }
        match &mut self.times {
            Some((_, last)) => std::mem::replace(last, time_ns),
            None => {
                self.times = Some((time_ns, time_ns));
                time_ns
            }
        }
    }

    /// Whether a direction had a packet since this time.
    pub(crate) fn has_packet_since(&self, direction: usize, since_ns: i64) -> bool {
        self.flows[direction].last_ns.is_some_and(|last_ns| last_ns >= since_ns)
    }

    /// Whether the first packet came at this time or later.
    pub(crate) fn began_since(&self, since_ns: i64) -> bool {
        self.times.is_some_and(|(first_ns, _)| first_ns >= since_ns)
    }

    /// Whether a direction has had no packet for [`SILENT_NS`] before `now_ns`.
    #[inline]
    pub(crate) fn was_silent(&self, direction: usize, now_ns: i64) -> bool {
        self.flows[direction].last_ns.is_some_and(|last_ns| now_ns.saturating_sub(last_ns) >= SILENT_NS)
    }

    /// The time of the last packet.
    pub(crate) fn last_ns(&self) -> Option<i64> {
        self.times.map(|(_, last_ns)| last_ns)
    }

    /// The stream began at `origin`, if that is known.
    pub(crate) fn begin(&mut self, direction: usize, origin: Option<u64>) {
        self.flows[direction].origin = origin;
    }

    /// Takes a message of `size` bytes with its framing that ends at the stream offset `end`. `breaks` counts the losses before it.
    #[inline]
    pub(crate) fn message(&mut self, direction: usize, size: u64, end: u64, breaks: u32) {
        let flow = &mut self.flows[direction];
        flow.sizes.add(size);
        if flow.behind.is_none() || breaks != flow.breaks {
            flow.resume(end.saturating_sub(size), breaks);
        }
        flow.behind = Some(end);
    }

    /// The stream's bytes up to `end` are known, although not as messages.
    pub(crate) fn read_up_to(&mut self, direction: usize, end: u64, breaks: u32) {
        let flow = &mut self.flows[direction];
        (flow.behind, flow.breaks) = (Some(end), breaks);
    }

    /// The stream restarted at another position.
    pub(crate) fn restart(&mut self, direction: usize) {
        let flow = &mut self.flows[direction];
        (flow.behind, flow.origin, flow.has_jumped) = (None, None, true);
    }

    /// Adds the result of a message that went in `direction`.
    #[inline]
    pub(crate) fn add(&mut self, direction: usize, tally: &mut Tally) {
        if tally.any {
            self.add_others(direction, tally);
        }
        self.tally.paired += std::mem::take(&mut tally.paired);
    }

    #[cold]
    fn add_others(&mut self, direction: usize, tally: &mut Tally) {
        self.found_requests += tally.found_requests;
        let mut unseen = tally.take();
        let flow = &mut self.flows[direction];
        flow.encrypted += unseen.encrypted;
        flow.compressed += unseen.compressed;
        (unseen.encrypted, unseen.compressed) = (0, 0);
        self.tally.add(&unseen);
    }

    /// Ends the streams: counts the bytes that are missing after the last message.
    pub(crate) fn end_streams(&mut self, tcp_flows: &[TcpFlow; 2], context: &ConnectionContext) {
        for ((flow, tcp_flow), breaks) in self.flows.iter_mut().zip(tcp_flows).zip(context.breaks) {
            let (Some(end), Some(next)) = (tcp_flow.end(), tcp_flow.next()) else { continue };
            let Some(behind) = flow.behind.or(tcp_flow.origin()) else { continue };
            if breaks != flow.breaks || end > next {
                flow.outside[1] = end.saturating_sub(behind);
            }
        }
    }

    /// Closes the account. `client` is the direction of requests, if known; `ids` are the ids of the requests.
    pub(crate) fn close(
        mut self,
        client: Option<usize>,
        ids: Option<&Ids>,
        tcp_flows: Option<&[TcpFlow; 2]>,
        context: &ConnectionContext,
    ) -> (Unseen, Option<OneSided>) {
        self.tally.found_requests(self.found_requests);
        let client = client.or_else(|| client_by_port(&context.ends));
        let one_sided = self.one_sided(tcp_flows).then(|| self.name_one_sided(context));
        if one_sided.is_some() {
            self.blame_the_side();
        }
        self.tally.encrypted = self.requests(client, |flow| flow.encrypted);
        self.tally.compressed = self.requests(client, |flow| flow.compressed);
        self.tally.missing = match tcp_flows {
            Some(_) => self.missing(client, ids, context),
            None => self.missing_datagrams(ids),
        };
        (self.tally, one_sided)
    }

    /// Whether packets of only the other direction were captured.
    pub(crate) fn is_silent(&self, direction: usize) -> bool {
        self.flows[direction].packets == 0 && self.flows[1 - direction].packets > 0
    }

    /// When this was.
    pub(crate) fn end(&self, tcp_flows: &[TcpFlow; 2], ids: Option<&Ids>, context: &ConnectionContext) -> Option<End> {
        let (first_ns, last_ns) = self.times?;
        let closed = tcp_flows.iter().any(|tcp_flow| tcp_flow.finished);
        Some(End {
            first_ns,
            last_ns,
            opened: context.from_start,
            closed,
            waits: self.tally.requests_waiting > 0,
            operations: self.tally.paired,
            before: ids.and_then(Ids::before_first).map_or(0, |before| before.operations.round() as u64),
        })
    }

    /// Whether the capture lacks the packets of one direction. A server that does not answer is a different case: the client then
    /// acknowledges no data from it.
    fn one_sided(&self, tcp_flows: Option<&[TcpFlow; 2]>) -> bool {
        let (requests, responses) = (self.tally.unanswered(), self.tally.orphans());
        if self.tally.paired > 0 || (requests > 0) == (responses > 0) {
            return false;
        }
        let Some(tcp_flows) = tcp_flows else { return requests >= UDP_ONE_SIDED || responses > 1 };
        let silent = |at: usize| self.flows[at].packets == 0 && self.flows[1 - at].packets > 0;
        let had_data = |tcp_flow: &TcpFlow| tcp_flow.end() > tcp_flow.next();
        (0..2).any(|at| silent(at) && (responses > 0 || had_data(&tcp_flows[at])))
    }

    fn name_one_sided(&self, context: &ConnectionContext) -> OneSided {
        let from = usize::from(self.flows[1].packets > self.flows[0].packets);
        OneSided {
            from: context.ends[from],
            to: context.ends[1 - from],
            requests: self.tally.unanswered(),
            responses: self.tally.orphans(),
        }
    }

    /// Attributes all unpaired halves to the direction that was not captured.
    fn blame_the_side(&mut self) {
        let (requests, responses) = (self.tally.unanswered(), self.tally.orphans());
        self.tally = Unseen { requests_one_sided: requests, responses_one_sided: responses, ..Unseen::default() };
    }

    /// Number of requests of a kind: the client's messages; if the client is unknown, the smaller number of both directions.
    fn requests(&self, client: Option<usize>, count: impl Fn(&Flow) -> u64) -> u64 {
        let both = [count(&self.flows[0]), count(&self.flows[1])];
        let least = if both.contains(&0) { both[0].max(both[1]) } else { both[0].min(both[1]) };
        client.map(|client| both[client]).filter(|&asked| asked > 0).unwrap_or(least)
    }

    fn missing(&self, client: Option<usize>, ids: Option<&Ids>, context: &ConnectionContext) -> Missing {
        let tally = &self.tally;
        let asked = tally.requests_after_gap + tally.requests_after_cut + tally.requests_one_sided;
        let answered = tally.responses_after_gap
            + tally.responses_after_cut
            + tally.responses_one_sided
            + tally.responses_unexplained;
        let client = client.unwrap_or(0);
        let (asked_all, answered_all) = (tally.paired + tally.unanswered(), tally.paired + tally.orphans());
        let requests = self.flows[client].operations(asked_all);
        let responses = self.flows[1 - client].operations(answered_all);
        let bytes = Estimate::combined(requests.into_iter().chain(responses));
        let counted =
            ids.and_then(|ids| counted(ids, [requests, responses, bytes], self.flows[client].each(asked_all)));
        let flows = [(&self.flows[client], asked_all), (&self.flows[1 - client], answered_all)];
        let outside = |at: usize| flows.map(|(flow, seen)| flow.operations_in(flow.outside[at], 1, seen));
        let before = {
            let [of_requests, of_responses] = outside(0);
            let first = ids.and_then(Ids::before_first).filter(|_| context.from_start);
            // Ids of requests that take one each are the requests.
            let is_exact = first.is_some_and(|first| first.error == 0.0);
            let of_requests = of_requests.filter(|one| !is_exact && one.operations > 0.0);
            [Estimate::combined(first.into_iter().chain(of_requests)), of_responses]
        };
        // A direction whose beginning was not captured gives no estimate if the other one can.
        let begins = flows.map(|(flow, _)| flow.origin.is_some());
        let tells = |at: usize| begins[at] || !context.from_start || begins == [false; 2];
        let up_to_last = |between: Option<Estimate>, halves: u64, before: Option<Estimate>| {
            let halves = Estimate { operations: halves as f64, error: 0.0 };
            between.map(|lost| before.map_or(lost, |before| lost.and(before)).and(halves))
        };
        let all = [
            up_to_last(counted, asked, before[0]),
            up_to_last(requests, asked, before[0]).filter(|_| tells(0)),
            up_to_last(responses, answered, before[1]).filter(|_| tells(1)),
        ];
        let behind = Estimate::combined(outside(1).into_iter().flatten());
        let lost =
            Estimate::combined(all.into_iter().flatten()).map(|lost| behind.map_or(lost, |behind| lost.and(behind)));
        let hidden = tally.encrypted + tally.compressed;
        let floor = asked + answered;
        // Requests from before the capture explain responses without a request, if the connection's beginning was not captured.
        let least = if context.from_start { floor } else { floor - tally.responses_unexplained };
        let has_losses = |flow: &Flow| flow.between > 0 || flow.breaks > 0 || flow.outside != [0; 2] || flow.has_jumped;
        let nothing_known = lost.is_none() && self.flows.iter().any(has_losses);
        // The number of operations dropped before its first packet, and in connections without any packet, is unknown.
        let lost_before = context.begins_late && !context.from_start && tally.responses_unexplained > 0;
        let lost = lost.unwrap_or(Estimate { operations: 0.0, error: 0.0 });
        let best = (lost.operations.round() as u64).max(floor);
        let error = ERRORS * lost.error;
        Missing {
            operations: best.saturating_add(hidden),
            low: ((lost.operations - error).max(0.0).floor() as u64).max(least).min(best).saturating_add(hidden),
            high: at_most(lost.operations + error).max(best).saturating_add(hidden * COMPOUND_MAX),
            unknown: u64::from(nothing_known || lost_before),
        }
    }

    /// Datagrams have no sequence numbers: only ids tell, where the client counts them.
    fn missing_datagrams(&self, ids: Option<&Ids>) -> Missing {
        let tally = &self.tally;
        let (requests, responses) = (tally.requests_unexplained, tally.responses_unexplained);
        let one_sided = tally.requests_one_sided + tally.responses_one_sided;
        let either = requests + responses + requests * responses / tally.paired.max(1);
        let counted = ids.and_then(|ids| ids.missing(true)).map_or(0, |lost| lost.operations.round() as u64);
        // The calls of responses without one are among the ids that are missing, where those are counted.
        let likely = if counted > 0 { counted.max(responses).saturating_add(requests) } else { responses };
        Missing {
            operations: likely.saturating_add(one_sided),
            low: counted.saturating_add(one_sided),
            high: likely.max(either).saturating_add(one_sided),
            unknown: 0,
        }
    }
}

impl Flow {
    /// A message begins at `start`, the first of the stream or the first behind a loss.
    #[cold]
    fn resume(&mut self, start: u64, breaks: u32) {
        match (self.behind, self.origin) {
            (Some(behind), _) => self.gap(start.saturating_sub(behind)),
            (None, Some(origin)) if breaks > 0 => self.outside[0] = start.saturating_sub(origin),
            (None, _) => {}
        }
        self.breaks = breaks;
    }

    fn gap(&mut self, bytes: u64) {
        self.between += bytes;
        self.gaps += u32::from(bytes > 0);
    }

    /// Estimated operations in the bytes missing between messages, when the readable messages had `seen` operations. `None` if the number
    /// of these bytes is not known.
    fn operations(&self, seen: u64) -> Option<Estimate> {
        if self.has_jumped { None } else { self.operations_in(self.between, self.gaps, seen) }
    }

    fn operations_in(&self, bytes: u64, gaps: u32, seen: u64) -> Option<Estimate> {
        let lost = self.sizes.messages_in(bytes, gaps)?;
        let each = self.each(seen);
        Some(Estimate { operations: lost.operations * each, error: lost.error * each })
    }

    /// Mean operations per readable message, when all of them together had `seen`.
    fn each(&self, seen: u64) -> f64 {
        let readable = self.sizes.messages().saturating_sub(self.encrypted + self.compressed);
        if readable > 0 && seen > 0 { seen as f64 / readable as f64 } else { 1.0 }
    }
}

/// The direction of requests, by the port of a server.
pub(crate) fn client_by_port(ends: &[Endpoint; 2]) -> Option<usize> {
    ends.iter().position(|end| SERVER_PORTS.contains(&end.port)).map(|at| 1 - at)
}

/// Rounds up to a whole number of operations; less than half an operation counts as none.
fn at_most(operations: f64) -> u64 {
    if operations < 0.5 { 0 } else { operations.ceil() as u64 }
}

/// Missing operations by the ids of requests. If ids wrap around, `bytes` shows how often they did.
fn counted(ids: &Ids, bytes: [Option<Estimate>; 3], each: f64) -> Option<Estimate> {
    let found = ids.missing(false)?;
    let Some(cycle) = ids.cycle() else { return Some(found) };
    // A request of SMB1 may be a chain of several commands or none that is answered: how many the missing ones were is a guess.
    let chains = (found.operations * (each - 1.0).abs()).sqrt() + MIDS_OFF * found.operations;
    let found = Estimate { operations: found.operations * each, error: chains.hypot(found.error * each) };
    let cycle = cycle * each;
    let agrees = |one: &Estimate| (one.operations - found.operations).abs() <= (ERRORS * one.error).min(cycle / 2.0);
    if bytes.iter().flatten().any(agrees) {
        return Some(found);
    }
    let all = bytes[2].filter(|all| ERRORS * all.error < cycle / 2.0)?;
    let rounds = ((all.operations - found.operations) / cycle).round().max(0.0);
    Some(Estimate { operations: found.operations + rounds * cycle, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_sets_back_the_time_of_the_last_packet() {
        let mut ledger = Ledger::default();
        let second = |second: i64| second * 1_000_000_000;
        ledger.packet(0, second(10));
        ledger.packet(0, second(10) - 1_000);
        assert!(ledger.has_packet_since(0, second(10)), "a packet out of order");
        ledger.packet(0, second(2));
        assert!(ledger.has_packet_since(0, second(2)) && !ledger.has_packet_since(0, second(5)));
    }
}
