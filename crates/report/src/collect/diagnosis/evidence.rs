//! The input of the rules, and thresholds for causes.

use plimsoll_model::{Coverage, Names};
use plimsoll_stats::tallies::Excess;
use plimsoll_stats::{Tallies, Waiting};

use crate::collect::StatusName;
use crate::findings::{Findings, OperationRow};

/// A place or an error is a cause from this part of all time waited on.
pub(super) const CAUSE_SHARE: f64 = 0.05;
/// Minimum additional time per request, ns: half a revolution of a disk at 7,200 rpm. A short processor load adds a millisecond or two,
/// which users do not notice and cannot fix.
pub(super) const NOTICEABLE_NS: f64 = 4_000_000.0;
/// Minimum total of the additional waiting, as a fraction of the capture's length; `NOTICEABLE_SUM_NS` if that is less.
const NOTICEABLE_TIME: f64 = 0.05;
/// Minimum total of the additional waiting, ns; `NOTICEABLE_TIME` if that is less.
const NOTICEABLE_SUM_NS: f64 = 1e9;

/// Minimum time in steps of the capture's clock: a shorter request may only have begun just before a step.
const STEPS: f64 = 3.0;

/// Minimum factor between geometric means, and standard errors of it that chance may make.
const CLEAR_TIMES: f64 = 2.0;
const CLEAR_ERRORS: f64 = 3.0;

/// The input of the rules.
pub(in crate::collect) struct Evidence<'e> {
    pub(in crate::collect) findings: &'e Findings,
    /// The waiting of all operations.
    pub(in crate::collect) waiting: Waiting,
    pub(in crate::collect) tallies: Option<&'e Tallies>,
    pub(in crate::collect) coverage: &'e Coverage,
    pub(in crate::collect) names: &'e Names,
    pub(in crate::collect) status_name: StatusName,
}

impl Evidence<'_> {
    /// How long clients waited in all, s.
    pub(super) fn waited_s(&self) -> f64 {
        self.findings.operations.iter().filter(|row| row.parent.is_none()).map(|row| row.waited_s).sum()
    }

    /// How long clients waited in all, as the tallies have it, ns.
    pub(super) fn waited_ns(&self) -> f64 {
        self.tallies.map_or(0.0, |tallies| tallies.waited_ns() as f64)
    }

    /// Whether waiting counts from intended starts: then a part of it is neither service time nor sending nor receiving, because the
    /// request was not sent yet.
    pub(super) fn is_from_intended(&self) -> bool {
        self.findings.headline.is_from_intended()
    }

    /// Minimum time of a single request, and between two responses, that the capture's clock shows, ns.
    pub(super) fn measured_ns(&self) -> f64 {
        measured_s(self.findings) * 1e9
    }

    /// Whether the numbers are of all requests in the capture, or in a part of its time: of a selection they are neither the load of a
    /// server nor all requests of a client.
    pub(super) fn has_all_requests(&self) -> bool {
        self.findings.source.has_only_filters(&["--from", "--to"])
    }

    /// Whether the numbers are of all requests to these servers: only then they are the load.
    pub(super) fn has_whole_load(&self) -> bool {
        self.findings.source.has_only_filters(&["--from", "--to", "--server"])
    }

    /// From the first packet to the last, ns.
    pub(super) fn elapsed_ns(&self) -> Option<f64> {
        let elapsed_ns = self.coverage.last_ns?.checked_sub(self.coverage.first_ns?)?;
        (elapsed_ns > 0).then_some(elapsed_ns as f64)
    }

    /// Minimum total of the clients' additional waiting for a cause, ns.
    pub(super) fn least_ns(&self) -> f64 {
        self.elapsed_ns().map_or(NOTICEABLE_SUM_NS, |elapsed_ns| NOTICEABLE_SUM_NS.min(NOTICEABLE_TIME * elapsed_ns))
    }

    /// Whether a difference is more than chance among so few requests: their geometric means differ by twice, and by three standard errors
    /// if a request's time is usually within a factor of e of the others.
    pub(super) fn is_clear(excess: &Excess) -> bool {
        excess.typical >= CLEAR_TIMES * (CLEAR_ERRORS / (excess.count.max(1) as f64).sqrt()).exp()
    }

    /// Whether the additional waiting is relevant: per request, in total, and compared with all other waiting.
    pub(super) fn is_noticeable(&self, excess: &Excess) -> bool {
        excess.mean_ns - excess.others_ns >= NOTICEABLE_NS
            && excess.ns() >= self.least_ns().max(CAUSE_SHARE * self.waited_ns())
    }
}

/// Minimum time of a single request that the capture's clock shows, s.
pub(super) fn measured_s(findings: &Findings) -> f64 {
    // The step is an upper bound if few timestamps differ; a median of 0 shows that it is not much too high.
    let is_zero = |row: &OperationRow| row.response_time.is_some_and(|times| times.p50_s <= 0.0);
    let is_step = !findings.clock.at_most || findings.operations.iter().any(is_zero);
    findings.clock.granularity_s.filter(|_| is_step).map_or(0.0, |step_s| STEPS * step_s)
}
