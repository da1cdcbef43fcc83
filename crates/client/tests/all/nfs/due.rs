//! Calls of one operation: their due times (the first by the schedule, later ones at the answer that they waited for), their file data, and
//! repeated calls.

use std::io::IoSlice;
use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::nfs3::NfsClient;
use plimsoll_client::operation::{Access, Caching, Disposition, Ticket};
use plimsoll_client::{Arrived, Client, Events, Framing};
use plimsoll_client::{Done, Failure, FileKey, Operation, Outbox, Reply, Tag};
use plimsoll_model::{Symbol, Timeline, Transaction};

use super::script::{Server, identity, options};

#[derive(Default)]
struct Collected {
    lines: Vec<Timeline>,
    /// File data of each call, bytes.
    payload: Vec<Option<u64>>,
    done: usize,
    /// The file that was opened.
    file: Option<FileKey>,
    failed: Vec<Failure>,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.lines.push(transaction.timeline);
        self.payload.push(transaction.payload_bytes);
    }

    fn done(&mut self, done: Done) {
        self.done += 1;
        match done.result {
            Ok(Reply::Opened { file, .. }) => self.file = Some(file),
            Ok(_) => {}
            Err(failure) => self.failed.push(failure),
        }
    }

    fn data(&mut self, _: Tag, _: u64, _: &[u8]) {}

    fn entry(&mut self, _: Tag, _: &str) {}
}

/// A client, its server, and a clock that goes on by 10 ns with each event.
struct World {
    client: NfsClient,
    out: Outbox,
    collected: Collected,
    server: Server,
    now: i64,
    /// Listings that fail because an entry went meanwhile.
    entries_go: u32,
    /// Each WRITE writes half of its data.
    halves: bool,
}

impl World {
    fn connected() -> Self {
        let mut world = Self {
            client: NfsClient::new(options(), identity()),
            out: Outbox::new(),
            collected: Collected::default(),
            server: Server::default(),
            now: 1_000,
            entries_go: 0,
            halves: false,
        };
        world.client.connect(1_000, &mut world.out, &mut world.collected);
        world.obey();
        world.collected = Collected::default();
        world
    }

    fn tick(&mut self) -> i64 {
        self.now += 10;
        self.now
    }

    /// The server answers call by call, until there is none.
    fn obey(&mut self) {
        loop {
            let mut slices: Vec<IoSlice<'_>> = Vec::new();
            self.out.slices(64, &mut slices);
            slices.iter().for_each(|slice| self.server.take(slice));
            let queued = (self.out.end() - self.out.sent()) as usize;
            self.out.consume(queued);
            let given = self.tick();
            self.client.sent(0, self.out.sent(), given);
            let Some(asked) = self.server.first() else { return };
            let answer = match asked.procedure() {
                16 | 17 if self.entries_go > 0 => {
                    self.entries_go -= 1;
                    asked.refused(2)
                }
                7 if self.halves => asked.half(),
                _ => asked.fine(),
            };
            let Framing::Message { length, keep } = self.client.framing(0, &answer) else { panic!("no message") };
            let (first, last) = (self.tick(), self.tick());
            let arrived = Arrived { head: &answer[..keep], length, first, last, channel: 0 };
            self.client.message(arrived, &mut self.out, &mut self.collected);
        }
    }

    /// The timelines of an operation's calls.
    fn act(&mut self, operation: &Operation<'_>, intended: Option<i64>) -> Vec<Timeline> {
        let collected = self.tried(operation, intended);
        assert_eq!(collected.failed, []);
        collected.lines
    }

    /// All events of an operation.
    fn tried(&mut self, operation: &Operation<'_>, intended: Option<i64>) -> Collected {
        let ticket = Ticket { tag: Tag(1), intended, path: Symbol::NONE };
        let now = self.tick();
        self.client.begin(operation, ticket, now, &mut self.out, &mut self.collected);
        self.obey();
        let collected = std::mem::take(&mut self.collected);
        assert_eq!(collected.done, 1);
        collected
    }
}

#[test]
fn a_lookup_is_due_when_the_one_before_it_was_answered() {
    let lines = World::connected().act(&Operation::Access { path: "a/b/c" }, Some(7));
    assert_eq!(lines.len(), 4, "three LOOKUPs and an ACCESS");
    assert_eq!(lines[0].intended, Some(7));
    for pair in lines.windows(2) {
        assert_eq!(pair[1].intended, pair[0].response_last, "{lines:?}");
    }
    let lines = World::connected().act(&Operation::Access { path: "a/b/c" }, None);
    assert!(lines.len() == 4 && lines.iter().all(|line| line.intended.is_none()), "{lines:?}");
}

/// What a server writes is counted once, not what it was asked to write again and again.
#[test]
fn a_write_counts_the_bytes_that_the_server_wrote() {
    let mut world = World::connected();
    let (access, caching) = (Access::Write, Caching::None);
    let open = Operation::Open { path: "file", access, disposition: Disposition::Open, caching };
    let file = world.tried(&open, None).file.unwrap();
    world.halves = true;
    let content = Arc::new(Content::new(1));
    let collected = world.tried(&Operation::Write { file, offset: 0, length: 1_000, content: &content, key: 1 }, None);
    assert_eq!(collected.failed, []);
    let halves = [500, 250, 125, 63, 31, 16, 8, 4, 2, 1].map(Some);
    assert_eq!(collected.payload, halves, "1,000 bytes in all");
}

#[test]
fn a_piece_of_a_listing_that_failed_for_an_entry_that_went_is_asked_for_again() {
    for operation in [Operation::List { path: "a" }, Operation::ListNames { path: "a" }] {
        let with = |entries_go| {
            let mut world = World::connected();
            world.entries_go = entries_go;
            world.tried(&operation, Some(7))
        };
        let collected = with(2);
        assert_eq!(
            (collected.failed, collected.lines.len()),
            (vec![], 4),
            "a LOOKUP, two that failed, and one that did not"
        );
        assert_eq!(collected.lines[2].intended, collected.lines[1].response_last);
        // A server that says so for ever is not asked for ever.
        let collected = with(u32::MAX);
        assert_eq!((collected.failed[0].status, collected.lines.len()), (Some(2), 10));
    }
}
