//! The recovery that a client needs or runs, and the counts of those before.

use super::recoveries::Recoveries;
use super::recovery::{Recovery, Stage};
use crate::jobs::JobId;
use crate::operation::Cause;

/// Maximum number of sessions lost in a row without a successful operation.
const MOST_LOSSES: u32 = 8;

/// The recoveries of a client. At most one is needed, runs, or was interrupted.
#[derive(Debug, Default)]
pub(super) struct Recovering {
    /// First stage of a recovery that has not begun.
    needed: Option<Stage>,
    /// The job of a recovery that runs.
    job: Option<JobId>,
    /// A recovery that was interrupted by the loss of its connection.
    interrupted: Option<Box<Recovery>>,
    /// The session whose state was reclaimed because the server asked for it.
    reclaimed: Option<u32>,
    /// Number of sessions lost since the last successful operation.
    losses: u32,
    /// Time at which the last recovery succeeded, ns.
    succeeded_at: i64,
    pub(super) counts: Recoveries,
}

impl Recovering {
    /// Counts a lost session. After too many in a row, the client gives the connection up.
    pub(super) fn lose(&mut self) -> Option<Cause> {
        self.losses += 1;
        (self.losses > MOST_LOSSES).then_some(Cause::SessionLost)
    }

    /// Whether the server has lost an open that the client could not get again.
    pub(super) fn has_lost_opens(&self) -> bool {
        self.counts.opens.lost > 0
    }

    /// Whether a recovery has succeeded since this time, ns.
    pub(super) fn has_succeeded_since(&self, sent: i64) -> bool {
        self.succeeded_at > sent
    }

    /// A request succeeded that belongs to no recovery.
    pub(super) fn end_losses(&mut self) {
        self.losses = 0;
    }

    /// A recovery must begin with this stage.
    pub(super) fn need(&mut self, stage: Stage) {
        self.needed = Some(stage);
    }

    /// The server has lost the state of this session, but not the session. The client reclaims once in each session.
    pub(super) fn need_reclaim(&mut self, session: u32) {
        if self.job.is_none() && self.reclaimed != Some(session) {
            self.reclaimed = Some(session);
            self.needed.get_or_insert(Stage::Claim);
        }
    }

    /// Takes the first stage of the recovery that must begin.
    pub(super) fn take_need(&mut self) -> Option<Stage> {
        self.needed.take()
    }

    /// A recovery runs as this job.
    pub(super) fn begin(&mut self, job: JobId) {
        self.job = Some(job);
    }

    /// The job of the recovery that runs.
    pub(super) fn job(&self) -> Option<JobId> {
        self.job
    }

    pub(super) fn runs(&self) -> bool {
        self.job.is_some()
    }

    /// Whether no recovery runs, and none must begin.
    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none() && self.needed.is_none()
    }

    /// No recovery runs any more. Returns the job of the one that did.
    pub(super) fn end(&mut self) -> Option<JobId> {
        self.job.take()
    }

    /// The next connection continues this recovery.
    pub(super) fn interrupt(&mut self, recovery: Box<Recovery>) {
        self.interrupted = Some(recovery);
    }

    /// Takes the recovery that this connection continues.
    pub(super) fn take_interrupted(&mut self) -> Option<Box<Recovery>> {
        self.interrupted.take()
    }

    /// A recovery succeeded, which led to the session with this number.
    pub(super) fn succeeded(&mut self, recovery: &Recovery, session: u32, now: i64) {
        self.succeeded_at = now;
        let took = u64::try_from(now.saturating_sub(recovery.since)).unwrap_or(0);
        let counts = &mut self.counts;
        counts.recovery_ns = counts.recovery_ns.max(took);
        *match (recovery.forgotten, recovery.session == session) {
            _ if recovery.follows => &mut counts.bound_again,
            (true, _) => &mut counts.restarts,
            (false, true) => &mut counts.connections,
            (false, false) => &mut counts.sessions,
        } += 1;
    }
}
