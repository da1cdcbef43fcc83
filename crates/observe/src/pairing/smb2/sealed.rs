//! Encrypted messages without a key: waiting times from the number of outstanding requests.
//!
//! The area under the number of outstanding requests is the sum of all response times, whatever the order of the responses (Little's
//! law): the sum of the responses' timestamps less that of the requests. So sums are exact. Single times are not: each response is
//! assigned to the request that waited longest.
//!
//! Interim answers and breaks are additional responses. Their number is known at the end, and their sizes too: leaving out that many
//! messages of these sizes, the first or the last ones, gives the highest and the lowest sum.

mod besides;
mod histogram;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use plimsoll_model::{Encrypted, Waited};
use plimsoll_wire::smb2::transform;
use serde::{Deserialize, Serialize};

use self::besides::Besides;
use self::histogram::Histogram;
use crate::connection_context::ConnectionContext;
use crate::message::Message;
use crate::missing::client_by_port;

/// Requests outstanding on a connection, at most; servers grant 8,192 credits.
const OUTSTANDING_MAX: usize = 16_384;
/// Header and body of CANCEL, and of the requests and responses that are as short: ECHO, LOGOFF, TREE_DISCONNECT.
const CANCEL_LEN: u32 = 68;
/// The header, and the body of a FLUSH. A LOCK has as many bytes more for each of its ranges. Their responses are as short as that of ECHO.
const HEADER_LEN: u32 = 64;
const LOCK_LEN: u32 = 24;
/// An error response, which is also an interim one.
const ERROR_LEN: std::ops::RangeInclusive<u32> = 72..=73;
/// Breaks of an oplock and of a lease.
const BREAK_LENS: [u32; 2] = [88, 108];
/// Short responses that may belong to no request: the maximum number whose times are kept.
const BESIDES_MAX: usize = 65_536;
/// Requests and such responses that all connections keep, at most: 16 MiB.
const ALL_MAX: usize = if cfg!(test) { 1_000 } else { 1 << 20 };
/// Beyond these, no further responses: a long capture has many, and they must leave room for requests.
const ALL_BESIDES_MAX: usize = ALL_MAX / 4 * 3;
/// Requests, and such responses, that each connection may keep in any case.
const USUAL: usize = 64;
/// After missing bytes, responses may belong to earlier requests. On a connection that was silent for this time, ns, none of those is
/// outstanding; few responses take longer.
const QUIET_NS: i64 = 1_000_000_000;
/// A message above this size carries data: READ's response or WRITE's request, or a listing.
const DATA_LEN: u32 = 1_024;
/// A READ request without data: header, 48 bytes, and one that stands for none.
const READ_LEN: std::ops::RangeInclusive<u32> = 112..=120;
/// Header and fixed part in front of the data of WRITE's request, and of READ's response.
const BEFORE_WRITTEN: u32 = 112;
const BEFORE_READ: u32 = 80;

/// The encrypted messages of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outstanding {
    /// First byte and size of each request, oldest first.
    requests: VecDeque<(i64, u32)>,
    /// The sum of the responses' timestamps minus that of the requests, ns.
    area_ns: i128,
    /// Requests less responses so far.
    balance: i64,
    /// Short responses that may belong to no request.
    besides: Besides,
    holes: [u32; 2],
    seen: bool,
    /// The client sent a request.
    asked: bool,
    /// Offset behind the last response that was not encrypted, though its request was.
    in_clear: Option<u64>,
    /// Requests that may have been answered, though they wait here: a short response counted as that of a CANCEL before them.
    doubtful: usize,
    /// Since nothing was outstanding, a request came whose response may be as short as that of ECHO: a FLUSH or a LOCK.
    short_expected: bool,
    /// The last message since bytes were missing, ns; `None` where all that is outstanding is known.
    unsettled: Option<i64>,
    /// How many of `requests` and `besides` are in the count of all connections.
    counted: usize,
}

/// The sums over all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SealedTimes {
    sums: Encrypted,
    /// Of all, reads and writes.
    times: [Histogram; 3],
    /// How many requests and responses all connections keep.
    kept: usize,
}

impl Outstanding {
    /// Whether a request waits for its answer.
    pub(super) fn has_waiting(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Takes a message that could not be read; `client` is the direction of requests, where plain ones showed it.
    pub(super) fn message(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        client: Option<usize>,
        context: &ConnectionContext,
        times: &mut SealedTimes,
    ) {
        let Some(client) = client.or_else(|| client_by_port(&context.ends)) else { return };
        let Some(size) = size(message) else { return };
        times.sums.connections += u64::from(!std::mem::replace(&mut self.seen, true));
        let from_server = usize::from(direction != client);
        self.asked |= from_server == 0;
        times.sums.messages[from_server] += 1;
        times.sums.bytes[from_server] += u64::from(size);
        let first_ns = message.first.time_ns;
        times.sums.first_ns = Some(times.sums.first_ns.map_or(first_ns, |before| before.min(first_ns)));
        if self.holes != context.holes || message.last.is_none() {
            self.holes = context.holes;
            self.interrupt(first_ns, times);
        }
        let Some(last_ns) = message.last.map(|last| last.time_ns) else { return };
        times.sums.last_ns = times.sums.last_ns.max(Some(last_ns));
        if self.is_unsettled(from_server == 0, first_ns, last_ns) {
            return;
        }
        match from_server {
            0 if self.has_room(times) => self.request(first_ns, size),
            // Without this request, responses would seem to belong to others.
            0 => self.interrupt(first_ns, times),
            _ => self.response(last_ns, size, times),
        }
        self.count(times);
    }

    /// Whether there is room for one more request.
    fn has_room(&self, times: &SealedTimes) -> bool {
        let kept = self.requests.len();
        kept < USUAL || (kept < OUTSTANDING_MAX && times.kept < ALL_MAX)
    }

    /// A message is missing: nothing is known of those around it until the connection was quiet.
    fn interrupt(&mut self, at_ns: i64, times: &mut SealedTimes) {
        times.sums.interrupted += 1;
        self.leave_out();
        self.settle(times);
        self.unsettled = Some(at_ns);
    }

    /// Brings the count of all connections up to date.
    fn count(&mut self, times: &mut SealedTimes) {
        let now = self.requests.len() + self.besides.len();
        times.kept = times.kept.saturating_sub(self.counted) + now;
        self.counted = now;
    }

    /// Whether a request from this time or before waits for its answer.
    pub(super) fn waited(&self, until_ns: i64) -> bool {
        let waits = |&&(first_ns, size): &&(i64, u32)| first_ns <= until_ns && size != CANCEL_LEN;
        self.requests.iter().filter(waits).count() > self.doubtful
    }

    /// Whether the client sent encrypted requests.
    pub(super) fn has_requests(&self) -> bool {
        self.asked
    }

    /// Whether a response that is not encrypted, and is of no request that could be read, is of an encrypted one. So servers refuse requests
    /// that they cannot accept. `position` is that of a member in its compound.
    #[cold]
    pub(super) fn answered_in_clear(
        &mut self,
        message: &Message<'_>,
        position: Option<u16>,
        context: &ConnectionContext,
        times: &mut SealedTimes,
    ) -> bool {
        let is_known = self.holes == context.holes && self.unsettled.is_none();
        let is_first = position.is_none_or(|position| position == 0);
        if is_first && is_known && self.has_waiting() {
            self.in_clear = Some(message.end_offset);
            if let Some(last) = message.last {
                self.response(last.time_ns, u32::try_from(message.len).unwrap_or(u32::MAX), times);
                self.count(times);
            }
        }
        self.in_clear == Some(message.end_offset)
    }

    /// Whether a response may be of a request from before bytes were missing: until the connection was quiet.
    fn is_unsettled(&mut self, is_request: bool, first_ns: i64, last_ns: i64) -> bool {
        let Some(before_ns) = self.unsettled else { return false };
        let is_quiet = is_request && first_ns.saturating_sub(before_ns) >= QUIET_NS;
        self.unsettled = (!is_quiet).then_some(last_ns);
        !is_quiet
    }

    /// Bytes are missing: whether the outstanding requests have responses is unknown.
    fn leave_out(&mut self) {
        while let Some((first_ns, _)) = self.requests.pop_front() {
            self.without_response(first_ns);
        }
        (self.doubtful, self.short_expected) = (0, false);
    }

    fn request(&mut self, first_ns: i64, size: u32) {
        self.short_expected |= size > HEADER_LEN && (size - HEADER_LEN).is_multiple_of(LOCK_LEN);
        self.requests.push_back((first_ns, size));
        self.area_ns -= i128::from(first_ns);
        self.balance += 1;
    }

    /// A request that has no response, or of which none was seen, counts for nothing.
    fn without_response(&mut self, first_ns: i64) {
        self.area_ns += i128::from(first_ns);
        self.balance -= 1;
    }

    fn response(&mut self, last_ns: i64, size: u32, times: &mut SealedTimes) {
        let may_be_short = size == CANCEL_LEN || ERROR_LEN.contains(&size);
        while !may_be_short && let Some((first_ns, _)) = self.requests.pop_front_if(|(_, asked)| *asked == CANCEL_LEN) {
            self.without_response(first_ns);
            times.sums.cancels += 1;
        }
        self.area_ns += i128::from(last_ns);
        self.balance -= 1;
        if ERROR_LEN.contains(&size) || BREAK_LENS.contains(&size) {
            let kept = self.besides.len();
            self.besides.add(last_ns, kept < USUAL || (kept < BESIDES_MAX && times.kept < ALL_BESIDES_MAX));
        }
        if let Some((asked_ns, asked)) = self.requests.pop_front() {
            // An ECHO has a response of its own length. Another one, or that of a FLUSH or LOCK, may be of a request behind a CANCEL.
            let may_be_of_another = ERROR_LEN.contains(&size) || self.short_expected;
            self.doubtful += usize::from(asked == CANCEL_LEN && may_be_of_another);
            times.pair(wait(asked_ns, last_ns), asked, size);
        }
        // Further responses (interim ones) may have taken those that were left behind.
        self.doubtful = self.doubtful.min(self.requests.len());
        self.short_expected &= !self.requests.is_empty();
    }

    /// The outstanding requests get no response that is captured: adds up the ones so far.
    fn settle(&mut self, times: &mut SealedTimes) {
        while let Some((first_ns, size)) = self.requests.pop_front() {
            self.without_response(first_ns);
            let count = if size == CANCEL_LEN { &mut times.sums.cancels } else { &mut times.sums.unanswered };
            *count += 1;
        }
        let extra = usize::try_from(-self.balance).unwrap_or(0);
        let besides = std::mem::take(&mut self.besides);
        let known = extra.min(besides.known());
        times.sums.besides += extra as u64;
        times.sums.unexplained += (extra - known) as u64;
        let bounds = besides.sums(known).map(|left_out_ns| self.area_ns - left_out_ns);
        for (sum, bound) in times.sums.sum_ns.iter_mut().zip(bounds) {
            *sum = sum.saturating_add(u64::try_from(bound).unwrap_or(0));
        }
        (self.area_ns, self.balance) = (0, 0);
        self.count(times);
    }

    /// The connection has ended.
    pub(super) fn end(&mut self, times: &mut SealedTimes) {
        self.settle(times);
    }
}

impl SealedTimes {
    fn pair(&mut self, ns: u64, asked: u32, answered: u32) {
        let data = match (asked > DATA_LEN, answered > DATA_LEN) {
            (true, false) => asked - BEFORE_WRITTEN,
            (false, true) if READ_LEN.contains(&asked) => answered - BEFORE_READ,
            _ => 0,
        };
        let [all, reads, writes] = &mut self.times;
        add(&mut self.sums.all, all, ns, data);
        if data > 0 && asked > DATA_LEN {
            add(&mut self.sums.writes, writes, ns, data);
        } else if data > 0 {
            add(&mut self.sums.reads, reads, ns, data);
        }
    }

    /// The sums, with percentiles.
    pub(crate) fn finish(mut self) -> Encrypted {
        let sums = [&mut self.sums.all, &mut self.sums.reads, &mut self.sums.writes];
        for (waited, times) in sums.into_iter().zip(&self.times) {
            waited.percentiles_ns = [0.5, 0.9, 0.99].map(|share| times.quantile(share));
        }
        self.sums
    }
}

/// Whether a message that was not read is as short as ECHO.
pub(super) fn may_be_echo(message: &Message<'_>) -> bool {
    size(message) == Some(CANCEL_LEN)
}

/// Whether a message that was not read is as short as an error response.
pub(super) fn may_be_error(message: &Message<'_>) -> bool {
    size(message).is_some_and(|size| ERROR_LEN.contains(&size))
}

/// Size of an encrypted message without its transform header.
fn size(message: &Message<'_>) -> Option<u32> {
    transform::Encrypted::new(message.bytes)?.original_message_size()
}

/// Whether a message of this size may be a break, to which no request belongs.
pub(super) fn may_be_break(size: u32) -> bool {
    BREAK_LENS.contains(&size)
}

fn add(waited: &mut Waited, times: &mut Histogram, ns: u64, bytes: u32) {
    times.add(ns);
    waited.count += 1;
    waited.sum_ns = waited.sum_ns.saturating_add(ns);
    waited.bytes += u64::from(bytes);
    waited.longest_ns = waited.longest_ns.max(ns);
}

fn wait(from_ns: i64, to_ns: i64) -> u64 {
    u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0)
}
