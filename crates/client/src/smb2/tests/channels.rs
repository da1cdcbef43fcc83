//! A session with several connections.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_model::{Endpoint, Outcome, Procedure};
use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::{Command, header, negotiate, session_setup, status};

use super::World;
use super::durable::open;
use super::flow;
use super::server::{Asked, ERROR};
use crate::client::{Arrived, Client, NewChannel};
use crate::operation::{Cause, Disposition, Operation, Reply, Tag};
use crate::smb2::auth::Credentials;
use crate::smb2::keys::{Derivation, SessionKeys};
use crate::smb2::signing::{Signer, SigningAlgorithm};
use crate::smb2::{Dialect, SmbClient, SmbOptions};

const CREDITS: u16 = 64;

impl World {
    /// A client whose session may have two connections, with a user's key, on a server with durable handles. Only the first exists.
    fn with_two_channels() -> Self {
        Self::with_addresses(Vec::new())
    }

    /// The same with given addresses.
    fn with_addresses(addresses: Vec<IpAddr>) -> Self {
        let mut options = SmbOptions::new("srv", "share", Credentials::guest());
        (options.dialects, options.credits) = (Dialect::V302..=Dialect::V302, CREDITS);
        options.addresses = addresses;
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
        let answer = self.negotiate_on_the_second();
        self.deliver_on_the_second(&answer);
        self.asked_on_the_second()
    }

    /// The second connection is made. Returns the answer to its NEGOTIATE.
    fn negotiate_on_the_second(&mut self) -> Vec<u8> {
        let (client, server) = (Endpoint { port: 3, ..Endpoint::NOWHERE }, self.client.connection.identity().server);
        let new = NewChannel { channel: 1, connection: 9, client, server };
        let now = self.tick();
        self.client.channel_opened(&new, now, &mut self.out, &mut self.collected);
        let negotiate = self.asked_on_the_second();
        assert_eq!(negotiate.command, Command::Negotiate);
        self.server.answer(&negotiate)
    }

    fn deliver_on_the_second(&mut self, answer: &[u8]) {
        let bytes = [&(answer.len() as u32).to_be_bytes()[..], answer].concat();
        let (first, last) = (self.tick(), self.tick());
        let arrived = Arrived { head: &bytes, length: bytes.len() as u64, first, last, channel: 1 };
        self.client.message(arrived, &mut self.out, &mut self.collected);
    }

    /// The server agrees to the binding that begins with this request.
    fn bound(&mut self, binding: &Asked) {
        let mut more = self.server.answer(binding);
        self.client.on(1).session.signer.as_ref().unwrap().sign(&mut more, &[]).unwrap();
        self.deliver_on_the_second(&more);
        let asked = self.asked_on_the_second();
        let mut last = self.server.answer(&asked);
        let logon = self.client.channels.as_ref().unwrap().get(1).unwrap().logon.as_ref().unwrap();
        let keys = SessionKeys::derive(&logon.session_key().unwrap(), Derivation::V30, logon.cipher);
        Signer::new(logon.algorithm, &keys.signing).unwrap().sign(&mut last, &[]).unwrap();
        self.deliver_on_the_second(&last);
        assert_eq!(self.ended(Tag::channel(1)), (1, Some(Ok(Reply::Nothing))));
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

/// An address that the user gives is not replaced by the target's, even if attempts to connect to it fail.
#[test]
fn given_addresses_are_used_in_turn_and_the_list_is_not_asked_for() {
    let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
    let asks = |world: &World| {
        let list = Procedure::smb2_ioctl(fsctl::QUERY_NETWORK_INTERFACES);
        world.collected.transactions.iter().any(|transaction| transaction.procedure == list)
    };
    let usual = World::with_two_channels();
    assert!(asks(&usual) && usual.client.channel_address(1, 0).is_none(), "the server has no list");
    let given = World::with_addresses(vec![ip(2), ip(3)]);
    assert!(!asks(&given));
    assert_eq!([0, 5].map(|failed| given.client.channel_address(1, failed)), [Some((ip(2), 445).into()); 2]);
    assert_eq!([1, 2, 3].map(|place| given.client.options.address_of(place)), [ip(2), ip(3), ip(2)].map(Some));
}

/// The connection that takes the place of the first one keeps its address.
#[test]
fn a_lost_first_connection_is_made_again_to_the_target() {
    let mut world = World::with_addresses(vec![IpAddr::from([10, 0, 0, 2])]);
    let binding = world.bind();
    world.bound(&binding);
    assert_eq!(world.client.replace_first_channel(&mut world.out), Some(1));
    assert_eq!(world.client.channel_address(1, 0), None, "the target's address");
}

/// The user gives an address that belongs to another server.
#[test]
fn a_channel_to_another_server_is_not_bound() {
    let mut world = World::with_two_channels();
    let mut answer = world.negotiate_on_the_second();
    answer[negotiate::SERVER_GUID] ^= 1;
    world.deliver_on_the_second(&answer);
    assert_eq!(world.ended(Tag::channel(1)), (1, Some(Err(Cause::OtherServer))));
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

/// A client logs on a second time for a while, and one of its connections may be lost meanwhile.
#[test]
fn channels_belong_to_the_primary_session_while_another_one_is_in_use() {
    let mut world = World::with_two_channels();
    world.client.connection.push_session();
    world.client.connection.session.id = 8;
    let binding = world.bind();
    assert_eq!(binding.bytes[header::SESSION_ID..][..8], 7_u64.to_le_bytes());
    world.bound(&binding);
    let session = &world.client.on(1).session;
    assert_eq!((session.id, session.tree), (7, 5));
    let now = world.tick();
    world.client.channel_lost(1, now, &mut world.out, &mut world.collected);
    assert!(world.client.connection.pop_session());
    assert_eq!(world.client.connection.session.sequence, 1, "the server would refuse writes from before the loss");
}

/// The server is not ready for a request after the loss of a connection.
#[test]
fn a_request_that_is_to_be_sent_again_was_sent() {
    let mut world = World::with_two_channels();
    world.client.count_loss();
    let tag = world.begin(&Operation::Mkdir { path: "d" });
    for asked in world.asked() {
        world.answer(&asked, status::STATUS_FILE_NOT_AVAILABLE);
    }
    assert_eq!((world.result(tag), world.client.outstanding()), (None, 1));
    world.broken(Cause::ConnectionReset);
    assert_eq!(world.result(tag).unwrap().unwrap_err().outcome, Outcome::Unanswered);
}

#[test]
fn a_request_that_is_to_be_sent_again_can_be_cancelled() {
    let mut world = World::with_two_channels();
    world.client.count_loss();
    let file = flow::open(&mut world);
    let tag = world.begin(&Operation::Lock { file, offset: 0, length: 1, exclusive: true, wait: true });
    let lock = world.asked().remove(0);
    world.answer(&lock, status::STATUS_FILE_NOT_AVAILABLE);
    assert_eq!((world.result(tag), world.client.outstanding()), (None, 1));
    world.begin(&Operation::Cancel { tag });
    assert_eq!(world.result(tag).unwrap().unwrap_err().outcome, Outcome::Cancelled);
    assert_eq!((world.client.outstanding(), world.asked().len()), (0, 0));
}

/// The client may have closed an unused file just before it logged on a second time, so the response comes during the second session.
#[test]
fn a_late_response_of_the_primary_session_is_verified_with_its_key() {
    for is_changed in [false, true] {
        let mut world = World::with_two_channels();
        world.client.connection.session.signs = true;
        let tag = world.begin(&Operation::Null);
        let asked = world.asked().remove(0);
        let mut answer = world.server.answer(&asked);
        world.client.connection.session.signer.as_ref().unwrap().sign(&mut answer, &[]).unwrap();
        answer[header::CREDITS] ^= u8::from(is_changed);
        let keys = world.client.channels.as_ref().unwrap().keys.as_ref().unwrap();
        let other = Signer::new(SigningAlgorithm::AesCmac, &keys.application);
        world.client.connection.push_session();
        let session = &mut world.client.connection.session;
        (session.id, session.signs, session.signer) = (8, true, other);
        world.deliver(&answer);
        assert_eq!(world.client.over(), is_changed.then_some(Cause::Untrusted));
        assert_eq!(world.result(tag).unwrap().is_ok(), !is_changed);
    }
}
