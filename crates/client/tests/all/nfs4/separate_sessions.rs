//! A server that grants a session fewer slots than a client has connections: each connection has a separate session of one client ID.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::{Client, Operation, Reply, Tag};
use plimsoll_testkit::nfs4::{Asked, SESSION, SLOTS};
use plimsoll_wire::rpc::Caller;

use super::play::Play;
use super::recovery::claim;
use crate::nfs::script::identity;

const BADSESSION: u32 = 10_052;
const BADSLOT: u32 = 10_053;
const COMPLETE_ALREADY: u32 = 10_054;
const SEQ_MISORDERED: u32 = 10_063;
const NO_GRACE: u32 = 10_033;
const STALE_CLIENTID: u32 = 10_022;

const CONNECTIONS: u32 = SLOTS + 1;

/// A server that knows one client.
#[derive(Default)]
struct Server {
    /// How often it has lost its state.
    restarts: u8,
    /// Sequence ID of the last CREATE_SESSION; 0 before the first, which confirms the client.
    sequence: u32,
    sessions: Vec<[u8; 16]>,
    /// RECLAIM_COMPLETE was sent.
    complete: bool,
    /// Number of times that it was sent.
    completed: u32,
}

impl Server {
    fn results(&mut self, call: &Asked) -> Vec<u8> {
        let known = |session: &[u8]| self.sessions.iter().any(|one| one == session);
        match (call.operations.as_slice(), call.slot) {
            ([41], _) if !known(&call.arguments[16..32]) => call.failing(0, BADSESSION),
            ([42], _) => self.identified(call),
            ([43], _) => self.created(call),
            (_, Some(_)) if !known(&call.session.unwrap()) => call.failing(0, BADSESSION),
            (_, Some((slot, _))) if slot >= SLOTS => call.failing(0, BADSLOT),
            ([.., 58], _) => {
                self.completed += 1;
                match std::mem::replace(&mut self.complete, true) {
                    true => call.failing(1, COMPLETE_ALREADY),
                    false => call.fine(),
                }
            }
            // CLAIM_PREVIOUS.
            ([53, 22, 18, 9], _) if claim(call) == 1 && self.complete => call.failing(2, NO_GRACE),
            _ => call.fine(),
        }
    }

    /// EXCHANGE_ID: client ID, the sequence ID of the next CREATE_SESSION, and whether the client is confirmed.
    fn identified(&self, call: &Asked) -> Vec<u8> {
        let mut results = call.fine();
        results[27] += self.restarts;
        results[28..32].copy_from_slice(&(self.sequence + 1).to_be_bytes());
        results[32] = if self.sequence > 0 { 0x80 } else { 0 };
        results
    }

    /// CREATE_SESSION: the same sequence ID gets the same session.
    fn created(&mut self, call: &Asked) -> Vec<u8> {
        let mut results = call.fine();
        let sequence = u32::from_be_bytes(call.arguments[24..28].try_into().unwrap());
        if call.arguments[23] != 5 + self.restarts {
            return call.failing(0, STALE_CLIENTID);
        }
        let session = [SESSION[0] + sequence as u8 + 100 * self.restarts; 16];
        if sequence == self.sequence + 1 {
            self.sequence = sequence;
            self.sessions.push(session);
        } else if sequence != self.sequence {
            return call.failing(0, SEQ_MISORDERED);
        }
        results[20..36].copy_from_slice(&session);
        results
    }

    /// Answers all connections in turn, and time passes, until each has ended what has this tag.
    fn settle(&mut self, plays: &mut [Play], tag: Tag) {
        for _ in 0..10_000 {
            let mut idle = true;
            for play in plays.iter_mut().filter(|play| !play.calls.is_empty()) {
                let call = play.calls.remove(0);
                let results = self.results(&call);
                play.answer(&call, &results);
                idle = false;
            }
            if idle && plays.iter().all(|play| play.done(tag).is_some()) {
                return;
            }
            if idle {
                plays.iter_mut().filter(|play| play.done(tag).is_none()).for_each(Play::wake);
            }
        }
        panic!("it goes on for ever");
    }
}

/// All connections, which connect at the same time. The one that creates the first session would have no slot of a common one.
fn connected(server: &mut Server) -> (Vec<Play>, Arc<Nfs4Options>) {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    let trunk = options.trunk("many", CONNECTIONS);
    let member = |nth| Play::of(Nfs4Client::trunked(options.clone(), identity(), trunk.clone(), nth));
    let mut plays: Vec<Play> = (0..CONNECTIONS).rev().map(member).collect();
    plays.iter_mut().for_each(Play::connect);
    server.settle(&mut plays, Tag::CONNECT);
    for play in &plays {
        assert_eq!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing)));
    }
    (plays, options)
}

/// Each connection begins an operation, which uses the first slot of a separate session.
fn begin(plays: &mut [Play], tag: u64) {
    let mut sessions = Vec::new();
    for play in plays.iter_mut() {
        play.begin(tag, &Operation::Fsinfo);
        assert_eq!(play.calls[0].slot.unwrap().0, 0);
        sessions.extend(play.calls[0].session);
    }
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), CONNECTIONS as usize);
}

#[test]
fn connections_that_connect_at_the_same_time_have_separate_sessions() {
    let mut server = Server::default();
    let (mut plays, options) = connected(&mut server);
    assert_eq!((server.completed, options.separate_sessions.load(Relaxed)), (1, CONNECTIONS));
    begin(&mut plays, 9);
    server.settle(&mut plays, Tag(9));
    for play in &plays {
        assert!(play.done(Tag(9)).unwrap().is_ok());
        play.check_rows("separate");
    }
}

/// The server forgets the sessions, or restarts; some connections are lost with them.
#[test]
fn separate_sessions_that_are_lost_are_made_again_one_after_the_other() {
    for (restarts, lost) in [(false, 0), (true, 0), (false, 2), (true, 2), (true, CONNECTIONS as usize)] {
        let mut server = Server::default();
        let (mut plays, options) = connected(&mut server);
        plays.iter_mut().for_each(|play| play.file = Some(play.open()));
        begin(&mut plays, 9);
        server.sessions.clear();
        if restarts {
            server = Server { restarts: 1, ..Server::default() };
        }
        for play in &mut plays[..lost] {
            assert!(play.lose());
            play.rejoin();
        }
        server.settle(&mut plays, Tag(9));
        for play in &plays {
            assert!(play.done(Tag(9)).unwrap().is_ok(), "{restarts}, {lost}");
        }
        begin(&mut plays, 10);
        server.settle(&mut plays, Tag(10));
        for play in &plays {
            assert!(play.done(Tag(10)).unwrap().is_ok(), "{restarts}, {lost}");
            assert_eq!((play.client.over(), play.client.outstanding()), (None, 0));
            play.check_rows("lost");
        }
        drop(plays);
        let recoveries = options.recoveries.lock().unwrap();
        let expected = if restarts { (0, u64::from(CONNECTIONS)) } else { (u64::from(CONNECTIONS), 0) };
        assert_eq!((recoveries.sessions, recoveries.restarts), expected, "{lost}");
        assert_eq!(recoveries.opens.lost, 0);
    }
}

/// The server may say COMPLETE_ALREADY although the connection sees no others that have sent RECLAIM_COMPLETE.
#[test]
fn a_connection_after_the_others_have_gone_connects() {
    let mut server = Server::default();
    let (plays, options) = connected(&mut server);
    drop(plays);
    let trunk = options.trunk("many", CONNECTIONS);
    let mut next = Play::of(Nfs4Client::trunked(options, identity(), trunk, 1));
    next.connect();
    server.settle(std::slice::from_mut(&mut next), Tag::CONNECT);
    assert_eq!((next.done(Tag::CONNECT), server.completed), (Some(Ok(Reply::Nothing)), 2));
}
