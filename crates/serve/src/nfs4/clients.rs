//! Who the clients are: EXCHANGE_ID and CREATE_SESSION without their encoding.
//!
//! Spec: RFC 8881 2.4, RFC 8881 18.35.4, RFC 8881 18.36.4

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use plimsoll_wire::nfs::v4::sequence::SessionId;

use super::status::{Done, Status};

/// How long state lives without a sign of its client, seconds.
pub(super) const LEASE: u32 = 90;
/// Clients at once, as many as connections.
const MOST_CLIENTS: usize = 65_536;
/// Sessions of a client, at most.
const MOST_SESSIONS: usize = 16;

/// A client, for its sessions and its state.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    /// When it was last heard of, seconds after the server's start.
    seen: AtomicU32,
    /// It has said that it claims nothing from before a restart of the server.
    pub(super) reclaimed: AtomicBool,
    /// Its opens and locks.
    pub(super) states: AtomicUsize,
    /// Its delegations that were revoked, and that it has not freed.
    pub(super) revoked: AtomicUsize,
    /// It was forgotten: what it still asks leaves no state.
    pub(super) gone: AtomicBool,
}

impl Client {
    pub(super) fn new(id: u64, now: u32) -> Self {
        let (seen, states, revoked) = (AtomicU32::new(now), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { id, seen, reclaimed: AtomicBool::new(false), states, revoked, gone: AtomicBool::new(false) }
    }

    /// Renews its lease.
    pub(super) fn renew(&self, now: u32) {
        self.seen.store(now, Ordering::Relaxed);
    }

    fn is_expired(&self, now: u32) -> bool {
        now.saturating_sub(self.seen.load(Ordering::Relaxed)) > LEASE
    }
}

/// What the server knows of a client.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) client: Arc<Client>,
    owner: Arc<[u8]>,
    verifier: [u8; 8],
    confirmed: bool,
    /// Sequence ID of the last CREATE_SESSION; 0 before the first.
    sequence: u32,
    answer: Option<Box<[u8]>>,
    sessions: Vec<SessionId>,
}

/// The ids of a name: confirmed by a CREATE_SESSION, and not.
#[derive(Debug, Default)]
struct Named {
    confirmed: Option<u64>,
    unconfirmed: Option<u64>,
}

/// All clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    records: HashMap<u64, Record>,
    names: HashMap<Arc<[u8]>, Named>,
    last: u64,
    sessions: u64,
}

/// What EXCHANGE_ID found or made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: u64,
    /// The next sequence ID of CREATE_SESSION.
    pub(super) sequence: u32,
    pub(super) confirmed: bool,
}

/// What CREATE_SESSION has to do.
pub(super) enum Creation {
    /// Create a session with this id, for this client.
    New(SessionId, Arc<Client>),
    /// Answer as before.
    Again(Box<[u8]>),
}

impl Clients {
    /// EXCHANGE_ID: the client of a name. `updates`: a client that is known already changes its properties.
    pub(super) fn identify(&mut self, owner: &[u8], verifier: [u8; 8], updates: bool, now: u32) -> Done<Identity> {
        let confirmed = self.names.get(owner).and_then(|named| named.confirmed);
        let known = confirmed.and_then(|id| self.records.get(&id));
        match known {
            Some(record) if record.verifier == verifier => {
                record.client.renew(now);
                Ok(Identity { id: record.client.id, sequence: record.sequence.wrapping_add(1), confirmed: true })
            }
            Some(_) if updates => Err(Status::NOT_SAME),
            None if updates => Err(Status::NOENT),
            // New, or started again: what was confirmed stays until the new one is.
            Some(_) | None => self.insert(owner, verifier, now),
        }
    }

    fn insert(&mut self, owner: &[u8], verifier: [u8; 8], now: u32) -> Done<Identity> {
        if let Some(old) = self.names.get(owner).and_then(|named| named.unconfirmed) {
            self.remove(old);
        }
        if self.records.len() >= MOST_CLIENTS {
            return Err(Status::DELAY);
        }
        self.last += 1;
        let (id, owner): (_, Arc<[u8]>) = (self.last, owner.into());
        self.names.entry(Arc::clone(&owner)).or_default().unconfirmed = Some(id);
        let client = Arc::new(Client::new(id, now));
        let (sequence, answer, sessions) = (0, None, Vec::new());
        self.records.insert(id, Record { client, owner, verifier, confirmed: false, sequence, answer, sessions });
        Ok(Identity { id, sequence: 1, confirmed: false })
    }

    /// The first half of CREATE_SESSION: whether it is new.
    pub(super) fn begin_session(&mut self, id: u64, sequence: u32) -> Done<Creation> {
        self.sessions += 1;
        let record = self.records.get(&id).ok_or(Status::STALE_CLIENTID)?;
        if sequence == record.sequence
            && let Some(answer) = &record.answer
        {
            return Ok(Creation::Again(answer.clone()));
        }
        if sequence != record.sequence.wrapping_add(1) {
            return Err(Status::SEQ_MISORDERED);
        }
        // It lives, so that waiting would not help.
        if record.sessions.len() >= MOST_SESSIONS {
            return Err(Status::NOSPC);
        }
        let mut session = [0; 16];
        let (client, number) = session.split_at_mut(8);
        client.copy_from_slice(&id.to_be_bytes());
        number.copy_from_slice(&self.sessions.to_be_bytes());
        Ok(Creation::New(session, Arc::clone(&record.client)))
    }

    /// The second half: notes the session and the answer. Returns the earlier client of this name, which is gone with its state.
    pub(super) fn confirm(&mut self, id: u64, sequence: u32, session: SessionId, answer: &[u8]) -> Option<Record> {
        let record = self.records.get_mut(&id)?;
        (record.sequence, record.answer) = (sequence, Some(answer.into()));
        record.sessions.push(session);
        if record.confirmed {
            return None;
        }
        record.confirmed = true;
        let named = self.names.get_mut(&record.owner)?;
        named.unconfirmed = None;
        let old = named.confirmed.replace(id)?;
        self.records.remove(&old)
    }

    pub(super) fn sessions_of(&self, client: u64) -> Vec<SessionId> {
        self.records.get(&client).map(|record| record.sessions.clone()).unwrap_or_default()
    }

    /// DESTROY_SESSION.
    pub(super) fn end_session(&mut self, client: u64, session: &SessionId) {
        if let Some(record) = self.records.get_mut(&client) {
            record.sessions.retain(|id| id != session);
        }
    }

    /// DESTROY_CLIENTID. The caller holds the opens, so that none is inserted meanwhile.
    pub(super) fn destroy(&mut self, id: u64) -> Done {
        let record = self.records.get(&id).ok_or(Status::STALE_CLIENTID)?;
        if !record.sessions.is_empty() || record.client.states.load(Ordering::Relaxed) > 0 {
            return Err(Status::CLIENTID_BUSY);
        }
        // A compound of a session that has ended may still be running.
        record.client.gone.store(true, Ordering::Relaxed);
        self.remove(id);
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Option<Record> {
        let record = self.records.remove(&id)?;
        if let Some(named) = self.names.get_mut(&record.owner) {
            named.confirmed = named.confirmed.filter(|known| *known != id);
            named.unconfirmed = named.unconfirmed.filter(|known| *known != id);
            if named.confirmed.or(named.unconfirmed).is_none() {
                self.names.remove(&record.owner);
            }
        }
        Some(record)
    }

    /// Takes out the clients whose lease has expired.
    pub(super) fn expire(&mut self, now: u32) -> Vec<Record> {
        let expired = |record: &&Record| record.client.is_expired(now);
        let ids: Vec<u64> = self.records.values().filter(expired).map(|record| record.client.id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }
}

impl Record {
    pub(super) fn sessions(&self) -> &[SessionId] {
        &self.sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [u8; 8] = [1; 8];
    const NEW: [u8; 8] = [2; 8];

    fn confirm(clients: &mut Clients, id: u64, sequence: u32) -> (SessionId, Option<u64>) {
        let Ok(Creation::New(session, client)) = clients.begin_session(id, sequence) else { panic!("not new") };
        assert_eq!(client.id, id);
        (session, clients.confirm(id, sequence, session, b"answer").map(|old| old.client.id))
    }

    /// RFC 8881 18.35.4: new, known, started again, updated.
    #[test]
    fn a_name_is_one_client_until_it_starts_again() {
        let mut clients = Clients::default();
        assert_eq!(clients.identify(b"a", OLD, true, 0), Err(Status::NOENT));
        let first = clients.identify(b"a", OLD, false, 0).unwrap();
        let second = clients.identify(b"a", OLD, false, 0).unwrap();
        assert_ne!(first.id, second.id, "an unconfirmed client is replaced");
        assert!(clients.begin_session(first.id, 1).is_err());
        assert_eq!(confirm(&mut clients, second.id, 1).1, None);
        let known = Identity { id: second.id, sequence: 2, confirmed: true };
        assert_eq!(clients.identify(b"a", OLD, false, 0), Ok(known));
        assert_eq!(clients.identify(b"a", NEW, true, 0), Err(Status::NOT_SAME));
        let again = clients.identify(b"a", NEW, false, 0).unwrap();
        assert!(!again.confirmed && again.id != second.id);
        assert_eq!(clients.destroy(second.id), Err(Status::CLIENTID_BUSY), "it stays until the new one is confirmed");
        let (session, old) = confirm(&mut clients, again.id, 1);
        assert_eq!(old, Some(second.id));
        clients.end_session(again.id, &session);
        assert_eq!((clients.destroy(again.id), clients.destroy(again.id)), (Ok(()), Err(Status::STALE_CLIENTID)));
        assert!(clients.names.is_empty() && clients.records.is_empty());
    }

    #[test]
    fn a_session_is_created_once_per_sequence_id() {
        let mut clients = Clients::default();
        let Identity { id, .. } = clients.identify(b"a", OLD, false, 0).unwrap();
        for wrong in [0, 2] {
            assert!(matches!(clients.begin_session(id, wrong), Err(Status::SEQ_MISORDERED)), "{wrong}");
        }
        let (one, _) = confirm(&mut clients, id, 1);
        assert!(matches!(clients.begin_session(id, 1), Ok(Creation::Again(answer)) if *answer == *b"answer"));
        let (two, _) = confirm(&mut clients, id, 2);
        assert_ne!(one, two);
        for sequence in 3..=MOST_SESSIONS as u32 {
            let _ = confirm(&mut clients, id, sequence);
        }
        assert!(matches!(clients.begin_session(id, MOST_SESSIONS as u32 + 1), Err(Status::NOSPC)), "bounded");
    }

    #[test]
    fn clients_are_bounded_and_silent_ones_go() {
        let mut clients = Clients::default();
        for number in 0..MOST_CLIENTS as u32 {
            clients.identify(&number.to_be_bytes(), OLD, false, 0).unwrap();
        }
        assert_eq!(clients.identify(b"more", OLD, false, LEASE), Err(Status::DELAY));
        assert!(clients.expire(LEASE).is_empty());
        assert_eq!(clients.expire(LEASE + 1).len(), MOST_CLIENTS);
        assert!(clients.identify(b"more", OLD, false, LEASE + 1).is_ok() && clients.names.len() == 1);
    }
}
