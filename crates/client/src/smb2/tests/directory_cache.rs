//! A listing needs no request while the lease of its directory holds, and is never given after a break or an own change.

use plimsoll_wire::smb2::create;

use super::super::auth::Credentials;
use super::super::{Dialect, SmbOptions};
use super::World;
use super::server::Server;
use crate::client::Client;
use crate::operation::{Access, Caching, Disposition, InfoClass, Operation, Reply};

const LIST: Operation<'static> = Operation::List { path: "d" };
const OPEN_LIST_CLOSE: [&str; 4] = ["CREATE", "QUERY_DIRECTORY", "QUERY_DIRECTORY", "CLOSE"];
const RIGHTS: u32 = create::LEASE_READ | create::LEASE_HANDLE;

/// A client that caches directories, on a server that grants such leases if `granting`.
fn world(dialect: Dialect, granting: bool) -> World {
    let mut world = World::ready(dialect, 64);
    let other = World::new(SmbOptions::new("srv", "share", Credentials::anonymous()));
    world.client = std::mem::replace(&mut world.client, other.client).with_directory_leases(true);
    world.client.connection.limits.directory_leases = granting;
    world
}

/// The result of an operation, and the procedures of the requests that the server received for it.
fn act(world: &mut World, operation: &Operation<'_>) -> (Reply, Vec<String>) {
    let tag = world.begin(operation);
    let before = world.collected.transactions.len();
    world.obey();
    let reply = world.result(tag).unwrap().unwrap();
    (reply, world.collected.transactions[before..].iter().map(|row| row.procedure.name()).collect())
}

fn listed(world: &mut World) -> Vec<String> {
    let before = world.collected.names.len();
    let (reply, heard) = act(world, &LIST);
    assert_eq!(reply, Reply::Listed { entries: 1 });
    assert_eq!(world.collected.names[before..], ["name"]);
    heard
}

/// The key of the only directory's lease: the first key of the client.
fn key(world: &World) -> [u8; 16] {
    let key = (u128::from_le_bytes(world.client.guid) ^ 1).to_le_bytes();
    assert!(world.client.directory_cache.as_ref().unwrap().lease(key).is_some());
    key
}

#[test]
fn a_directory_is_listed_once_while_its_lease_holds() {
    let mut world = world(Dialect::V300, true);
    assert_eq!(listed(&mut world), OPEN_LIST_CLOSE[..3]);
    assert_eq!(listed(&mut world), [""; 0]);
    let find = |pattern| Operation::Find { path: "d", pattern, class: InfoClass(37) };
    assert_eq!(act(&mut world, &find("name")), (Reply::Listed { entries: 1 }, vec![]));
    // CREATE, two QUERY_DIRECTORY and CLOSE; CREATE, QUERY_DIRECTORY and CLOSE.
    assert_eq!(world.client.requests_avoided(), 4 + 3);
    assert_eq!(act(&mut world, &find("na*")).1.len(), 3, "the server matches patterns");
    // Unused for a while, it is closed.
    world.now += 10_000_000_000;
    assert_eq!(act(&mut world, &Operation::Null).1, ["CLOSE", "ECHO"]);
    assert_eq!(listed(&mut world), OPEN_LIST_CLOSE[..3]);
}

#[test]
fn without_a_lease_each_listing_asks_the_server() {
    for (dialect, granting) in [(Dialect::V300, false), (Dialect::V210, false)] {
        let mut world = world(dialect, granting);
        assert_eq!(listed(&mut world), OPEN_LIST_CLOSE);
        assert_eq!(listed(&mut world), OPEN_LIST_CLOSE);
        assert_eq!(world.client.requests_avoided(), 0);
        assert_eq!(world.client.directory_leases().asked, 0);
    }
}

#[test]
fn after_a_break_the_server_is_asked_again() {
    for to in [0, create::LEASE_READ, create::LEASE_HANDLE] {
        let mut world = world(Dialect::V300, true);
        listed(&mut world);
        let lease = key(&world);
        world.deliver(&Server::breaks(lease, RIGHTS, to));
        let closes = to & create::LEASE_HANDLE == 0;
        let expected = if closes { &["OPLOCK_BREAK", "CLOSE", "ECHO"][..] } else { &["OPLOCK_BREAK", "ECHO"] };
        assert_eq!(act(&mut world, &Operation::Null).1, expected);
        let heard = listed(&mut world);
        assert_eq!(heard, if closes { &OPEN_LIST_CLOSE[..3] } else { &OPEN_LIST_CLOSE }, "{to}");
        assert_eq!(world.client.directory_leases().broken, 1);
    }
}

#[test]
fn a_listing_during_which_the_lease_is_broken_is_not_kept() {
    let mut world = world(Dialect::V300, true);
    let tag = world.begin(&LIST);
    world.flush();
    let opened = world.server.answer_next().unwrap();
    world.deliver(&opened);
    let lease = key(&world);
    world.deliver(&Server::breaks(lease, RIGHTS, 0));
    world.obey();
    assert_eq!(world.result(tag), Some(Ok(Reply::Listed { entries: 1 })));
    assert_eq!(world.collected.transactions.last().unwrap().procedure.name(), "CLOSE");
    assert_eq!(listed(&mut world), OPEN_LIST_CLOSE[..3]);
}

#[test]
fn own_changes_make_a_listing_unknown_but_leave_the_directory_open() {
    let (access, disposition, caching) = (Access::ReadWrite, Disposition::Create, Caching::DirectoryCached);
    let create = Operation::Open { path: "d/new", access, disposition, caching };
    for change in [
        create,
        Operation::Remove { path: "d/f" },
        Operation::Mkdir { path: "d/e" },
        Operation::Rmdir { path: "d/e" },
        Operation::Rename { from: "d/f", to: "x" },
        Operation::Rename { from: "x", to: "d/f" },
        Operation::Link { from: "x", to: "d/f" },
    ] {
        let mut world = world(Dialect::V300, true);
        listed(&mut world);
        act(&mut world, &change);
        let kept = &OPEN_LIST_CLOSE[1..3];
        assert_eq!(listed(&mut world), kept, "{change:?}");
        // A listing that is answered while a change is not is not kept either.
        act(&mut world, &change);
        let listing = world.begin(&LIST);
        let changing = world.begin(&change);
        world.obey();
        assert!(world.result(listing).is_some() && world.result(changing).is_some());
        assert_eq!(listed(&mut world), kept, "{change:?}");
    }
    // Other directories keep their listings.
    let mut world = world(Dialect::V300, true);
    listed(&mut world);
    act(&mut world, &Operation::Remove { path: "e/f" });
    assert_eq!(listed(&mut world), [""; 0]);
}

#[test]
fn a_directory_is_closed_before_it_is_removed_or_renamed() {
    for operation in [Operation::Rmdir { path: "d" }, Operation::Rename { from: "d", to: "e" }] {
        let mut world = world(Dialect::V300, true);
        listed(&mut world);
        assert_eq!(act(&mut world, &operation).1[..2], ["CLOSE", "CREATE"], "{operation:?}");
    }
}

#[test]
fn an_open_names_the_lease_of_its_directory() {
    let mut world = world(Dialect::V300, true);
    listed(&mut world);
    let parent = key(&world);
    let (access, disposition, caching) = (Access::Read, Disposition::Open, Caching::DirectoryCached);
    for (path, names) in [("d/f", true), ("e/f", false)] {
        world.begin(&Operation::Open { path, access, disposition, caching });
        let asked = world.asked();
        assert_eq!(asked[0].bytes.windows(16).any(|part| part == parent), names, "{path}");
    }
}
