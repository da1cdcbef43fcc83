//! State IDs in requests: what they allow, TEST_STATEID and FREE_STATEID.
//!
//! Spec: RFC 8881 8.2, RFC 8881 18.38, RFC 8881 18.48

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::Emit;

use super::compound::Compound;
use super::opens::{Kind, READ, State};
use super::status::{Done, Status};
use crate::memory::Node;

/// State IDs of a TEST_STATEID, at most.
const MOST: u32 = 1024;
/// The special state ID that stands for no state, and passes by locks (RFC 8881 8.2.3).
const BYPASS: StateId = StateId { sequence: u32::MAX, other: [0xFF; 12] };
/// The one that stands for the state of the compound's operation before.
const CURRENT: StateId = StateId { sequence: 1, other: [0; 12] };

impl Compound<'_, '_> {
    pub(super) fn meant(&self, id: StateId) -> Done<StateId> {
        match id {
            CURRENT => self.current.as_ref().and_then(|place| place.state).ok_or(Status::BAD_STATEID),
            id => Ok(id),
        }
    }

    /// Whether a request with this state ID may read or write the file.
    pub(super) fn may(&self, node: &Node, id: StateId, access: u32) -> Done {
        let id = self.meant(id)?;
        let opens = self.server.opens.read();
        if id == StateId::ANONYMOUS || id == BYPASS {
            // Only reading may pass by.
            let passes = id == BYPASS && access == READ;
            return if !passes && opens.denies(node.id(), access) { Err(Status::LOCKED) } else { Ok(()) };
        }
        let (_, state) = opens.find(self.client()?.id, id)?;
        if state.node.id() != node.id() {
            return Err(Status::BAD_STATEID);
        }
        if state.is_revoked() {
            return Err(Status::DELEG_REVOKED);
        }
        if opens.share(state).access & access == 0 { Err(Status::OPENMODE) } else { Ok(()) }
    }

    /// Recalls the delegations that other clients have of a file which this client is about to change. DELAY until it may.
    pub(super) fn recall(&self, node: &Node) -> Done {
        let client = self.session.as_ref().map(|session| session.client.id);
        if self.server.opens.read().is_free(node.id(), client) {
            return Ok(());
        }
        // Clients whose lease has expired do not stand in the way.
        self.server.expire();
        let mut calls = Vec::new();
        let done = self.server.opens.write().recall(node.id(), client, self.server.now(), &mut calls);
        self.server.send(calls);
        done
    }

    /// DELEGRETURN.
    pub(super) fn return_delegation(&mut self) -> Done {
        let id = StateId::parse(&mut self.reader)?;
        let number = self.state(id, |state| matches!(state.kind, Kind::Delegation(_)))?;
        self.server.opens.write().return_delegation(number)
    }

    /// The number of a state of the current file.
    pub(super) fn state(&self, id: StateId, of: impl Fn(&State) -> bool) -> Done<u64> {
        let id = self.meant(id)?;
        let opens = self.server.opens.read();
        let (number, state) = opens.find(self.client()?.id, id)?;
        if state.node.id() != self.current()?.id() || !of(state) {
            return Err(Status::BAD_STATEID);
        }
        if state.is_revoked() {
            return Err(Status::DELEG_REVOKED);
        }
        Ok(number)
    }

    pub(super) fn test_states(&mut self) -> Done {
        let count = self.reader.u32()?;
        if count > MOST {
            return Err(Status::BADXDR);
        }
        self.out.put_u32(count);
        let client = self.client()?.id;
        let opens = self.server.opens.read();
        for _ in 0..count {
            let id = StateId::parse(&mut self.reader)?;
            let status = match opens.find(client, id) {
                Ok((_, state)) if state.is_revoked() => Status::DELEG_REVOKED,
                Ok(_) => Status::OK,
                Err(status) => status,
            };
            self.out.put_u32(status.0);
        }
        Ok(())
    }

    pub(super) fn free_state(&mut self) -> Done {
        let id = StateId::parse(&mut self.reader)?;
        let id = self.meant(id)?;
        let client = self.client()?.id;
        let mut opens = self.server.opens.write();
        let (number, _) = opens.find(client, id)?;
        opens.free(number)
    }
}
