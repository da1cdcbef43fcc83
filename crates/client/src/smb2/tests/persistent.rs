//! Persistent handles: durable handles that also survive a restart of the server.

use plimsoll_wire::smb2::negotiate::CAP_PERSISTENT_HANDLES;
use plimsoll_wire::smb2::tree_connect::SHARE_CONTINUOUS_AVAILABILITY;
use plimsoll_wire::smb2::{Command, Header, create, header, negotiate, status};

use super::World;
use super::durable::{open, with_file_on};
use super::server::{Asked, Server};
use crate::client::Client;
use crate::operation::{Access, Caching, Cause, Disposition, Operation, Reply, Tag};
use crate::smb2::auth::Credentials;
use crate::smb2::{Dialect, Reconnects, SmbClient, SmbOptions};

/// SMB2_DHANDLE_FLAG_PERSISTENT.
const PERSISTENT: u8 = 2;

/// A server with a share of continuous availability, which grants durable handles with these flags.
fn available(flags: u8) -> Server {
    let mut server = Server::default();
    (server.durable, server.durable_flags) = (true, flags);
    (server.capabilities, server.share_capabilities) =
        (CAP_PERSISTENT_HANDLES as u8, SHARE_CONTINUOUS_AVAILABILITY as u8);
    server
}

/// The data of a create context.
fn context<'a>(asked: &'a Asked, name: &[u8; 4]) -> Option<&'a [u8]> {
    let at = asked.bytes.windows(4).position(|part| part == name)?;
    Some(&asked.bytes[at + 8..])
}

/// Flags and GUID of a request for a durable handle.
fn requested(asked: &Asked) -> Option<(u8, &[u8])> {
    context(asked, b"DH2Q").map(|data| (data[4], &data[16..32]))
}

/// Flags and GUID of a request that reconnects an open.
fn reconnected(asked: &Asked) -> (u8, &[u8]) {
    let data = context(asked, b"DH2C").unwrap();
    (data[32], &data[16..32])
}

fn is_replay(asked: &Asked) -> bool {
    Header::new(&asked.bytes).unwrap().flags() & header::FLAG_REPLAY != 0
}

fn counts(client: &SmbClient) -> Reconnects {
    client.durable.as_ref().unwrap().counts.clone()
}

#[test]
fn they_are_requested_where_server_and_share_offer_them() {
    for dialect in [Dialect::V210, Dialect::V300, Dialect::V302] {
        for (by_server, by_share) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut server = available(PERSISTENT);
            server.capabilities *= u8::from(by_server);
            server.share_capabilities *= u8::from(by_share);
            let mut world = World::ready_on(server, dialect, 64);
            let mut opened = |caching| {
                let disposition = Disposition::OpenOrCreate;
                world.begin(&Operation::Open { path: "f", access: Access::Read, disposition, caching });
                let asked = world.asked().pop().unwrap();
                world.answer(&asked, 0);
                requested(&asked).map(|(flags, _)| flags)
            };
            let expected = (dialect >= Dialect::V300).then_some(if by_server && by_share { PERSISTENT } else { 0 });
            assert_eq!(opened(Caching::Durable), expected, "{dialect:?} {by_server} {by_share}");
            assert_eq!(opened(Caching::Lease), None);
            assert_eq!(counts(&world.client).persistent_requested, u64::from(expected == Some(PERSISTENT)));
        }
    }
}

#[test]
fn the_client_names_the_capability_in_dialects_3() {
    for (dialect, expected) in [(Dialect::V210, 0), (Dialect::V300, CAP_PERSISTENT_HANDLES as u8)] {
        let mut options = SmbOptions::new("srv", "share", Credentials::anonymous());
        options.dialects = Dialect::V202..=dialect;
        let mut world = World::new(options);
        world.connect();
        let asked = world.asked().pop().unwrap();
        assert_eq!(asked.bytes[negotiate::REQUEST_CAPABILITIES] & CAP_PERSISTENT_HANDLES as u8, expected);
    }
}

#[test]
fn a_persistent_handle_is_reconnected_as_one() {
    for keeps_lease in [true, false] {
        let (mut world, file) = with_file_on(available(PERSISTENT), Dialect::V302);
        if !keeps_lease {
            let lease = world.client.files.get(file).unwrap().lease.unwrap();
            world.deliver(&Server::breaks(lease.key, lease.state, create::LEASE_READ));
            world.obey();
        }
        let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
        world.flush();
        // The server restarts: the first logon is lost, too, and then the server is not ready.
        assert!(world.lose());
        world.resume();
        assert!(world.lose());
        world.resume();
        let create = world.asked().pop().unwrap();
        world.answer(&create, status::STATUS_FILE_NOT_AVAILABLE);
        assert!(world.lose());
        world.resume();
        let create = world.asked().pop().unwrap();
        let guid = world.client.durable.as_ref().unwrap().get(world.client.files.get(file).unwrap().id).unwrap().guid;
        assert_eq!(reconnected(&create), (PERSISTENT, &guid.unwrap()[..]));
        assert!(requested(&create).is_none());
        let state = world.client.files.get(file).unwrap().lease.unwrap().state;
        assert_eq!(state == create::LEASE_READ, !keeps_lease);
        assert_eq!(context(&create, b"RqLs").map(|lease| u32::from(lease[16])), Some(state));
        world.answer(&create, 0);
        world.obey();
        assert_eq!(world.ended(read), (1, Some(Ok(Reply::Read { bytes: 100 }))));
        let counts = counts(&world.client);
        assert_eq!((counts.granted, counts.persistent_requested, counts.persistent), (1, 1, 1));
        assert_eq!((counts.sessions, counts.opens, counts.refused), (1, 1, 0));
        let expected = ["durable handles: 1 granted", "persistent handles: 1 requested, 1 granted"];
        assert_eq!(counts.facts()[..2], expected);
    }
}

#[test]
fn a_server_that_is_not_ready_for_a_logon_is_asked_again() {
    let again = [
        (Command::SessionSetup, status::STATUS_SERVER_UNAVAILABLE, Cause::LogonRefused),
        (Command::TreeConnect, status::STATUS_SERVER_UNAVAILABLE, Cause::ShareRefused),
        (Command::TreeConnect, status::STATUS_BAD_NETWORK_NAME, Cause::ShareRefused),
        (Command::TreeConnect, status::STATUS_NETWORK_NAME_DELETED, Cause::ShareRefused),
    ];
    for (command, status, cause) in again {
        let (mut world, file) = with_file_on(available(PERSISTENT), Dialect::V302);
        let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
        world.flush();
        assert!(world.lose());
        world.server.refuses = Some((command, status));
        for attempt in 1..=2 {
            world.resume();
            assert_eq!(world.ended(Tag::CONNECT), (attempt, Some(Err(cause))), "{command:?} {status:#x}");
            assert!(world.lose(), "{command:?} {status:#x}");
        }
        assert_eq!(world.ended(read), (0, None));
        world.server.refuses = None;
        world.resume();
        world.obey();
        assert_eq!(world.ended(read), (1, Some(Ok(Reply::Read { bytes: 100 }))));
        let counts = counts(&world.client);
        assert_eq!((counts.sessions, counts.opens, counts.refused), (1, 1, 0));
    }
}

#[test]
fn a_refused_logon_ends_the_session() {
    let refused = [
        (PERSISTENT, Command::SessionSetup, status::STATUS_LOGON_FAILURE),
        (PERSISTENT, Command::TreeConnect, status::STATUS_ACCESS_DENIED),
        // A durable handle does not survive a restart.
        (0, Command::TreeConnect, status::STATUS_BAD_NETWORK_NAME),
    ];
    for (flags, command, status) in refused {
        let (mut world, _) = with_file_on(available(flags), Dialect::V302);
        assert!(world.lose());
        world.server.refuses = Some((command, status));
        world.resume();
        assert_eq!(world.ended(Tag::CONNECT).0, 1);
        assert!(!world.lose(), "{flags} {command:?} {status:#x}");
    }
}

#[test]
fn a_file_is_reconnected_again_if_another_one_was_not() {
    let (mut world, file) = with_file_on(available(PERSISTENT), Dialect::V302);
    world.begin(&open(Disposition::Open));
    world.obey();
    let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
    world.flush();
    assert!(world.lose());
    world.resume();
    let reopened = world.asked();
    assert_eq!(reopened.len(), 2);
    world.answer(&reopened[0], 0);
    world.answer(&reopened[1], status::STATUS_FILE_NOT_AVAILABLE);
    assert!(world.lose());
    world.resume();
    let again = world.asked();
    assert_eq!(again.len(), 2);
    assert!(reopened.iter().zip(&again).all(|(before, now)| reconnected(before) == reconnected(now)));
    again.iter().for_each(|create| world.answer(create, 0));
    world.obey();
    assert_eq!(world.ended(read), (1, Some(Ok(Reply::Read { bytes: 100 }))));
    // Both files are durable under their new handles.
    assert!(world.lose());
    world.resume();
    assert_eq!(world.asked().len(), 2);
}

/// The server keeps a persistent handle until it is closed.
#[test]
fn a_file_is_closed_when_the_server_is_ready() {
    let (mut world, file) = with_file_on(available(PERSISTENT), Dialect::V302);
    let close = world.begin(&Operation::Close { file });
    world.flush();
    assert!(world.lose());
    for status in [status::STATUS_FILE_NOT_AVAILABLE, status::STATUS_SERVER_UNAVAILABLE] {
        world.resume();
        let create = world.asked().pop().unwrap();
        world.answer(&create, status);
        assert!(world.lose());
    }
    assert_eq!(world.ended(close), (0, None));
    world.resume();
    let create = world.asked().pop().unwrap();
    world.answer(&create, 0);
    let asked = world.asked();
    assert_eq!(asked.iter().map(|asked| asked.command).collect::<Vec<_>>(), [Command::Close]);
    world.answer(&asked[0], 0);
    assert_eq!(world.ended(close), (1, Some(Ok(Reply::Nothing))));
}

#[test]
fn a_server_that_grants_only_durable_handles_gets_what_it_granted() {
    let (mut world, file) = with_file_on(available(0), Dialect::V302);
    assert!(world.lose());
    world.resume();
    let create = world.asked().pop().unwrap();
    assert_eq!(reconnected(&create).0, 0);
    world.answer(&create, 0);
    let counts = counts(&world.client);
    assert_eq!((counts.granted, counts.persistent_requested, counts.persistent), (1, 1, 0));
    assert_eq!(counts.facts()[1], "persistent handles: 1 requested, 0 granted");
    // Without its lease, a durable handle is closed with its connection.
    let lease = world.client.files.get(file).unwrap().lease.unwrap();
    world.deliver(&Server::breaks(lease.key, lease.state, create::LEASE_READ));
    world.obey();
    assert!(!world.lose());
}

#[test]
fn a_server_that_grants_no_durable_handle_is_named() {
    let mut server = available(PERSISTENT);
    server.durable = false;
    let (mut world, _) = with_file_on(server, Dialect::V302);
    assert_eq!(counts(&world.client).facts(), ["persistent handles: 1 requested, 0 granted"]);
    assert!(!world.lose());
}

#[test]
fn a_persistent_handle_that_was_not_requested_counts_as_durable() {
    let mut server = available(PERSISTENT);
    server.share_capabilities = 0;
    let (mut world, _) = with_file_on(server, Dialect::V302);
    let counts = counts(&world.client);
    assert_eq!((counts.granted, counts.persistent_requested, counts.persistent), (1, 0, 0));
    assert_eq!(counts.facts(), ["durable handles: 1 granted"]);
    assert!(world.lose());
    world.resume();
    assert_eq!(reconnected(&world.asked().pop().unwrap()).0, 0);
}

/// While the first open has no connection, the server would refuse an open with another GUID.
#[test]
fn an_open_without_a_response_is_repeated_as_it_was() {
    for flags in [PERSISTENT, 0] {
        let (mut world, _) = with_file_on(available(flags), Dialect::V302);
        let tag = world.begin(&open(Disposition::Create));
        let first = world.asked().pop().unwrap();
        assert!(world.lose());
        world.resume();
        let reopened = world.asked().pop().unwrap();
        world.answer(&reopened, 0);
        let again = world.asked().pop().unwrap();
        // Where the server grants only durable handles: another open.
        let repeats = flags == PERSISTENT;
        assert_eq!((is_replay(&first), is_replay(&again)), (false, repeats));
        assert_eq!(requested(&again) == requested(&first), repeats);
        let disposition = if repeats { create::DISPOSITION_CREATE } else { create::DISPOSITION_OPEN_IF };
        assert_eq!(u32::from(again.bytes[create::DISPOSITION]), disposition);
        world.answer(&again, 0);
        assert!(matches!(world.ended(tag), (1, Some(Ok(Reply::Opened { .. })))));
        assert_eq!(world.ended(Tag::CONNECT).0, 1);
    }
}

/// The server has not found the handle of the first sending yet.
#[test]
fn a_repeated_open_waits_for_a_server_that_is_not_ready() {
    let (mut world, _) = with_file_on(available(PERSISTENT), Dialect::V302);
    let tag = world.begin(&open(Disposition::Create));
    let first = world.asked().pop().unwrap();
    assert!(world.lose());
    world.resume();
    let reopened = world.asked().pop().unwrap();
    world.answer(&reopened, 0);
    for _ in 0..2 {
        let again = world.asked().pop().unwrap();
        assert!(is_replay(&again) && requested(&again) == requested(&first));
        world.answer(&again, status::STATUS_FILE_NOT_AVAILABLE);
        assert_eq!((world.ended(tag), world.client.outstanding()), ((0, None), 1));
        let due = world.client.wakes_at();
        assert!(world.now < due && due < i64::MAX);
        world.now = due;
        world.client.wake(due, &mut world.out, &mut world.collected);
    }
    // The wait goes over to the next session.
    let again = world.asked().pop().unwrap();
    world.answer(&again, status::STATUS_FILE_NOT_AVAILABLE);
    assert!(world.lose());
    world.resume();
    let reopened = world.asked().pop().unwrap();
    world.answer(&reopened, 0);
    let again = world.asked().pop().unwrap();
    assert!(is_replay(&again) && requested(&again) == requested(&first));
    world.answer(&again, 0);
    assert!(matches!(world.ended(tag), (1, Some(Ok(Reply::Opened { .. })))));
    assert_eq!((world.client.wakes_at(), counts(&world.client).sent_again), (i64::MAX, 4));
}

#[test]
fn an_open_that_was_not_repeated_fails_if_its_file_is_not_available() {
    let (mut world, _) = with_file_on(available(PERSISTENT), Dialect::V302);
    let tag = world.begin(&open(Disposition::Open));
    let create = world.asked().pop().unwrap();
    world.answer(&create, status::STATUS_FILE_NOT_AVAILABLE);
    assert_eq!(world.ended(tag), (1, Some(Err(Cause::Status))));
}

#[test]
fn the_first_open_of_a_client_is_repeated_as_it_was() {
    let mut world = World::ready_on(available(PERSISTENT), Dialect::V302, 64);
    let tag = world.begin(&open(Disposition::Create));
    let first = world.asked().pop().unwrap();
    assert!(world.lose());
    world.resume();
    let again = world.asked().pop().unwrap();
    assert!(is_replay(&again) && requested(&again) == requested(&first));
    world.answer(&again, 0);
    assert!(matches!(world.ended(tag), (1, Some(Ok(Reply::Opened { .. })))));
    assert_eq!((counts(&world.client).persistent_requested, counts(&world.client).persistent), (1, 1));
}
