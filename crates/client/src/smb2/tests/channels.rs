//! A session with several connections.

use std::sync::Arc;

use plimsoll_model::Endpoint;
use plimsoll_wire::smb2::{Command, negotiate, session_setup, status};

use super::World;
use super::durable::open;
use super::server::{Asked, ERROR};
use crate::client::{Arrived, Client, NewChannel};
use crate::operation::{Disposition, Reply, Tag};
use crate::smb2::auth::Credentials;
use crate::smb2::{Dialect, SmbClient, SmbOptions};

const CREDITS: u16 = 64;

impl World {
    /// A client whose session may have two connections, with a user's key, on a server with durable handles. Only the first exists.
    fn with_two_channels() -> Self {
        let mut options = SmbOptions::new("srv", "share", Credentials::guest());
        (options.dialects, options.credits) = (Dialect::V302..=Dialect::V302, CREDITS);
        let mut world = Self::new(options);
        let identity = world.client.connection.identity().clone();
        world.client = SmbClient::new(Arc::clone(&world.client.options), identity, [9; 16]).with_channels(2);
        (world.server.dialect, world.server.grants, world.server.durable) = (Dialect::V302.code(), CREDITS, true);
        world.server.capabilities = negotiate::CAP_MULTI_CHANNEL as u8;
        world.connect();
        world.log_on();
        assert_eq!(world.ended(Tag::CONNECT), (1, Some(Ok(Reply::Nothing))));
        world
    }

    /// The server answers all requests of the logon. The session's key proves that it does not know the controls.
    fn log_on(&mut self) {
        loop {
            self.flush();
            let Some(asked) = self.server.asked.first().cloned() else { return };
            let answer = match asked.command {
                Command::Create => return,
                Command::Ioctl => {
                    self.server.asked.remove(0);
                    let mut reply = self.server.reply(&asked, status::STATUS_NOT_SUPPORTED, &ERROR);
                    let signer = self.client.connection.session.signer.as_ref().unwrap();
                    signer.sign(&mut reply, &[]).unwrap();
                    reply
                }
                _ => self.server.answer_next().unwrap(),
            };
            self.deliver(&answer);
        }
    }

    /// The second connection is made, and its NEGOTIATE answered. Returns the next request.
    fn bind(&mut self) -> Asked {
        let (client, server) = (Endpoint { port: 3, ..Endpoint::NOWHERE }, self.client.connection.identity().server);
        let new = NewChannel { channel: 1, connection: 9, client, server };
        let now = self.tick();
        self.client.channel_opened(&new, now, &mut self.out, &mut self.collected);
        let negotiate = self.asked_on_the_second();
        assert_eq!(negotiate.command, Command::Negotiate);
        let answer = self.server.answer(&negotiate);
        let bytes = [&(answer.len() as u32).to_be_bytes()[..], &answer].concat();
        let (first, last) = (self.tick(), self.tick());
        let arrived = Arrived { head: &bytes, length: bytes.len() as u64, first, last, channel: 1 };
        self.client.message(arrived, &mut self.out, &mut self.collected);
        self.asked_on_the_second()
    }

    /// The only request on the second connection.
    fn asked_on_the_second(&mut self) -> Asked {
        let out = self.out.channel(1);
        let bytes = out.single().unwrap().to_vec();
        out.consume(bytes.len());
        let sent = out.sent();
        let at = self.tick();
        self.client.sent(1, sent, at);
        self.server.hear(&bytes);
        assert_eq!(self.server.asked.len(), 1, "{:?}", self.server.asked);
        self.server.asked.remove(0)
    }
}

/// Each attempt to resume a session logs on again, so it has other keys.
#[test]
fn a_channel_is_bound_with_the_keys_of_the_last_logon() {
    let mut world = World::with_two_channels();
    world.begin(&open(Disposition::OpenOrCreate));
    world.obey();
    for last in [false, true] {
        assert!(world.lose());
        world.resume();
        world.log_on();
        let create = world.asked().pop().unwrap();
        world.answer(&create, if last { 0 } else { status::STATUS_FILE_NOT_AVAILABLE });
    }
    assert_eq!(world.ended(Tag::CONNECT), (3, Some(Ok(Reply::Nothing))));
    let binding = world.bind();
    assert_eq!(binding.command, Command::SessionSetup);
    assert_eq!(binding.bytes[session_setup::REQUEST_FLAGS], session_setup::FLAG_BINDING);
    let signer = world.client.connection.session.signer.as_ref().unwrap();
    assert!(signer.verify(&binding.bytes, &[]).is_ok(), "signed with the keys of another session");
}
