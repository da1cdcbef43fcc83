//! Cached facts need no request, and the cache drops them when it must.

use plimsoll_wire::smb2::{Command, create};

use super::World;
use super::server::Server;
use crate::client::Client;
use crate::operation::{Access, Caching, Disposition, FileKey, Operation, Reply};
use crate::smb2::Dialect;

const READ: Operation<'static> =
    Operation::Open { path: "f", access: Access::Read, disposition: Disposition::Open, caching: Caching::LeaseCached };

/// The result of an operation, and the commands that the server received for it.
fn act(world: &mut World, operation: &Operation<'_>) -> (Reply, Vec<Command>) {
    let tag = world.begin(operation);
    let before = world.collected.transactions.len();
    world.obey();
    let reply = world.result(tag).unwrap().unwrap();
    let heard = world.collected.transactions[before..].iter().map(|row| row.procedure.name());
    let known = [Command::Create, Command::Close, Command::Read, Command::QueryInfo, Command::OplockBreak];
    (
        reply,
        heard.filter_map(|name| known.into_iter().find(|command| name.starts_with(command.name().unwrap()))).collect(),
    )
}

fn opened(world: &mut World) -> (FileKey, Vec<Command>) {
    match act(world, &READ) {
        (Reply::Opened { file, size: Some(77) }, heard) => (file, heard),
        other => panic!("{other:?}"),
    }
}

/// The key of the lease that was asked for last.
fn key(world: &World) -> [u8; 16] {
    world.client.files.get(FileKey(0)).unwrap().lease.unwrap().key
}

#[test]
fn a_file_is_opened_read_and_closed_once() {
    let mut world = World::ready(Dialect::V210, 64);
    let (file, heard) = opened(&mut world);
    assert_eq!(heard, [Command::Create]);
    let read = Operation::Read { file, offset: 0, length: 50, keep: false };
    assert_eq!(act(&mut world, &read), (Reply::Read { bytes: 50 }, vec![Command::Read]));
    let size = Reply::Attributes { size: 77, directory: false };
    // All of the following facts are cached, so the server receives no request.
    assert_eq!(act(&mut world, &Operation::GetattrOpen { file }), (size.clone(), vec![]));
    assert_eq!(act(&mut world, &Operation::Close { file }), (Reply::Nothing, vec![]));
    assert_eq!(act(&mut world, &Operation::Getattr { path: "f" }), (size, vec![]));
    let (file, heard) = opened(&mut world);
    assert_eq!(heard, []);
    assert_eq!(
        act(&mut world, &Operation::Read { file, offset: 10, length: 40, keep: false }),
        (Reply::Read { bytes: 40 }, vec![])
    );
    // QUERY_INFO; CREATE, QUERY_INFO, CLOSE; CLOSE and CREATE; READ.
    assert_eq!(world.client.requests_avoided(), 1 + 3 + 2 + 1);
    // Data for the caller, and data that were not read before, need a request.
    for (offset, keep) in [(0, true), (40, false)] {
        assert_eq!(act(&mut world, &Operation::Read { file, offset, length: 20, keep }).1, [Command::Read]);
    }
}

#[test]
fn what_is_closed_is_closed_after_a_while() {
    let mut world = World::ready(Dialect::V210, 64);
    let (file, _) = opened(&mut world);
    act(&mut world, &Operation::Close { file });
    world.now += 9_000_000_000;
    assert_eq!(act(&mut world, &Operation::Null).1, []);
    world.now += 1_000_000_000;
    assert_eq!(act(&mut world, &Operation::Null).1, [Command::Close]);
    assert_eq!(opened(&mut world).1, [Command::Create]);
    // If there are too many, the oldest one is closed.
    let mut world = World::ready(Dialect::V210, 64);
    let closed = |world: &mut World, n: u32| {
        let path = format!("f{n}");
        let (access, disposition) = (Access::Read, Disposition::Open);
        let (reply, heard) =
            act(world, &Operation::Open { path: &path, access, disposition, caching: Caching::LeaseCached });
        let Reply::Opened { file, .. } = reply else { panic!("{reply:?}") };
        act(world, &Operation::Close { file });
        heard
    };
    for n in 0..1001 {
        assert_eq!(closed(&mut world, n), [Command::Create], "{n}");
    }
    assert_eq!(closed(&mut world, 1001), [Command::Close, Command::Create]);
}

#[test]
fn who_changes_a_file_closes_it_first() {
    for (operation, way) in [
        (Operation::Remove { path: "f" }, true),
        (Operation::Rename { from: "f", to: "g" }, true),
        (Operation::Rename { from: "e", to: "f" }, true),
        (Operation::Remove { path: "g" }, false),
    ] {
        let mut world = World::ready(Dialect::V210, 64);
        let (file, _) = opened(&mut world);
        act(&mut world, &Operation::Close { file });
        let heard = act(&mut world, &operation).1;
        assert_eq!(heard.first(), Some(&if way { Command::Close } else { Command::Create }), "{operation:?}");
    }
}

#[test]
fn what_is_taken_back_is_asked_for_again() {
    let (all, read) = (create::LEASE_READ | create::LEASE_WRITE | create::LEASE_HANDLE, create::LEASE_READ);
    // The file is unused: the client closes it when another client wants it.
    let mut world = World::ready(Dialect::V210, 64);
    let (file, _) = opened(&mut world);
    let lease = key(&world);
    act(&mut world, &Operation::Close { file });
    world.deliver(&Server::breaks(lease, all, read));
    assert_eq!(act(&mut world, &Operation::Null).1, [Command::OplockBreak, Command::Close]);
    assert_eq!(opened(&mut world).1, [Command::Create]);
    // The file is in use: the client requests its facts again, and closes it when its user does.
    let mut world = World::ready(Dialect::V210, 64);
    let (file, _) = opened(&mut world);
    let lease = key(&world);
    world.deliver(&Server::breaks(lease, all, 0));
    assert_eq!(act(&mut world, &Operation::GetattrOpen { file }).1, [Command::OplockBreak, Command::QueryInfo]);
    assert_eq!(act(&mut world, &Operation::Close { file }), (Reply::Nothing, vec![Command::Close]));
}

#[test]
fn without_a_lease_nothing_is_kept() {
    let mut world = World::ready(Dialect::V202, 64);
    for _ in 0..2 {
        let (file, heard) = opened(&mut world);
        assert_eq!(heard, [Command::Create]);
        assert_eq!(act(&mut world, &Operation::GetattrOpen { file }).1, [Command::QueryInfo]);
        assert_eq!(act(&mut world, &Operation::Close { file }).1, [Command::Close]);
    }
    assert_eq!(world.client.requests_avoided(), 0);
}

/// Open files belong to the share on which they were opened.
#[test]
fn another_connection_to_the_share_keeps_nothing_and_knows_nothing() {
    let mut world = World::ready(Dialect::V210, 64);
    let (file, _) = opened(&mut world);
    act(&mut world, &Operation::Close { file });
    act(&mut world, &Operation::ConnectShare);
    let (elsewhere, heard) = opened(&mut world);
    assert_eq!(heard, [Command::Create]);
    assert_eq!(act(&mut world, &Operation::Close { file: elsewhere }).1, [Command::Close]);
    act(&mut world, &Operation::DisconnectShare);
    assert_eq!(opened(&mut world).1, []);
}
