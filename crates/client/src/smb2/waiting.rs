//! Messages that wait for credits.

use super::connection::{Kept, Outgoing};
use super::jobs::JobId;

/// A message that waits for credits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) job: JobId,
    pub(super) since: i64,
    /// The message; `None` where the job makes it when its turn comes, as large as the credits are many.
    pub(super) outgoing: Option<Box<Outgoing>>,
    /// There where it had been sent before.
    pub(super) again: Option<Again>,
}

/// What is known of a message that is sent once more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// Requests in it that its job still counts as outstanding.
    pub(super) left: u32,
    /// How often it had gone out.
    pub(super) times: u32,
}

impl Waiting {
    /// A message that is to be sent once more.
    pub(super) fn again(kept: Kept) -> Self {
        let Kept { outgoing, job, since, left, again, .. } = kept;
        Self { job, since, outgoing: Some(Box::new(outgoing)), again: Some(Again { left, times: again }) }
    }
}
