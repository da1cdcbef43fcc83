//! A secondary share is connected and disconnected, with any response of the server.

use plimsoll_wire::smb2::header;

use super::World;
use super::server::ERROR;
use crate::client::Client;
use crate::operation::{Cause, Operation, Reply};
use crate::smb2::Dialect;

/// Tree IDs of the mapped share and of the secondary one.
const STANDING: u32 = 5;
const OTHER: u32 = 9;

/// Tree ID of the next operation.
fn tree_in_use(world: &mut World) -> u32 {
    world.begin(&Operation::Fsinfo);
    let asked = world.asked();
    let tree = asked[0].bytes[header::TREE_ID..][..4].try_into().unwrap();
    world.server.asked = asked;
    world.obey();
    u32::from_le_bytes(tree)
}

/// Connected to a share besides the primary one.
fn connected() -> World {
    let mut world = World::ready(Dialect::V210, 64);
    assert_eq!(tree_in_use(&mut world), STANDING);
    let tag = world.begin(&Operation::ConnectShare);
    let asked = world.asked();
    let mut answer = world.server.answer(&asked[0]);
    let at = answer.len() - 16 - header::LEN + header::TREE_ID;
    answer[at..at + 4].copy_from_slice(&OTHER.to_le_bytes());
    world.deliver(&answer);
    assert_eq!(world.result(tag), Some(Ok(Reply::Nothing)));
    assert_eq!(tree_in_use(&mut world), OTHER);
    world
}

#[test]
fn it_is_left_where_the_server_says_so() {
    let mut world = connected();
    let tag = world.begin(&Operation::DisconnectShare);
    world.obey();
    assert_eq!(world.result(tag), Some(Ok(Reply::Nothing)));
    assert_eq!(tree_in_use(&mut world), STANDING);
}

#[test]
fn it_is_left_where_the_server_refuses() {
    let mut world = connected();
    let tag = world.begin(&Operation::DisconnectShare);
    let asked = world.asked();
    // STATUS_NETWORK_NAME_DELETED
    let refusal = world.server.reply(&asked[0], 0xC000_00C9, &ERROR);
    world.deliver(&refusal);
    assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::Status);
    assert_eq!(tree_in_use(&mut world), STANDING);
}

#[test]
fn it_is_left_where_the_server_says_nothing() {
    let mut world = connected();
    let tag = world.begin(&Operation::DisconnectShare);
    let asked = world.asked();
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::TimedOut);
    assert_eq!(tree_in_use(&mut world), STANDING);
    // The response comes late, and has no effect.
    let late = world.server.answer(&asked[0]);
    world.deliver(&late);
    assert_eq!(tree_in_use(&mut world), STANDING);
}
