//! Finds revoked delegations. The server only says that it has revoked something, and keeps saying so until the client has freed all of it,
//! so the client tests its delegations at a bounded rate for as long.
//!
//! Spec: RFC 8881 10.2.1, RFC 8881 18.46.3, RFC 8881 18.48

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v4::test_state::TestStates;
use plimsoll_wire::nfs::v4::{FileHandle, StateId};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Goal, Job};
use super::requests::Calling;
use super::shapes;
use crate::client::Events;
use crate::operation::Reply;
use crate::outbox::Outbox;

/// Flags of SEQUENCE after which a delegation may be revoked: SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED, EXPIRED_SOME_STATE_REVOKED,
/// ADMIN_STATE_REVOKED, RECALLABLE_STATE_REVOKED.
const REVOKED: u32 = 0x08 | 0x10 | 0x20 | 0x40;
/// Maximum number of delegations in a TEST_STATEID: 4 KiB.
const MOST: usize = 256;
/// Size of a state ID, bytes.
const STATE_ID: usize = 16;

impl Nfs4Client {
    /// Flags of SEQUENCE: whether the server has revoked state that the client has not freed yet.
    pub(super) fn note_revocation(&mut self, flags: u32) {
        if let Some(delegations) = &mut self.opens.delegations {
            delegations.revoked = flags & REVOKED != 0;
        }
    }

    /// Tests delegations, if the server has revoked some.
    pub(super) fn test_delegations(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ready = !self.condition.is_suspended() && self.recovering.is_idle();
        let Some(delegations) = self.opens.delegations.as_mut().filter(|delegations| ready && delegations.tests(now))
        else {
            return;
        };
        if self.jobs.iter().any(|job| matches!(job.goal, Goal::Test(_))) {
            return;
        }
        let most = (self.agreed.write as usize / STATE_ID).clamp(1, MOST);
        let states = delegations.next_to_test(most, now);
        if !states.is_empty() {
            let job = self.jobs.add(Job::unasked(None, Goal::Test(states.into())));
            self.advance(job, now, out, events);
        }
    }

    /// The response to a test: the server must be made to forget what it has revoked.
    pub(super) fn tested(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Goal::Test(states) = &job.goal else { return Err(Malformed) };
        let statuses = found.tested.filter(|statuses| statuses.iter().len() == states.len()).ok_or(Malformed)?;
        if let Some(delegations) = &mut self.opens.delegations {
            for ((handle, state), status) in states.iter().zip(statuses.iter()) {
                delegations.tested(handle, state, status);
            }
        }
        job.reply = Some(Reply::Nothing);
        Ok(())
    }

    /// The server does not test delegations: only their return tells which are revoked.
    pub(super) fn test_refused(&mut self) {
        self.opens.delegations.iter_mut().for_each(|delegations| delegations.keep_at_most(0));
    }
}

impl Calling<'_> {
    pub(super) fn test(&mut self, states: &[(FileHandle, StateId)]) -> bool {
        let states: Vec<StateId> = states.iter().map(|(_, state)| *state).collect();
        self.send(shapes::TEST_STATES, Symbol::NONE, None, |compound| {
            compound.add(&TestStates { states: &states });
        })
    }
}
