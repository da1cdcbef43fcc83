//! A client, a clock, and the messages between the client and the answering side.

use std::sync::Arc;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::operation::{Access, Caching, Cause, Disposition, Failure, Ticket};
use plimsoll_client::{Arrived, Client, Done, Events, FileKey, Framing, Operation, Outbox, Reply, Tag};
use plimsoll_model::{Endpoint, Outcome, Symbol, Transaction};
use plimsoll_testkit::nfs4::{self, Asked};
use plimsoll_wire::rpc::Caller;

use crate::nfs::script::{identity, record};

/// The timeout of an operation, ns.
const TIMEOUT: i64 = 40_000_000_000;

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) rows: Vec<Transaction>,
    pub(crate) done: Vec<Done>,
    pub(crate) data: Vec<(u64, Vec<u8>)>,
}

impl Events for Seen {
    fn transaction(&mut self, _: Option<Tag>, transaction: &mut Transaction) {
        self.rows.push(transaction.clone());
    }

    fn done(&mut self, done: Done) {
        self.done.push(done);
    }

    fn data(&mut self, _: Tag, offset: u64, piece: &[u8]) {
        self.data.push((offset, piece.to_vec()));
    }

    fn entry(&mut self, _: Tag, _: &str) {}
}

pub(crate) struct Play {
    pub(crate) client: Nfs4Client,
    pub(crate) out: Outbox,
    pub(crate) seen: Seen,
    pub(crate) now: i64,
    pub(crate) calls: Vec<Asked>,
    /// Calls that came in all.
    asked: usize,
    connections: u32,
    /// A file that is open.
    pub(crate) file: Option<FileKey>,
    /// Answers to calls of the server.
    pub(crate) replies: Vec<Vec<u8>>,
}

impl Play {
    /// A client with a session.
    pub(crate) fn connected() -> Self {
        Self::connected_in(1)
    }

    /// A client that is connected, in a minor version.
    pub(crate) fn connected_in(minor: u32) -> Self {
        Self::connected_with(Nfs4Options::new("/", minor, &Caller::Nobody).unwrap().into())
    }

    /// The same with these options.
    pub(crate) fn connected_with(options: Arc<Nfs4Options>) -> Self {
        let mut play = Self::of(Nfs4Client::new(options, identity(), Some("one")));
        play.connect();
        play.serve();
        assert!(matches!(play.done(Tag::CONNECT), Some(Ok(Reply::Nothing))));
        play
    }

    /// A client that has not connected.
    pub(crate) fn of(client: Nfs4Client) -> Self {
        let (calls, replies) = (Vec::new(), Vec::new());
        let (out, seen, asked, connections) = (Outbox::new(), Seen::default(), 0, 0);
        Self { client, out, seen, now: 1, calls, asked, connections, file: None, replies }
    }

    pub(crate) fn connect(&mut self) {
        self.client.connect(self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// What became of an operation; it ended at most once.
    pub(crate) fn done(&self, tag: Tag) -> Option<Result<Reply, Failure>> {
        let mut ends = self.seen.done.iter().filter(|done| done.tag == tag);
        let end = ends.next();
        assert!(ends.next().is_none(), "{tag:?} ended twice");
        end.map(|done| done.result.clone())
    }

    pub(crate) fn begin(&mut self, tag: u64, operation: &Operation<'_>) {
        let ticket = Ticket { tag: Tag(tag), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// Delivers the client's messages to the server.
    pub(crate) fn receive(&mut self) {
        self.now += 10;
        let mut slices = Vec::new();
        self.out.slices(1_024, &mut slices);
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
        self.out.consume(bytes.len());
        let (calls, replies) = nfs4::sent(&bytes);
        self.client.sent(0, self.out.sent(), self.now);
        self.asked += calls.len();
        self.calls.extend(calls);
        self.replies.extend(replies);
    }

    /// Gives the client a record; false where it does not take it for one.
    pub(crate) fn feed(&mut self, record: &[u8]) -> bool {
        self.now += 10;
        match self.client.framing(0, record) {
            Framing::Message { length, keep } if length as usize == record.len() => {
                let arrived =
                    Arrived { head: &record[..keep], length, first: self.now, last: self.now + 1, channel: 0 };
                self.client.message(arrived, &mut self.out, &mut self.seen);
                self.receive();
                true
            }
            _ => {
                self.client.broken(self.now, Cause::Malformed, &mut self.seen);
                false
            }
        }
    }

    pub(crate) fn answer(&mut self, call: &Asked, results: &[u8]) {
        self.feed(&record(call.xid, results));
    }

    /// Answers everything as it should be, until nothing is asked any more.
    pub(crate) fn serve(&mut self) {
        self.receive();
        while let Some(call) = (!self.calls.is_empty()).then(|| self.calls.remove(0)) {
            let results = call.fine();
            self.answer(&call, &results);
        }
    }

    /// The connection is lost; true where the client goes on over another one.
    pub(crate) fn lose(&mut self) -> bool {
        self.now += 10;
        self.calls.clear();
        let kept = self.client.suspend(self.now, &mut self.seen);
        if !kept {
            self.client.broken(self.now, Cause::ConnectionReset, &mut self.seen);
        }
        kept
    }

    /// Gives the client another connection.
    pub(crate) fn rejoin(&mut self) {
        self.now += 1_000_000_000;
        self.out = Outbox::new();
        self.connections += 1;
        let local = Endpoint { port: 2 + self.connections as u16, ..identity().client };
        self.client.resume(local, self.connections, self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// How often [`Tag::CONNECT`] succeeded.
    pub(crate) fn connected_again(&self) -> usize {
        self.seen.done.iter().filter(|done| done.tag == Tag::CONNECT && done.result.is_ok()).count() - 1
    }

    /// Time passes until the client wakes by itself.
    pub(crate) fn wake(&mut self) {
        self.now = self.client.wakes_at();
        self.client.wake(self.now, &mut self.out, &mut self.seen);
        self.receive();
    }

    /// Time passes until everything that has no answer is overdue.
    pub(crate) fn time_out(&mut self) {
        self.now += TIMEOUT;
        self.client.overdue(self.now - TIMEOUT + 1, self.now, &mut self.seen);
        self.receive();
    }

    pub(crate) fn open(&mut self) -> FileKey {
        let (access, caching) = (Access::ReadWrite, Caching::None);
        let open = Operation::Open { path: "file", access, disposition: Disposition::Open, caching };
        self.begin(1, &open);
        self.serve();
        match self.done(Tag(1)) {
            Some(Ok(Reply::Opened { file, size: Some(1_000) })) => file,
            other => panic!("{other:?}"),
        }
    }

    /// Answers the call that came last as it should be.
    pub(crate) fn serve_last(&mut self) {
        let call = self.calls.pop().unwrap();
        self.answer(&call, &call.fine());
    }

    /// Each call has one row that is counted, an operation that succeeded its time.
    pub(crate) fn check_rows(&self, what: &str) {
        let counted = self.seen.rows.iter().filter(|row| row.counted).count();
        assert_eq!(counted, self.asked, "{what}: rows and calls");
        for row in &self.seen.rows {
            let line = &row.timeline;
            assert!(row.outcome != Outcome::Succeeded || line.response_last.is_some(), "{what}: {row:?}");
            assert!(line.response_first.is_none() || line.request_first.is_some(), "{what}: {row:?}");
        }
    }
}
