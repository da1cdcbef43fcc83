//! Calls that wait for their replies.

use plimsoll_wire::rpc::{Call, Program, Protection};
use serde::{Deserialize, Serialize};

use super::member::Member;
use super::procedure;
use crate::message::Message;
use crate::names::Named;
use crate::pairing::{ConnectionContext, Pending, PendingTable};

/// Boxes kept for use again: 100 KiB.
const SPARE_MAX: usize = 256;
/// Operations of waiting compounds in the tables of all connections together, at most: 100 to 200 MB.
const MEMBERS_MAX: usize = 1 << 20;
/// Beyond this number, a connection without any answer so far has room for one usual compound only; see `UNANSWERED_MAX` of `pending`.
const UNANSWERED_MAX: usize = MEMBERS_MAX / 4;
/// One compound of at most this many operations may always wait on each connection. Real ones have a dozen.
const USUAL: usize = 16;
const NFS: u32 = Program::Nfs.number();
/// RENEW of NFS 4.0, and SEQUENCE of 4.1, which renews the lease where it is the only operation.
const RENEWS: [u32; 2] = [30, 53];

/// Program, version and procedure of a call.
pub(super) type Called = (u32, u32, u32);

/// A call that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) pending: Pending,
    pub(super) program: u32,
    pub(super) version: u32,
    pub(super) procedure: u32,
    #[serde(with = "crate::hand_over::protection")]
    pub(super) protection: Option<Protection>,
    /// The name for the handle in the answer.
    pub(super) made: Named,
    /// The operations of an NFSv4 compound.
    pub(super) members: Vec<Member>,
    /// How many it says that it has.
    pub(super) announced: Option<u32>,
    /// The slot of its session.
    pub(super) slot: Option<u32>,
    /// State IDs of the delegations that the compound returns or recalls, each with the position of its operation.
    pub(super) delegations: Vec<(u16, [u8; 16])>,
    /// The program whose port it asks for. Only a live capture wants it, and never hands over its state.
    #[serde(skip)]
    pub(super) asked_program: Option<Program>,
}

impl Waiting {
    #[inline]
    pub(super) fn called(&self) -> Called {
        (self.program, self.version, self.procedure)
    }

    /// Whether it is a compound of NFSv4, or of its callbacks.
    #[inline]
    pub(super) fn is_compound(&self) -> bool {
        let is_callback = || procedure::is_callback_procedure(self.program, self.version, self.procedure);
        self.procedure == 1 && ((self.program, self.version) == (NFS, 4) || is_callback())
    }

    /// Whether it only renews the lease of its client, as clients do that are idle.
    #[inline]
    pub(super) fn only_keeps_lease(&self) -> bool {
        self.announced == Some(1) && matches!(self.members.as_slice(), [only] if RENEWS.contains(&only.code))
    }
}

/// How many operations the waiting compounds of all connections have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct MemberCount(usize);

impl MemberCount {
    /// A call came to a table.
    #[inline]
    pub(super) fn add(&mut self, members: usize) {
        self.0 = self.0.saturating_add(members);
    }

    /// A call left its table.
    #[inline]
    pub(super) fn remove(&mut self, waiting: &Waiting) {
        self.0 = self.0.saturating_sub(waiting.members.len());
    }

    /// Whether there are too many, so that a call has to leave this table.
    pub(super) fn is_full(&self, table: &PendingTable<Box<Waiting>>) -> bool {
        let most = if table.is_answered() { MEMBERS_MAX } else { UNANSWERED_MAX };
        self.0 > most && (table.len() > 1 || table.iter().any(|only| only.members.len() > USUAL))
    }
}

/// Reusable boxes of all connections: a call and its answer should not need an allocation.
#[derive(Debug, Default)]
pub(crate) struct SpareCalls(
    #[allow(clippy::vec_box, reason = "the boxes themselves are what is kept: they move between here and the tables")]
    Vec<Box<Waiting>>,
);

impl SpareCalls {
    #[inline]
    pub(super) fn make(
        &mut self,
        call: &Call<'_>,
        protection: Option<Protection>,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
    ) -> Box<Waiting> {
        let (program, version, procedure) = (call.program(), call.version(), call.procedure());
        let row = procedure::of(program, version, procedure);
        let (made, members, announced) = (Named::default(), Vec::new(), None);
        match self.0.pop() {
            Some(mut spare) => {
                // Part by part: the whole would be put together elsewhere and then moved.
                spare.pending.begin(message, direction, context, row);
                (spare.program, spare.version, spare.procedure) = (program, version, procedure);
                (spare.protection, spare.made, spare.members) = (protection, made, members);
                (spare.announced, spare.slot, spare.delegations) = (announced, None, Vec::new());
                spare.asked_program = None;
                spare
            }
            None => Box::new(Waiting {
                pending: Pending::of(message, direction, context, row),
                program,
                version,
                procedure,
                protection,
                made,
                members,
                announced,
                slot: None,
                delegations: Vec::new(),
                asked_program: None,
            }),
        }
    }

    #[inline]
    pub(super) fn recycle(&mut self, waiting: Box<Waiting>) {
        if self.0.len() < SPARE_MAX {
            self.0.push(waiting);
        }
    }
}
