//! The place of a connection among the connections of its client: which session it has, and which slots of it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plimsoll_wire::nfs::v4::create_session::Session as Created;

use super::options::Nfs4Options;
use super::recovery::Stage;
use super::session::Part;
use super::trunk::{Bound, Claims, Join, Last, Trunk};

/// The place of a connection among those that share a session; of a client with one connection, its only place.
#[derive(Debug, Default)]
pub(super) struct Membership {
    /// The common state of the connections; `None` of a client with one connection.
    trunk: Option<Arc<Trunk>>,
    /// Number of this connection among them.
    member: u32,
    /// Its slots.
    part: Part,
    /// Number of its session among the sessions of the connections.
    session: u32,
    /// Number of times that the server had lost the client's state when the session was created.
    forgotten: u32,
    /// This connection is creating a session.
    makes: bool,
    /// It has joined the session.
    joined: bool,
    /// What it must return when it leaves, after it has closed its files.
    last: Option<Last>,
}

impl Membership {
    /// Connection number `nth` of a client with several connections.
    pub(super) fn new(trunk: Arc<Trunk>, nth: u32) -> Self {
        let step = trunk.connections();
        let member = nth % step;
        Self { trunk: Some(trunk), member, part: Part { first: member, step }, ..Self::default() }
    }

    /// Number of the client's connections.
    pub(super) fn connections(&self) -> u32 {
        self.trunk.as_ref().map_or(1, |trunk| trunk.connections())
    }

    /// Whether the client has one connection.
    pub(super) fn is_alone(&self) -> bool {
        self.trunk.is_none()
    }

    /// The common state of the connections that share the session; `None` if this one has a separate session.
    fn shared(&self) -> Option<&Trunk> {
        self.trunk.as_deref().filter(|_| self.part.step > 1)
    }

    /// Whether it shares the session with other connections.
    pub(super) fn shares(&self) -> bool {
        self.shared().is_some()
    }

    /// Its slots.
    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// How the connection gets a session; `None` of a client with one connection.
    pub(super) fn join(&mut self, options: &Nfs4Options) -> Option<Join> {
        let join = self.trunk.as_ref()?.join();
        self.makes |= matches!(join, Join::Make(_) | Join::MakeOwn);
        if join == Join::MakeOwn {
            self.separate(options);
        }
        Some(join)
    }

    /// A new session has this number of slots: enough for all connections, or for this one alone.
    pub(super) fn granted(&mut self, slots: u32, options: &Nfs4Options) {
        if self.shared().is_some_and(|trunk| slots < trunk.connections()) {
            self.separate(options);
        }
    }

    /// Each connection has a separate session.
    fn separate(&mut self, options: &Nfs4Options) {
        self.part = Part::default();
        if let Some(trunk) = &self.trunk {
            trunk.separate();
            options.separate_sessions.store(trunk.connections(), Relaxed);
        }
    }

    /// Whether this is another session than before.
    pub(super) fn is_another(&self, bound: &Bound) -> bool {
        bound.number != self.session
    }

    /// Whether the server has lost the client's state since this connection had its session.
    pub(super) fn has_forgotten(&self, bound: &Bound) -> bool {
        bound.forgotten != self.forgotten
    }

    /// Joins a session that another connection has created. True if it is another one than before.
    pub(super) fn bind(&mut self, bound: &Bound) -> bool {
        let another = self.is_another(bound);
        (self.session, self.forgotten) = (bound.number, bound.forgotten);
        self.enter();
        another
    }

    /// Shares a new session with the other connections, unless each has a separate one. `forgotten`: the server may have lost the client's
    /// state before. True if this connection must send RECLAIM_COMPLETE at once. False if others have sent it for the client ID, or may
    /// still have state to reclaim.
    pub(super) fn share(&mut self, session: Created, client_id: (u64, u32), forgotten: bool) -> bool {
        let is_first = self.trunk.as_ref().is_none_or(|trunk| !trunk.is_used());
        let alone = !self.shares();
        if std::mem::take(&mut self.makes)
            && let Some(trunk) = &self.trunk
        {
            if alone {
                self.session = trunk.made_own();
            } else {
                let made = trunk.made(session, client_id, forgotten);
                (self.session, self.forgotten) = (made.number, made.forgotten);
            }
        }
        self.enter();
        is_first || alone && forgotten
    }

    fn enter(&mut self) {
        if let Some(trunk) = &self.trunk {
            self.joined = true;
            trunk.joined(self.member, self.session);
        }
    }

    /// The session is lost for all connections. Returns the first stage of the recovery; `alone` for a client with one connection.
    pub(super) fn lose(&self, alone: Stage) -> Stage {
        let Some(trunk) = &self.trunk else { return alone };
        trunk.lost(self.session);
        Stage::Join
    }

    /// This connection has reclaimed everything; `None` if it shares no session. If `patient`, it waits for the others.
    pub(super) fn claimed(&self, patient: bool) -> Option<Claims> {
        self.shared().map(|trunk| trunk.claimed(self.member, self.session, patient))
    }

    /// This connection has sent RECLAIM_COMPLETE.
    pub(super) fn completed(&self) {
        self.shared().into_iter().for_each(|trunk| trunk.completed(self.member));
    }

    /// The connection was lost during a recovery.
    pub(super) fn interrupted(&mut self) {
        let makes = std::mem::take(&mut self.makes);
        match (self.shared(), &self.trunk) {
            (Some(trunk), _) => trunk.interrupted(self.member, makes),
            (None, Some(trunk)) if makes => trunk.not_made(),
            _ => {}
        }
    }

    /// What a leaving connection must return. It has closed its files: until then it is one of those for which the session must remain.
    pub(super) fn leave(&mut self, sessionless: bool) -> Last {
        if let Some(last) = self.last {
            return last;
        }
        let last = match &self.trunk {
            // The server drops the client ID when its lease ends.
            _ if sessionless => Last { of_session: false, of_client: false },
            Some(trunk) if std::mem::take(&mut self.joined) => trunk.leave(self.member, self.session),
            _ => Last { of_session: true, of_client: true },
        };
        *self.last.insert(last)
    }

    /// Whether the connection leaves as the last one, and returns the client ID.
    pub(super) fn leaves_last(&self) -> bool {
        self.last.is_some_and(|last| last.of_client)
    }

    /// The connection ends without leaving: the sequence IDs of its slots are lost.
    pub(super) fn end(&mut self) {
        let Some(trunk) = &self.trunk else { return };
        if std::mem::take(&mut self.makes) {
            trunk.not_made();
        }
        if std::mem::take(&mut self.joined) {
            trunk.forget(self.member, self.session);
        }
    }
}
