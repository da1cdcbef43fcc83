//! A client that does the same again and again takes no memory for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::IoSlice;
use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::nfs3::NfsClient;
use plimsoll_client::operation::{Access, Caching, Disposition, Ticket};
use plimsoll_client::{Arrived, Client, Events, Framing};
use plimsoll_client::{Done, FileKey, Operation, Outbox, Reply, Tag};
use plimsoll_model::{Symbol, Transaction};
use plimsoll_wire::rpc;

use super::script::{Server, identity, options};

/// The system's memory, counting how often this thread asks for some.
struct Counting;

thread_local!(static ASKED: Cell<u64> = const { Cell::new(0) });

// SAFETY: everything is passed on as it came.
#[allow(unsafe_code, reason = "an allocator that counts")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting;

#[derive(Default)]
struct Collected {
    file: Option<FileKey>,
    done: u64,
    failed: u64,
    transactions: u64,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, _: &mut Transaction) {
        self.transactions += 1;
    }

    fn done(&mut self, done: Done) {
        self.done += 1;
        match done.result {
            Ok(Reply::Opened { file, .. }) => self.file = Some(file),
            Ok(_) => {}
            Err(_) => self.failed += 1,
        }
    }

    fn data(&mut self, _: Tag, _: u64, _: &[u8]) {}

    fn entry(&mut self, _: Tag, _: &str) {}
}

/// A client, and the answer that its kind of call gets.
struct Loop {
    client: NfsClient,
    out: Outbox,
    collected: Collected,
    answer: Vec<u8>,
}

impl Loop {
    /// Does an operation, and answers its one call with `answer`, but for the xid.
    fn repeat(&mut self, operation: &Operation<'_>) {
        let ticket = Ticket { tag: Tag(1), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, 1, &mut self.out, &mut self.collected);
        self.reply();
    }

    fn reply(&mut self) {
        let xid = rpc::Call::new(&self.out.patch(0)[4..]).unwrap().xid();
        self.answer[4..8].copy_from_slice(&xid.to_be_bytes());
        let queued = (self.out.end() - self.out.sent()) as usize;
        self.out.consume(queued);
        self.client.sent(0, self.out.sent(), 2);
        let Framing::Message { length, keep } = self.client.framing(0, &self.answer) else { panic!("no message") };
        let arrived = Arrived { head: &self.answer[..keep], length, first: 4, last: 5, channel: 0 };
        self.client.message(arrived, &mut self.out, &mut self.collected);
    }

    /// An answer of the kind that the call in the outbox asks for.
    fn learn(&mut self) {
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        self.out.slices(64, &mut slices);
        let mut server = Server::default();
        slices.iter().for_each(|slice| server.take(slice));
        self.answer = server.first().unwrap().fine();
    }

    /// Begins an operation, and learns the answer of its call from it.
    fn first(&mut self, operation: &Operation<'_>) {
        let ticket = Ticket { tag: Tag(1), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, 1, &mut self.out, &mut self.collected);
        self.learn();
        self.reply();
    }
}

#[test]
fn what_was_done_before_is_done_again_without_taking_memory() {
    let (out, collected, answer) = (Outbox::new(), Collected::default(), Vec::new());
    let mut calls = Loop { client: NfsClient::new(options(), identity()), out, collected, answer };
    calls.client.connect(1, &mut calls.out, &mut calls.collected);
    calls.learn();
    calls.reply();
    let (access, caching) = (Access::Read, Caching::None);
    calls.first(&Operation::Open { path: "file", access, disposition: Disposition::Open, caching });
    let file = calls.collected.file.unwrap();
    let content = Arc::new(Content::new(1));
    let operations = [
        Operation::Getattr { path: "file" },
        Operation::GetattrOpen { file },
        Operation::Read { file, offset: 0, length: 1024, keep: false },
        Operation::Read { file, offset: 0, length: 1024, keep: true },
        Operation::Write { file, offset: 0, length: 1024, content: &content, key: 1 },
        Operation::Flush { file },
        Operation::Access { path: "file" },
        Operation::Remove { path: "other" },
    ];
    for operation in operations {
        calls.first(&operation);
        // The lists grow to their size.
        (0..10).for_each(|_| calls.repeat(&operation));
        let (before, done) = (ASKED.get(), calls.collected.done);
        (0..1_000).for_each(|_| calls.repeat(&operation));
        let asked = ASKED.get() - before;
        assert_eq!((calls.collected.done - done, calls.collected.failed), (1_000, 0), "{operation:?}");
        assert_eq!(asked, 0, "{operation:?}");
    }
    assert_eq!(calls.collected.transactions, calls.collected.done);
}
