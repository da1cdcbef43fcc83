//! Messages that wait for credits.

use super::connection::{Outgoing, SentMessage};
use super::jobs::JobId;

/// A message that waits for credits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) job: JobId,
    pub(super) since: i64,
    /// The message; `None` if the job builds it later, as large as the credits then allow.
    pub(super) outgoing: Option<Box<Outgoing>>,
    /// Present if the message was sent before.
    pub(super) again: Option<Again>,
}

/// State of a message that is sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// Requests in it that its job still counts as outstanding.
    pub(super) left: u32,
    /// Number of earlier transmissions.
    pub(super) times: u32,
}

impl Waiting {
    /// A message that is to be sent once more.
    pub(super) fn again(message: SentMessage) -> Self {
        let SentMessage { outgoing, job, since, left, again, .. } = message;
        Self { job, since, outgoing: Some(Box::new(outgoing)), again: Some(Again { left, times: again }) }
    }
}
