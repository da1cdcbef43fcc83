//! The NFSv3 client against a server that answers anything at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::nfs3::NfsClient;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition, Ticket};
use plimsoll_client::{Arrived, Client, Events, Framing};
use plimsoll_client::{FileKey, Operation, Outbox, Reply, Tag};
use plimsoll_model::{Outcome, Symbol, Transaction};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::script::{self, Asked, Server, identity, options};

/// Events that the client reported.
#[derive(Default)]
struct Seen {
    open: HashSet<Tag>,
    ended: HashMap<Tag, u32>,
    files: Vec<FileKey>,
    transactions: u64,
}

impl Events for Seen {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.transactions += 1;
        let line = &transaction.timeline;
        assert!(transaction.outcome != Outcome::Succeeded || line.response_last.is_some());
        assert!(line.response_first.is_none() || line.request_first.is_some(), "an answer to what was never sent");
    }

    fn done(&mut self, done: plimsoll_client::Done) {
        assert!(self.open.remove(&done.tag), "{:?} ended though it was not on its way", done.tag);
        *self.ended.entry(done.tag).or_default() += 1;
        if let Ok(Reply::Opened { file, .. }) = done.result {
            self.files.push(file);
        }
    }

    fn data(&mut self, tag: Tag, _: u64, _: &[u8]) {
        assert!(self.open.contains(&tag), "data of an operation that ended");
    }

    fn entry(&mut self, tag: Tag, _: &str) {
        assert!(self.open.contains(&tag), "a name of a listing that ended");
    }
}

struct Play {
    client: NfsClient,
    out: Outbox,
    seen: Seen,
    stream: Vec<u8>,
    server: Server,
    rng: StdRng,
    now: i64,
    over: bool,
    next: u64,
    begun: u64,
    /// One in this number of answers is invalid.
    malice: u32,
    content: Arc<Content>,
}

const PATHS: [&str; 8] = ["", "a", "a/b", "a/b/c", "x", "a/b/c/d/e", "/", "a//b"];

impl Play {
    fn new(seed: u64, content: &Arc<Content>) -> Self {
        let client = NfsClient::new(options(), identity());
        let (seen, stream, server) = (Seen::default(), Vec::new(), Server::default());
        let (mut rng, content) = (StdRng::seed_from_u64(seed), content.clone());
        let malice = [3, 30, 300, 3_000][rng.random_range(0..4)];
        let mut play = Self {
            client,
            out: Outbox::new(),
            seen,
            stream,
            server,
            rng,
            now: 1,
            over: false,
            next: 0,
            begun: 1,
            malice,
            content,
        };
        play.seen.open.insert(Tag::CONNECT);
        play.client.connect(1, &mut play.out, &mut play.seen);
        play
    }

    fn begin(&mut self) {
        let path = PATHS[self.rng.random_range(0..PATHS.len())];
        let to = PATHS[self.rng.random_range(0..PATHS.len())];
        let file = match self.seen.files.len() {
            0 => FileKey(self.rng.random()),
            many => self.seen.files[self.rng.random_range(0..many)],
        };
        let dispositions =
            [Disposition::Open, Disposition::Create, Disposition::OpenOrCreate, Disposition::OverwriteOrCreate];
        let disposition = dispositions[self.rng.random_range(0..4)];
        let (offset, length) = (self.rng.random_range(0..5_000), self.rng.random_range(0..100_000));
        let content = self.content.clone();
        let operation = match self.rng.random_range(0..24) {
            0..=3 => Operation::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None },
            4 => Operation::Close { file },
            5..=7 => Operation::Read { file, offset, length, keep: self.rng.random() },
            8..=9 => Operation::Write { file, offset, length, content: &content, key: 1 },
            10 => Operation::Flush { file },
            11 => Operation::Getattr { path },
            12 => Operation::GetattrOpen { file },
            13 => Operation::Setattr { path, mode: 0o600 },
            14 => Operation::Truncate { file, size: 7 },
            15 => Operation::List { path },
            16 => Operation::Mkdir { path },
            17 => Operation::Rmdir { path },
            18 => Operation::Remove { path },
            19 => Operation::Rename { from: path, to },
            20 => Operation::Link { from: path, to },
            21 => Operation::Symlink { path, text: to },
            22 => Operation::Readlink { path },
            _ => Operation::Watch { path },
        };
        let tag = Tag(self.next);
        self.next += 1;
        self.begun += 1;
        self.seen.open.insert(tag);
        let ticket = Ticket { tag, intended: None, path: Symbol::NONE };
        self.client.begin(&operation, ticket, self.now, &mut self.out, &mut self.seen);
    }

    /// Sends some of what waits, and hands it to the server.
    fn send(&mut self) {
        let mut slices = Vec::new();
        self.out.slices(64, &mut slices);
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
        let count = if self.rng.random() { bytes.len() } else { self.rng.random_range(0..=bytes.len()) };
        self.server.take(&bytes[..count]);
        self.out.consume(count);
        self.client.sent(0, self.out.sent(), self.now);
        self.now += 2;
    }

    /// The server answers one call or another, more or less as it should.
    fn answer(&mut self) {
        let Some(asked) = self.server.pick(&mut self.rng) else { return };
        let corrupted = self.rng.random_range(0..self.malice) == 0;
        let mut record = asked.answer(&mut self.rng, corrupted);
        match self.rng.random_range(0..if corrupted { 8 } else { 80 }) {
            0 => record = script::cut_up(&record, &mut self.rng),
            1 => record.extend_from_slice(&record.clone()),
            2 if corrupted => {
                let at = self.rng.random_range(0..record.len());
                record[at] ^= 1 << self.rng.random_range(0..8);
            }
            3 if corrupted => {
                let length = self.rng.random_range(0..record.len());
                record.truncate(length);
            }
            4..=6 => record = script::rejection(asked.xid, self.rng.random_range(0..script::REJECTIONS)),
            7 => record = script::rejection(self.rng.random(), 0),
            _ => {}
        }
        self.stream.extend_from_slice(&record);
    }

    fn receive(&mut self) {
        while !self.over {
            self.now += 1;
            match self.client.framing(0, &self.stream) {
                Framing::Need(count) => {
                    assert!(count > self.stream.len(), "it has what it needs");
                    return;
                }
                Framing::Message { length, keep } => {
                    let length = usize::try_from(length).unwrap();
                    assert!(keep <= length && length <= (17 << 20));
                    if self.stream.len() < length {
                        return;
                    }
                    let message: Vec<u8> = self.stream.drain(..length).collect();
                    let (first, last) = (self.now, self.now + 1);
                    let arrived = Arrived { head: &message[..keep], length: length as u64, first, last, channel: 0 };
                    self.client.message(arrived, &mut self.out, &mut self.seen);
                }
                Framing::Broken => self.end(Cause::Malformed),
            }
        }
    }

    fn end(&mut self, cause: Cause) {
        self.over = true;
        self.client.broken(self.now, cause, &mut self.seen);
    }

    fn step(&mut self) {
        if self.over {
            return;
        }
        match self.rng.random_range(0..10) {
            0..=2 => self.begin(),
            3..=4 => self.send(),
            5..=8 => {
                self.answer();
                self.receive();
            }
            _ if self.rng.random_range(0..10) == 0 => {
                let before = self.now - self.rng.random_range(0..20);
                self.client.overdue(before, self.now, &mut self.seen);
            }
            _ => {}
        }
        if self.client.outstanding() == 0 {
            assert!(self.seen.open.is_empty(), "nothing is on its way that could end {:?}", self.seen.open);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_action_ends_once_whatever_the_server_says(seed: u64, steps in 1_usize..400) {
        thread_local!(static CONTENT: Arc<Content> = Arc::new(Content::new(1)));
        let mut play = Play::new(seed, &CONTENT.with(Arc::clone));
        for _ in 0..steps {
            play.step();
        }
        (0..3).for_each(|_| play.begin());
        let sent = play.seen.transactions + play.client.outstanding() as u64;
        play.end(Cause::ConnectionReset);
        prop_assert!(play.seen.open.is_empty(), "never ended: {:?}", play.seen.open);
        prop_assert_eq!(play.seen.ended.len() as u64, play.begun);
        prop_assert!(play.seen.ended.values().all(|times| *times == 1));
        prop_assert_eq!(play.client.outstanding(), 0);
        prop_assert_eq!(play.seen.transactions, sent, "each call is one transaction");
    }
}

/// Answers everything as it should, until nothing is left to answer.
fn serve(play: &mut Play, answer: impl Fn(&Asked) -> Vec<u8>) {
    loop {
        let mut slices = Vec::new();
        play.out.slices(usize::MAX, &mut slices);
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
        play.server.take(&bytes);
        play.out.consume(bytes.len());
        play.client.sent(0, play.out.sent(), play.now);
        let Some(asked) = play.server.first() else { return };
        let record = answer(&asked);
        play.stream.extend_from_slice(&record);
        play.receive();
    }
}

#[test]
fn a_server_that_answers_as_it_should_is_understood() {
    let content = Arc::new(Content::new(1));
    let mut play = Play::new(1, &content);
    serve(&mut play, Asked::fine);
    (0..2_000).for_each(|_| play.begin());
    serve(&mut play, Asked::fine);
    assert!(play.seen.open.is_empty() && !play.over && play.client.unmatched_responses() == 0);
    assert!(play.seen.files.len() > 100);
}

#[test]
fn answers_in_several_fragments_late_or_made_up_are_told_apart() {
    let content = Arc::new(Content::new(1));
    let mut play = Play::new(1, &content);
    let mut rng = StdRng::seed_from_u64(1);
    let late = std::cell::RefCell::new(Vec::new());
    serve(&mut play, |asked| {
        late.borrow_mut().extend(asked.fine());
        script::cut_up(&asked.fine(), &mut rng.clone())
    });
    assert_eq!((play.seen.ended.get(&Tag::CONNECT), play.client.unmatched_responses()), (Some(&1), 0));
    play.stream.extend(late.take());
    play.stream.extend(script::rejection(rng.random(), 0));
    play.receive();
    assert_eq!((play.over, play.client.unmatched_responses()), (false, 2));
}
