//! Encrypted messages: sums become means and rates.

use plimsoll_model::{Coverage, Encrypted as Sums};

use super::SECOND;
use crate::findings::{Encrypted, Waited};

/// `None` where there are none.
pub(super) fn encrypted(coverage: &Coverage) -> Option<Encrypted> {
    let sums = Some(&coverage.encrypted).filter(|sums| sums.messages != [0; 2])?;
    let Sums { connections, messages, bytes, first_ns, last_ns, all, reads, writes, .. } = sums;
    let elapsed_s = first_ns.zip(*last_ns).map(|(first, last)| last.saturating_sub(first) as f64 / SECOND);
    let is_bounded = all.count > 0 && sums.unexplained == 0;
    let [mean_low_s, mean_high_s] = sums.sum_ns.map(|ns| is_bounded.then(|| ns as f64 / all.count as f64 / SECOND));
    let mean_s = mean_low_s.filter(|_| mean_low_s == mean_high_s);
    Some(Encrypted {
        connections: *connections,
        requests: messages[0],
        responses: messages[1],
        request_bytes: bytes[0],
        response_bytes: bytes[1],
        elapsed_s,
        all: Waited { mean_s, ..waited(all) },
        reads: waited(reads),
        writes: waited(writes),
        mean_low_s,
        mean_high_s,
        besides: sums.besides,
        unanswered: sums.unanswered,
        cancels: sums.cancels,
        interrupted: sums.interrupted,
    })
}

fn waited(sums: &plimsoll_model::Waited) -> Waited {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let [p50_s, p90_s, p99_s] = sums.percentiles_ns.map(|ns| ns.map(seconds));
    let mean_s = (sums.count > 0).then(|| seconds(sums.sum_ns) / sums.count as f64);
    Waited { count: sums.count, mean_s, p50_s, p90_s, p99_s, data_bytes: sums.bytes }
}
