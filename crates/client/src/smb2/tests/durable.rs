//! Files open with durable handles, and outstanding requests, when the connection is lost.

use std::sync::Arc;

use plimsoll_model::{Endpoint, Outcome};
use plimsoll_wire::smb2::{Command, create, read, session_setup, status};

use super::World;
use super::server::{Asked, ERROR, Server};
use crate::client::Client;
use crate::content::Content;
use crate::operation::{Access, Caching, Cause, Disposition, FileKey, Operation, Reply, Tag};
use crate::outbox::Outbox;
use crate::smb2::Dialect;

pub(super) fn open(disposition: Disposition) -> Operation<'static> {
    Operation::Open { path: "f", access: Access::ReadWrite, disposition, caching: Caching::Durable }
}

/// A client with an open file, on a server that gives durable handles.
pub(super) fn with_file(dialect: Dialect) -> (World, FileKey) {
    let mut server = Server::default();
    server.durable = true;
    with_file_on(server, dialect)
}

/// The same, on this server.
pub(super) fn with_file_on(server: Server, dialect: Dialect) -> (World, FileKey) {
    let mut world = World::ready_on(server, dialect, 64);
    let tag = world.begin(&open(Disposition::OpenOrCreate));
    world.obey();
    match world.result(tag) {
        Some(Ok(Reply::Opened { file, .. })) => (world, file),
        other => panic!("{other:?}"),
    }
}

impl World {
    /// The connection is reset. Whether the client waits for another one.
    pub(super) fn lose(&mut self) -> bool {
        let now = self.tick();
        self.server.asked.clear();
        self.client.suspend(now, &mut self.collected)
    }

    /// Another connection; the logon on it.
    pub(super) fn resume(&mut self) -> Vec<Asked> {
        let end = Endpoint { port: 2, ..Endpoint::NOWHERE };
        let now = self.tick();
        self.out = Outbox::new();
        self.client.resume(end, 1, now, &mut self.out, &mut self.collected);
        let mut heard = Vec::new();
        loop {
            self.flush();
            let Some(asked) = self.server.asked.first() else { return heard };
            if ![Command::Negotiate, Command::SessionSetup, Command::TreeConnect].contains(&asked.command) {
                return heard;
            }
            heard.push(asked.clone());
            let answer = self.server.answer_next().unwrap();
            self.deliver(&answer);
        }
    }

    pub(super) fn answer(&mut self, asked: &Asked, status: u32) {
        let reply = match status {
            0 => self.server.answer(asked),
            status => self.server.reply(asked, status, &ERROR),
        };
        self.deliver(&reply);
    }

    /// How often the operation of a tag ended, and how the last time.
    pub(super) fn ended(&self, tag: Tag) -> (usize, Option<Result<Reply, Cause>>) {
        let mut of = self.collected.done.iter().filter(|done| done.tag == tag);
        let last = of.clone().next_back().map(|done| done.result.clone().map_err(|failure| failure.cause));
        (of.by_ref().count(), last)
    }
}

fn file_of(asked: &Asked, at: usize) -> [u8; 16] {
    asked.bytes[at..at + 16].try_into().unwrap()
}

fn has(asked: &Asked, name: &[u8]) -> bool {
    asked.bytes.windows(name.len()).any(|part| part == name)
}

#[test]
fn open_files_and_requests_go_over_to_another_session() {
    for (dialect, name) in
        [(Dialect::V302, b"DH2C"), (Dialect::V300, b"DH2C"), (Dialect::V210, b"DHnC"), (Dialect::V202, b"DHnC")]
    {
        let (mut world, file) = with_file(dialect);
        let handle = world.client.files.get(file).unwrap().id.0;
        let read = world.begin(&Operation::Read { file, offset: 4096, length: 100, keep: false });
        world.flush();
        assert!(world.lose(), "{dialect:?}");
        let logon = world.resume();
        let previous = |asked: &Asked| asked.bytes[session_setup::PREVIOUS_SESSION_ID];
        let setups = logon.iter().filter(|asked| asked.command == Command::SessionSetup);
        assert_eq!(setups.map(previous).collect::<Vec<_>>(), [7, 7]);
        let asked = world.asked();
        let [create] = &asked[..] else { panic!("{asked:?}") };
        assert!(create.command == Command::Create && has(create, name) && has(create, &handle), "{dialect:?}");
        assert!(!has(create, b"DH2Q") && !has(create, b"DHnQ"));
        assert_eq!(has(create, b"RqLs"), dialect > Dialect::V202);
        assert_eq!(world.ended(Tag::CONNECT), (0, None), "not before the file is open again");
        world.answer(create, 0);
        assert_eq!(world.ended(Tag::CONNECT), (1, Some(Ok(Reply::Nothing))));
        let asked = world.asked();
        let [again] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((again.command, again.bytes[read::OFFSET + 1]), (Command::Read, 16));
        assert_ne!(file_of(again, read::FILE_ID), handle);
        assert_eq!(file_of(again, read::FILE_ID)[0], create.id as u8, "the new handle");
        world.answer(again, 0);
        assert_eq!(world.ended(read), (1, Some(Ok(Reply::Read { bytes: 100 }))));
        let unanswered = world.collected.transactions.iter().filter(|row| row.outcome == Outcome::Unanswered);
        assert_eq!(unanswered.map(|row| row.procedure.name()).collect::<Vec<_>>(), ["READ"]);
        let counts = &world.client.durable.as_ref().unwrap().counts;
        assert_eq!((counts.granted, counts.sessions, counts.opens, counts.refused), (1, 1, 1, 0));
        assert!(counts.sent_again == 1 && counts.outage_ns > 0);
        // The file is closed under its new handle, and is not opened again after that.
        world.begin(&Operation::Close { file });
        world.obey();
        assert!(world.lose());
        world.resume();
        assert_eq!((world.asked().len(), world.ended(Tag::CONNECT).0), (0, 2));
    }
}

#[test]
fn what_is_not_durable_is_lost() {
    // The server gives none.
    let mut world = World::ready(Dialect::V302, 64);
    world.begin(&open(Disposition::OpenOrCreate));
    world.obey();
    assert!(!world.lose());
    // None was asked for.
    assert!(!World::ready(Dialect::V302, 64).lose());
    // Its lease was taken back.
    let (mut world, file) = with_file(Dialect::V302);
    let lease = world.client.files.get(file).unwrap().lease.unwrap();
    world.deliver(&Server::breaks(lease.key, lease.state, create::LEASE_READ));
    world.obey();
    assert!(!world.lose());
}

#[test]
fn an_open_on_its_way_is_asked_for_under_another_name() {
    let (mut world, _) = with_file(Dialect::V302);
    let tag = world.begin(&open(Disposition::Create));
    let first = world.asked().pop().unwrap();
    assert!(world.lose());
    world.resume();
    world.obey();
    let (count, result) = world.ended(tag);
    assert!(count == 1 && matches!(result, Some(Ok(Reply::Opened { .. }))), "{result:?}");
    let guid = |asked: &Asked| {
        let at = asked.bytes.windows(4).position(|part| part == b"DH2Q").unwrap();
        asked.bytes[at + 8 + 16..at + 8 + 32].to_vec()
    };
    // Lost again, so that the test can read the sent messages.
    let tag = world.begin(&open(Disposition::Create));
    let second = world.asked().pop().unwrap();
    assert!(world.lose());
    world.resume();
    let reopened = world.asked();
    assert_eq!(reopened.len(), 2, "both files");
    reopened.iter().for_each(|asked| world.answer(asked, 0));
    let third = world.asked().pop().unwrap();
    let disposition = |asked: &Asked| u32::from(asked.bytes[create::DISPOSITION]);
    assert_eq!(disposition(&second), create::DISPOSITION_CREATE);
    assert_eq!(disposition(&third), create::DISPOSITION_OPEN_IF, "the first sending may have created it");
    assert!(guid(&first) != guid(&second) && guid(&second) != guid(&third));
    world.answer(&third, 0);
    assert!(matches!(world.ended(tag), (1, Some(Ok(_)))));
}

/// The client cannot close the first open on the server: another lease makes the server close it.
#[test]
fn an_open_that_may_be_left_at_the_server_has_another_lease() {
    let key = |asked: &Asked| {
        let at = asked.bytes.windows(4).position(|part| part == b"RqLs").unwrap();
        asked.bytes[at + 8..at + 24].to_vec()
    };
    // If the file is also open elsewhere, another lease would break the lease of that open.
    for is_open in [false, true] {
        let (mut world, file) = with_file(Dialect::V302);
        if !is_open {
            world.begin(&Operation::Close { file });
            world.obey();
        }
        world.begin(&open(Disposition::Open));
        let mut keys = vec![key(&world.asked().pop().unwrap())];
        for _ in 0..2 {
            assert!(world.lose());
            world.resume();
            if is_open {
                let reopened = world.asked().pop().unwrap();
                world.answer(&reopened, 0);
            }
            let again = world.asked().pop().unwrap();
            keys.push(key(&again));
        }
        keys.dedup();
        assert_eq!(keys.len(), if is_open { 1 } else { 3 });
        // The file has this lease from now on.
        world.obey();
        world.begin(&open(Disposition::Open));
        assert_eq!(Some(&key(&world.asked().pop().unwrap())), keys.last());
    }
}

#[test]
fn a_close_on_its_way_ends_well() {
    for was_closed in [false, true] {
        let (mut world, file) = with_file(Dialect::V302);
        let close = world.begin(&Operation::Close { file });
        world.flush();
        assert!(world.lose());
        world.resume();
        let create = world.asked().pop().unwrap();
        let status = if was_closed { status::STATUS_OBJECT_NAME_NOT_FOUND } else { 0 };
        world.answer(&create, status);
        assert_eq!(world.ended(Tag::CONNECT), (1, Some(Ok(Reply::Nothing))));
        let asked = world.asked();
        assert_eq!(asked.len(), usize::from(!was_closed), "{asked:?}");
        asked.iter().for_each(|asked| world.answer(asked, 0));
        assert_eq!(world.ended(close), (1, Some(Ok(Reply::Nothing))));
        assert_eq!(world.client.durable.as_ref().unwrap().counts.refused, 0);
    }
}

#[test]
fn a_refused_file_fails_what_was_on_its_way() {
    let (mut world, file) = with_file(Dialect::V302);
    let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
    world.flush();
    assert!(world.lose());
    world.resume();
    let create = world.asked().pop().unwrap();
    world.answer(&create, status::STATUS_OBJECT_NAME_NOT_FOUND);
    let failure =
        world.collected.done.iter().find(|done| done.tag == Tag::CONNECT).unwrap().result.clone().unwrap_err();
    let refused = Cause::ReconnectionRefused;
    assert_eq!((failure.cause, failure.status), (refused, Some(status::STATUS_OBJECT_NAME_NOT_FOUND)));
    assert_eq!(
        failure.to_string(),
        "durable handle not reconnected (CREATE refused): STATUS_OBJECT_NAME_NOT_FOUND, CREATE"
    );
    assert!(!world.lose(), "it would be the same the next time");
    world.broken(refused);
    assert_eq!(world.ended(read), (1, Some(Err(refused))));
    // Of a name that is looked up, this status is an ordinary answer.
    let row = world.collected.transactions.iter().rfind(|row| row.procedure.name() == "CREATE").unwrap();
    assert_eq!(row.outcome, Outcome::Refused);
    let counts = &world.client.durable.as_ref().unwrap().counts;
    assert_eq!((counts.sessions, counts.opens, counts.refused), (0, 0, 1));
    let stated = "recovered opens: 0 reconnected, 1 refused (STATUS_OBJECT_NAME_NOT_FOUND 1)";
    assert!(counts.facts().iter().any(|fact| fact == stated), "{:?}", counts.facts());
}

#[test]
fn a_server_that_is_not_ready_and_lost_logons_are_followed() {
    let (mut world, file) = with_file(Dialect::V302);
    let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
    world.flush();
    assert!(world.lose());
    assert!(world.lose(), "no connection yet");
    world.resume();
    world.flush();
    assert!(world.lose(), "while the file is asked for");
    world.resume();
    let create = world.asked().pop().unwrap();
    world.answer(&create, status::STATUS_FILE_NOT_AVAILABLE);
    assert_eq!(world.ended(Tag::CONNECT), (1, Some(Err(Cause::ReconnectionRefused))));
    assert!(world.lose());
    world.resume();
    world.obey();
    assert_eq!(world.ended(read), (1, Some(Ok(Reply::Read { bytes: 100 }))));
    let counts = &world.client.durable.as_ref().unwrap().counts;
    assert_eq!((counts.sessions, counts.opens, counts.refused), (1, 1, 0));
}

#[test]
fn listings_and_copies_begin_anew() {
    let (mut world, from) = with_file(Dialect::V302);
    let list = world.begin(&Operation::List { path: "d" });
    // The directory is open, and the entries were asked for.
    let create = world.asked().pop().unwrap();
    world.answer(&create, 0);
    let copy = world.begin(&Operation::Copy { from, to: from, length: 5 });
    let mut asked = world.asked();
    assert_eq!(asked.iter().map(|asked| asked.command).collect::<Vec<_>>(), [Command::QueryDirectory, Command::Ioctl]);
    world.answer(&asked.pop().unwrap(), 0);
    assert!(world.lose());
    world.resume();
    let create = world.asked().pop().unwrap();
    world.answer(&create, 0);
    let asked = world.asked();
    let mut commands: Vec<Command> = asked.iter().map(|asked| asked.command).collect();
    commands.sort_unstable_by_key(|command| command.code());
    assert_eq!(commands, [Command::Create, Command::Ioctl], "the directory, and the name for copying");
    asked.iter().for_each(|asked| world.answer(asked, 0));
    world.obey();
    assert!(matches!(world.ended(list), (1, Some(Ok(Reply::Listed { entries: 1 })))), "{:?}", world.ended(list));
    assert!(matches!(world.ended(copy).0, 1));
}

#[test]
fn a_removal_that_was_carried_out_counts_as_done() {
    let (mut world, _) = with_file(Dialect::V302);
    let remove = world.begin(&Operation::Remove { path: "g" });
    world.flush();
    assert!(world.lose());
    world.resume();
    let create = world.asked().pop().unwrap();
    world.answer(&create, 0);
    let asked = world.asked();
    assert_eq!(asked.len(), 2, "CREATE and CLOSE");
    asked.iter().for_each(|asked| world.answer(asked, status::STATUS_OBJECT_NAME_NOT_FOUND));
    assert_eq!(world.ended(remove), (1, Some(Ok(Reply::Nothing))));
    assert_eq!(world.client.durable.as_ref().unwrap().counts.done_before, 2);
}

#[test]
fn what_waits_too_long_fails() {
    let (mut world, file) = with_file(Dialect::V302);
    let read = world.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
    world.flush();
    assert!(world.lose());
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.ended(read), (1, Some(Err(Cause::TimedOut))));
    world.resume();
    world.obey();
    assert_eq!((world.ended(read).0, world.client.outstanding()), (1, 0));
}

#[test]
fn opens_of_a_file_have_one_lease() {
    let (mut world, one) = with_file(Dialect::V302);
    let tag = world.begin(&open(Disposition::Open));
    world.obey();
    let Some(Ok(Reply::Opened { file: two, .. })) = world.result(tag) else { panic!() };
    let lease = |world: &World, file| world.client.files.get(file).unwrap().lease.unwrap();
    assert_eq!(lease(&world, one), lease(&world, two));
    let before = lease(&world, one);
    world.deliver(&Server::breaks(before.key, before.state, create::LEASE_READ | create::LEASE_HANDLE));
    world.obey();
    assert_eq!([one, two].map(|file| lease(&world, file).state), [create::LEASE_READ | create::LEASE_HANDLE; 2]);
    assert!(world.lose(), "handles are still cached");
}

/// A later operation may get the number of an operation that has ended, and would then get the responses to its remaining parts.
#[test]
fn a_write_that_needs_more_credits_than_the_next_session_has_sends_no_part_of_itself() {
    let (mut world, file) = with_file(Dialect::V302);
    let content = Arc::new(Content::new(1));
    let write = world.begin(&Operation::Write { file, offset: 0, length: (2 << 20) + 1, content: &content, key: 1 });
    assert_eq!(world.asked().len(), 3, "two requests of 16 credits, and one of one");
    assert!(world.lose());
    world.server.grants = 1;
    world.resume();
    world.obey();
    let failure = world.result(write).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.outcome), (Cause::TooFewCredits, Outcome::Unanswered));
    let writes = world.collected.transactions.iter().filter(|row| row.procedure.name() == "WRITE");
    assert_eq!(writes.map(|row| row.outcome).collect::<Vec<_>>(), [Outcome::Unanswered; 3]);
    assert_eq!(world.client.outstanding(), 0);
}
