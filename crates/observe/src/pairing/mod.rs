//! Pairing: requests and their answers become transactions.
//!
//! Each protocol has its own file, because each has its own ids. This file contains the common parts: the state of a waiting request
//! ([`Pending`]), the facts of an answer ([`Answer`]), and their combination into a transaction ([`Output`]). In case of doubt, nothing
//! is paired and the doubt is counted.

mod early;
mod far;
mod held;
mod last_responses;
mod last_use;
mod ntlm_user;
mod output;
mod pending;
mod pipe;
mod request;
mod role;
pub mod rpc;
pub mod smb1;
pub mod smb2;
mod status;
mod unfinished;

pub use crate::connection_context::{ConnectionContext, Ended};
pub use early::EarlyCount;
pub(crate) use last_responses::LastResponses;
pub(crate) use last_use::LastUse;
pub use output::Output;
pub use pending::{PendingTable, WaitingCount};
#[cfg(feature = "anonymize")]
pub(crate) use pipe::is_pipe_name;
pub use request::{Answer, Pending};
pub use role::Role;
pub use status::{status_name, statuses_named};
pub(crate) use unfinished::{UnfinishedOnes, waiting, waits};

use plimsoll_model::Sink;
use plimsoll_wire::smb2::header;
use serde::{Deserialize, Serialize};

use crate::message::{Content, Message};
use crate::missing::Ids;
pub(crate) use crate::shared_state::Shared;
use rpc::Rpc;
use smb1::Smb1;
use smb2::Smb2;

/// The pairing of one connection, by protocol.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pairing {
    /// Direction in which requests go, once one was seen.
    pub(crate) client: Option<usize>,
    rpc: Option<Box<Rpc>>,
    smb1: Option<Box<Smb1>>,
    smb2: Option<Box<Smb2>>,
}

impl Pairing {
    /// Takes a message.
    #[inline]
    pub(crate) fn take<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &mut Shared<S>,
    ) {
        let Shared { output, handles, smb2, .. } = shared;
        let role = match message.bytes {
            _ if message.content == Content::Raw => {
                self.smb1.get_or_insert_default().message(message, direction, context, output)
            }
            [0xfc..=0xfe, b'S', b'M', b'B', ..] => {
                let smb1 = self.smb1.as_mut();
                if smb1.is_some_and(|smb1| smb1.is_negotiated_in_smb2(message, direction, context, output)) {
                    // The SMB1 request took the first of SMB2's ids (MS-SMB2 3.3.5.3.1).
                    let credits = header::Header::new(message.bytes).map_or(0, |header| header.credits());
                    self.smb2.get_or_insert_default().begin_at(1, credits);
                    Role::Response
                } else {
                    let pairing = self.smb2.get_or_insert_default();
                    pairing.message(message, direction, context, smb2, output)
                }
            }
            [0xff, b'S', b'M', b'B', ..] => {
                self.smb1.get_or_insert_default().message(message, direction, context, output)
            }
            _ => {
                if self.rpc.is_none() {
                    self.rpc = new_rpc();
                }
                let rpc = self.rpc.as_mut();
                rpc.map_or(Role::OneWay, |rpc| rpc.message(message, direction, context, handles, output))
            }
        };
        match role {
            Role::Request => self.client = Some(direction),
            Role::Response => {
                let ns = message.last.unwrap_or(message.first).time_ns;
                output.responded(context, direction, self.client, ns);
            }
            Role::OneWay => {}
        }
    }

    /// Whether a block without a header may come in this direction (SMB1 Read_Raw, Write_Raw).
    #[inline]
    pub(crate) fn expects_raw(&self, direction: usize) -> bool {
        self.smb1.as_ref().is_some_and(|smb1| smb1.expects_raw(direction))
    }

    /// Whether this is an RPC reply whose call has not come.
    pub(crate) fn is_early_reply(&mut self, bytes: &[u8], direction: usize) -> bool {
        self.rpc.get_or_insert_default().is_early_reply(bytes, direction)
    }

    /// Whether the first of several fragments of an expected RPC reply begins here, after framing was lost.
    pub(crate) fn is_due_reply(&mut self, bytes: &[u8], direction: usize) -> bool {
        self.rpc.as_mut().is_some_and(|rpc| rpc.is_due(bytes, direction))
    }

    /// Whether an SMB message of `len` bytes, of which these are the first, is due where framing was lost.
    pub(crate) fn is_due(&mut self, bytes: &[u8], len: u32, direction: usize) -> bool {
        match bytes {
            [0xff, ..] => self.smb1.as_mut().is_some_and(|smb1| smb1.is_due(bytes, len, direction)),
            [0xfe, ..] => self.smb2.as_mut().is_some_and(|smb2| smb2.is_due(bytes, len, direction)),
            _ => false,
        }
    }

    /// The ids of requests that went in `direction`, where the protocol has some that may count up.
    pub(crate) fn ids(&self, direction: usize) -> Option<&Ids> {
        match (&self.smb2, &self.smb1, &self.rpc) {
            // A connection that begins with SMB1's NEGOTIATE goes on in SMB2.
            (Some(smb2), _, None) => Some(smb2.ids()),
            (None, Some(smb1), None) => Some(smb1.ids()),
            (None, None, Some(rpc)) => Some(rpc.ids(direction)),
            _ => None,
        }
    }

    /// Whether a client asked whether the server speaks RPC over TLS.
    pub(crate) fn asked_for_tls(&self) -> bool {
        self.rpc.as_ref().is_some_and(|rpc| rpc.asked_for_tls())
    }

    /// Whether a request waits for its answer.
    pub(crate) fn has_waiting(&self) -> bool {
        self.rpc.as_ref().is_some_and(|rpc| rpc.has_waiting())
            || self.smb1.as_ref().is_some_and(|smb1| smb1.has_waiting())
            || self.smb2.as_ref().is_some_and(|smb2| smb2.has_waiting())
    }

    /// Whether the last request ended the use of a share or a session: then the client may need the connection no longer.
    pub(crate) fn has_logged_off(&self) -> bool {
        let of_smb1 = || self.smb1.as_ref().map(|smb1| smb1.last_use());
        let last = self.smb2.as_ref().map(|smb2| smb2.last_use()).or_else(of_smb1).and_then(|last| last.request);
        last.is_some_and(unfinished::may_be_last)
    }

    /// When the connection was last used, other than to keep it or a lease; if no request shows this, `last_ns`, its last data.
    pub(crate) fn used_ns(&self, last_ns: Option<i64>) -> Option<i64> {
        let all = [
            self.smb2.as_ref().map(|smb2| smb2.last_use()),
            self.smb1.as_ref().map(|smb1| smb1.last_use()),
            self.rpc.as_ref().map(|rpc| rpc.last_use()),
        ];
        let used_ns = all.iter().flatten().filter_map(|last| last.at_ns).max();
        if all.iter().flatten().any(|last| last.is_known) { used_ns } else { used_ns.or(last_ns) }
    }

    /// Whether a request that could not be read waits since this time or before.
    pub(crate) fn waited_unread(&self, until_ns: i64) -> bool {
        self.smb2.as_ref().is_some_and(|smb2| smb2.waited_unread(until_ns))
    }

    /// Passes the requests that wait for an answer to `take`, except those with an interim answer of SMB2.
    pub(crate) fn waiting(&self, mut take: impl FnMut(&Pending)) {
        if let Some(rpc) = &self.rpc {
            rpc.waiting(&mut take);
        }
        if let Some(smb1) = &self.smb1 {
            smb1.waiting(&mut take);
        }
        if let Some(smb2) = &self.smb2 {
            smb2.waiting(&mut take);
        }
    }

    /// Drops answers whose requests have not come.
    pub(crate) fn clear_early(&mut self, all: &mut EarlyCount) {
        self.rpc.iter_mut().for_each(|rpc| rpc.clear_early(all));
        self.smb2.iter_mut().for_each(|smb2| smb2.clear_early(all));
    }

    /// Whether there are answers whose requests have not come.
    pub(crate) fn has_early(&self) -> bool {
        self.rpc.as_ref().is_some_and(|rpc| rpc.has_early()) || self.smb2.as_ref().is_some_and(|smb2| smb2.has_early())
    }

    pub(crate) fn end<S: Sink>(&mut self, context: &ConnectionContext, shared: &mut Shared<S>) {
        self.clear_early(&mut shared.output.early);
        if let Some(rpc) = &mut self.rpc {
            rpc.end(context, &mut shared.output);
        }
        if let Some(smb1) = &mut self.smb1 {
            smb1.end(context, &mut shared.output);
        }
        if let Some(smb2) = &mut self.smb2 {
            smb2.end(context, &mut shared.smb2, &mut shared.output);
            shared.smb2.credits.add(&smb2.credits());
            smb2.end_sealed(&mut shared.smb2);
        }
    }
}

#[cold]
#[inline(never)]
fn new_rpc() -> Option<Box<Rpc>> {
    Some(Box::default())
}
