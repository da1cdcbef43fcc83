//! Operations that were not captured whole, and their share of all.

use serde::{Deserialize, Serialize};

use crate::add_fields;

/// Operations of which a half or all is not in the capture, or cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// Requests and responses paired.
    pub paired: u64,
    /// Requests left without an answer on a connection whose answers had holes since.
    pub requests_after_gap: u64,
    /// Responses without a request on a connection whose requests had holes.
    pub responses_after_gap: u64,
    /// Requests left without an answer where the snap length cut message headers off since.
    pub requests_after_cut: u64,
    /// Responses without a request where the snap length cut message headers off.
    pub responses_after_cut: u64,
    /// Requests on connections of which only the client's packets were captured.
    pub requests_one_sided: u64,
    /// Responses on connections of which only the server's packets were captured.
    pub responses_one_sided: u64,
    /// Requests without an answer where the capture lost nothing: still waiting when it ended.
    pub requests_waiting: u64,
    /// Responses without a request where the capture lost nothing: it began after the request.
    pub responses_before_start: u64,
    /// Requests over UDP without an answer: there is no trace of packets that were not captured.
    pub requests_unexplained: u64,
    /// Responses without a request: in datagrams, or of a connection of which nothing is known to be lost, and the beginning was captured
    /// or the first packet came more than a second after the capture's.
    pub responses_unexplained: u64,
    /// Encrypted requests that could not be read, estimated where only their answers were captured.
    pub encrypted: u64,
    /// Compressed requests that could not be read, estimated likewise.
    pub compressed: u64,
    /// Operations that the numbers do not contain, for all of these reasons together.
    pub missing: Missing,
}

/// An estimate of the operations that the numbers do not contain, with its interval (95 %).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The best estimate.
    pub operations: u64,
    /// Lower bound.
    pub low: u64,
    /// Upper bound, from the capture.
    pub high: u64,
    /// Connections with lost data and not one recognised message, or whose beginning was lost while others were captured: their number of
    /// operations is unknown. Datagrams with cut headers, and those without all fragments if they are many, count here, too.
    pub unknown: u64,
}

/// An estimated share (0..=1) with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareMissing {
    /// The best estimate.
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Missing {
    /// Adds another part of the traffic.
    pub fn add(&mut self, other: &Missing) {
        add_fields!(self, other; operations, low, high, unknown);
    }
}

impl Unseen {
    /// Adds another part of the traffic.
    #[inline]
    pub fn add(&mut self, other: &Unseen) {
        add_fields!(self, other; paired, requests_after_gap, requests_after_cut, requests_one_sided, requests_waiting);
        add_fields!(self, other; responses_after_gap, responses_after_cut, responses_one_sided, responses_before_start);
        add_fields!(self, other; requests_unexplained, responses_unexplained, encrypted, compressed);
        self.missing.add(&other.missing);
    }

    /// The share of the operations that the numbers do not contain; `None` where it cannot be estimated.
    pub fn share_missing(&self) -> Option<ShareMissing> {
        let Missing { operations, low, high, unknown } = self.missing;
        let share = |missing: u64| missing as f64 / (self.paired as f64 + missing as f64);
        let known = unknown == 0 && (self.paired > 0 || operations > 0);
        known.then(|| ShareMissing {
            share: share(operations),
            low: share(low.min(operations)),
            high: share(high.max(operations)),
        })
    }

    /// Requests without an answer, for any cause.
    pub fn unanswered(&self) -> u64 {
        self.requests_after_gap
            + self.requests_after_cut
            + self.requests_one_sided
            + self.requests_waiting
            + self.requests_unexplained
    }

    /// `count` responses were counted as responses without a request, but their requests came later.
    pub fn found_requests(&mut self, mut count: u64) {
        let counts = [
            &mut self.responses_unexplained,
            &mut self.responses_after_gap,
            &mut self.responses_after_cut,
            &mut self.responses_before_start,
        ];
        for one in counts {
            let found = count.min(*one);
            *one -= found;
            count -= found;
        }
    }

    /// Responses without a request, for any cause.
    pub fn orphans(&self) -> u64 {
        self.responses_after_gap
            + self.responses_after_cut
            + self.responses_one_sided
            + self.responses_before_start
            + self.responses_unexplained
    }
}

/// A connection of which only one direction was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSided {
    /// Where the captured packets came from.
    pub from: crate::Endpoint,
    /// Where they went.
    pub to: crate::Endpoint,
    /// Requests seen; 0 where only responses were.
    pub requests: u64,
    /// Responses seen.
    pub responses: u64,
}
