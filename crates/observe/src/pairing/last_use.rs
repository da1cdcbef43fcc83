//! What a connection was last used for.

use plimsoll_model::Procedure;
use serde::{Deserialize, Serialize};

use super::Pending;
use crate::message::Message;

/// The last use of a connection.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastUse {
    /// The last request, unless the client went on with a message that was not read.
    pub(super) request: Option<Procedure>,
    /// The last request that does more than to keep the connection or a lease, or its response, or the last message that was not read, ns.
    pub(super) at_ns: Option<i64>,
    /// A request was read, so that its use is known.
    pub(super) is_known: bool,
}

impl LastUse {
    /// A request came; `keeps`: it only keeps the connection, or a lease.
    #[inline]
    pub(super) fn request(&mut self, procedure: Procedure, at_ns: i64, keeps: bool) {
        self.request = Some(procedure);
        self.is_known = true;
        if !keeps {
            self.at_ns = Some(at_ns);
        }
    }

    /// The response to a request came; `keeps` as in [`Self::request`].
    #[inline]
    pub(super) fn response(&mut self, request: &Pending, message: &Message<'_>, keeps: bool) {
        // A request that waits by design may get its response because the server closes the idle connection.
        if !keeps && !request.long_lived {
            self.at_ns = self.at_ns.max(Some(message.last.unwrap_or(message.first).time_ns));
        }
    }

    /// A message came that was not read; `may_be_request`: it may be of the client.
    pub(super) fn unread(&mut self, at_ns: i64, may_be_request: bool, keeps: bool) {
        if may_be_request {
            self.request = None;
        }
        if !keeps {
            self.at_ns = Some(at_ns);
        }
    }
}
