//! Times between consecutive answers while a request waits all the time: the service time of a server that serves one request at a time.

use plimsoll_model::Transaction;
use serde::{Deserialize, Serialize};

use super::cell::log2;

/// Times from answer to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    last_ns: Option<i64>,
    count: u64,
    sum_ns: u64,
    log2_sum: u64,
}

impl Answers {
    /// Takes an answer, in the order of their ends: it counts where its request was waiting at the answer before.
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction) {
        let (Some(began_ns), Some(end_ns)) = (t.timeline.request_first, t.timeline.response_last) else { return };
        let last_ns = self.last_ns.replace(end_ns);
        if let Some(passed) = last_ns
            .filter(|&last_ns| began_ns < last_ns)
            .and_then(|last_ns| u64::try_from(end_ns.wrapping_sub(last_ns)).ok())
        {
            self.count = self.count.wrapping_add(1);
            self.sum_ns = self.sum_ns.wrapping_add(passed);
            self.log2_sum = self.log2_sum.wrapping_add(log2(passed));
        }
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Answers) {
        self.last_ns = self.last_ns.max(other.last_ns);
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.log2_sum = self.log2_sum.saturating_add(other.log2_sum);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, ns.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    /// Their geometric mean as a part of their mean: 1 where all are alike, 0.56 where answers come at random (Poisson).
    pub fn evenness(&self) -> f64 {
        (self.log2_sum as f64 / 256.0 / self.count.max(1) as f64).exp2() / self.mean_ns().max(1.0)
    }
}

crate::state::fields!("times from answer to answer"; Answers { last_ns, count, sum_ns, log2_sum });
