//! A client that takes the place of another one whose connection was lost.

use std::sync::Arc;

use plimsoll_wire::smb2::{Command, session_setup};

use super::breaks::key;
use super::server::Asked;
use super::{Collected, World};
use crate::client::Client;
use crate::operation::{Access, Caching, Cause, Disposition, Operation, Reply, Tag};
use crate::outbox::Outbox;
use crate::smb2::auth::Credentials;
use crate::smb2::{Dialect, SmbClient, SmbOptions};

impl World {
    /// The client is gone, and another one with its GUID logs on, on a new connection. Returns the PreviousSessionIds of its logon.
    fn replace_client(&mut self) -> Vec<u64> {
        let (options, identity) = (Arc::clone(&self.client.options), self.client.connection.identity().clone());
        let none = Arc::new(SmbOptions::new("srv", "share", Credentials::anonymous()));
        drop(std::mem::replace(&mut self.client, SmbClient::new(none, identity.clone(), [0; 16])));
        self.client = SmbClient::new(options, identity, [9; 16]);
        (self.out, self.collected, self.closed) = (Outbox::new(), Collected::default(), false);
        self.server.asked.clear();
        self.connect();
        let mut previous: Vec<[u8; 8]> = Vec::new();
        loop {
            self.flush();
            let Some(asked) = self.server.asked.first() else { break };
            if asked.command == Command::SessionSetup {
                previous.push(asked.bytes[session_setup::PREVIOUS_SESSION_ID..][..8].try_into().unwrap());
            }
            let answer = self.server.answer_next().unwrap();
            self.deliver(&answer);
        }
        assert_eq!(self.result(Tag::CONNECT), Some(Ok(Reply::Nothing)));
        previous.into_iter().map(u64::from_le_bytes).collect()
    }

    /// The request for a file with a lease.
    fn asked_for_a_file(&mut self, caching: Caching) -> Asked {
        let (access, disposition) = (Access::Read, Disposition::Open);
        self.begin(&Operation::Open { path: "f", access, disposition, caching });
        self.asked().remove(0)
    }
}

/// MS-SMB2 3.3.5.9.8: the server refuses a lease key that it knows for another file.
#[test]
fn no_client_uses_the_keys_of_a_lost_one() {
    for caching in [Caching::Lease, Caching::Durable] {
        let mut world = World::ready(Dialect::V302, 64);
        let guid = |asked: &Asked| {
            let at = asked.bytes.windows(4).position(|part| part == b"DH2Q")?;
            Some(asked.bytes[at + 8 + 16..at + 8 + 32].to_vec())
        };
        let mut keys = Vec::new();
        for _ in 0..3 {
            let asked = world.asked_for_a_file(caching);
            keys.push(key(&asked).to_vec());
            keys.extend(guid(&asked));
            world.broken(Cause::ConnectionReset);
            world.replace_client();
        }
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!((keys.len(), count), (count, if caching == Caching::Durable { 6 } else { 3 }));
    }
}

/// Until its session ends, the server keeps the files and leases of a lost client, and other opens wait for them.
#[test]
fn the_logon_after_a_loss_names_the_lost_session() {
    let mut world = World::ready(Dialect::V302, 64);
    for _ in 0..2 {
        world.broken(Cause::ConnectionReset);
        assert_eq!(world.replace_client(), [0, 0], "7: a server that counts may have begun anew");
    }
    let session = 1 << 40;
    world.client.unended_session = Some(session);
    world.broken(Cause::ConnectionReset);
    assert_eq!(world.replace_client(), [session, session]);
    let now = world.tick();
    world.client.leave(now, &mut world.out, &mut world.collected);
    world.obey();
    assert_eq!(world.replace_client(), [0, 0]);
    // A second session beside the first ends none.
    world.begin(&Operation::LogOn);
    let asked = world.asked();
    assert_eq!((asked.len(), asked[0].command), (1, Command::SessionSetup));
    assert_eq!(asked[0].bytes[session_setup::PREVIOUS_SESSION_ID..][..8], [0; 8]);
}

/// A server that has restarted may give the ID of a lost session to another client, which would then lose it.
#[test]
fn the_session_of_another_client_is_not_named() {
    let mut world = World::ready(Dialect::V302, 64);
    let session = 1 << 40;
    world.client.unended_session = Some(session);
    world.client.options.session_owners.lock().unwrap().insert(session, u64::MAX);
    world.broken(Cause::ConnectionReset);
    assert_eq!(world.replace_client(), [0, 0]);
    world.client.unended_session = Some(session);
    world.client.options.session_owners.lock().unwrap().remove(&session);
    world.broken(Cause::ConnectionReset);
    assert_eq!(world.replace_client(), [session, session]);
    let owners = world.client.options.session_owners.lock().unwrap().clone();
    assert_eq!(owners.into_iter().collect::<Vec<_>>(), [(7, world.client.number)]);
    let now = world.tick();
    world.client.leave(now, &mut world.out, &mut world.collected);
    world.obey();
    assert!(world.client.options.session_owners.lock().unwrap().is_empty());
}
