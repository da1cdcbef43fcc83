//! Breaks of leases that the client does not know yet, or knows otherwise than the server, and opens that are answered too late.

use plimsoll_wire::smb2::{Command, close, create};

use super::World;
use super::durable::{open, with_file};
use super::server::{Asked, ERROR, Server};
use crate::client::Client;
use crate::operation::{Access, Caching, Cause, Disposition, FileKey, Operation, Reply, Tag};
use crate::smb2::Dialect;
use crate::smb2::directory_cache::Changed;

const READ: u32 = create::LEASE_READ;
const READ_AND_HANDLE: u32 = create::LEASE_READ | create::LEASE_HANDLE;
const ALL: u32 = create::LEASE_READ | create::LEASE_WRITE | create::LEASE_HANDLE;
/// SMB2_LEASE_FLAG_BREAK_IN_PROGRESS.
const BREAKING: u8 = 2;

fn leased(caching: Caching) -> Operation<'static> {
    Operation::Open { path: "f", access: Access::Read, disposition: Disposition::Open, caching }
}

/// Where the lease of an open, or of its response, begins: its key.
fn lease_at(message: &[u8]) -> usize {
    message.windows(4).position(|part| part == b"RqLs").unwrap() + 8
}

pub(super) fn key(asked: &Asked) -> [u8; 16] {
    asked.bytes[lease_at(&asked.bytes)..][..16].try_into().unwrap()
}

/// The rights of an open file.
fn rights(world: &World, file: FileKey) -> u32 {
    world.client.files.get(file).unwrap().lease.unwrap().state
}

fn opened(world: &World, tag: Tag) -> FileKey {
    match world.result(tag) {
        Some(Ok(Reply::Opened { file, .. })) => file,
        other => panic!("{other:?}"),
    }
}

fn commands(asked: &[Asked]) -> Vec<Command> {
    asked.iter().map(|asked| asked.command).collect()
}

impl World {
    /// The server breaks a lease; the client acknowledges at once, and the server answers that.
    fn break_lease(&mut self, key: [u8; 16], from: u32, to: u32) {
        self.deliver(&Server::breaks(key, from, to));
        let asked = self.asked();
        assert_eq!(commands(&asked), [Command::OplockBreak]);
        self.answer(&asked[0], 0);
    }
}

/// MS-SMB2 3.2.4.3: the client knows the key of a lease before the server answers the CREATE.
#[test]
fn a_break_before_the_response_of_the_open_is_acknowledged_and_holds() {
    let mut world = World::ready(Dialect::V210, 64);
    let tag = world.begin(&leased(Caching::LeaseCached));
    let asked = world.asked().remove(0);
    world.break_lease(key(&asked), ALL, READ);
    world.answer(&asked, 0);
    let file = opened(&world, tag);
    assert_eq!(rights(&world, file), READ);
    // Neither the file nor its handle is kept.
    world.begin(&Operation::Close { file });
    assert_eq!(commands(&world.asked()), [Command::Close]);
    world.begin(&leased(Caching::LeaseCached));
    assert_eq!(commands(&world.asked()), [Command::Create]);
}

#[test]
fn a_directory_whose_lease_is_broken_before_its_open_is_answered_is_not_kept() {
    let mut world = World::ready(Dialect::V300, 64);
    let other = World::ready(Dialect::V300, 64);
    world.client = std::mem::replace(&mut world.client, other.client).with_directory_leases(true);
    world.client.connection.limits.directory_leases = true;
    for _ in 0..2 {
        world.begin(&Operation::List { path: "d" });
        let asked = world.asked().remove(0);
        assert_eq!(asked.command, Command::Create);
        world.break_lease(key(&asked), READ_AND_HANDLE, 0);
        world.answer(&asked, 0);
        world.obey();
        assert_eq!(world.collected.transactions.last().unwrap().procedure.name(), "CLOSE");
    }
    let cache = world.client.directory_cache.as_mut().unwrap();
    let changed = cache.changed(&Operation::Close { file: FileKey(0) });
    assert_eq!(changed, Changed::Nothing, "no file that another client may delete");
}

/// The second open has the lease of the first, and was granted more than that has left.
#[test]
fn a_break_may_leave_more_than_the_open_files_have() {
    let (mut world, first) = with_file(Dialect::V302);
    let key = world.client.files.get(first).unwrap().lease.unwrap().key;
    world.break_lease(key, ALL, READ);
    let tag = world.begin(&open(Disposition::Open));
    let asked = world.asked().remove(0);
    world.break_lease(key, ALL, READ_AND_HANDLE);
    assert_eq!((world.client.over(), rights(&world, first)), (None, READ));
    world.answer(&asked, 0);
    let second = opened(&world, tag);
    assert_eq!([first, second].map(|file| rights(&world, file)), [READ_AND_HANDLE; 2]);
    // A break is acknowledged even if the client has nothing to give.
    world.break_lease(key, ALL, READ_AND_HANDLE);
    world.deliver(&Server::breaks(key, ALL, 1 << 3));
    assert_eq!(world.client.over(), Some(Cause::Malformed), "a right that no open asks for");
}

#[test]
fn a_response_from_before_a_break_gives_no_rights_back() {
    let (mut world, first) = with_file(Dialect::V302);
    let key = world.client.files.get(first).unwrap().lease.unwrap().key;
    world.break_lease(key, ALL, READ);
    let tag = world.begin(&open(Disposition::Open));
    let asked = world.asked().remove(0);
    let mut answer = world.server.answer(&asked);
    let flags = lease_at(&answer) + 20;
    answer[flags] |= BREAKING;
    world.deliver(&answer);
    let second = opened(&world, tag);
    assert_eq!([first, second].map(|file| rights(&world, file)), [READ; 2]);
    assert!(!world.lose(), "the server closes opens without a handle lease");
}

#[test]
fn a_file_whose_open_succeeds_too_late_is_closed() {
    for (caching, status) in [(Caching::None, 0), (Caching::Lease, 0), (Caching::Lease, 0xC000_0034)] {
        let mut world = World::ready(Dialect::V210, 64);
        let tag = world.begin(&leased(caching));
        let asked = world.asked().remove(0);
        let now = world.tick();
        world.client.overdue(now, now, &mut world.collected);
        assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::TimedOut);
        let late = if status == 0 { world.server.answer(&asked) } else { world.server.reply(&asked, status, &ERROR) };
        world.deliver(&late);
        let closing = world.asked();
        if status != 0 {
            assert!(closing.is_empty());
            continue;
        }
        assert_eq!(commands(&closing), [Command::Close]);
        // The file ID of the response.
        assert_eq!(closing[0].bytes[close::FILE_ID..][..16], late[128..144]);
        world.deliver(&late);
        assert!(world.asked().is_empty(), "once");
    }
}
