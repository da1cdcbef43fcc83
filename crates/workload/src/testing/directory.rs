//! A directory of this machine as a server.

use plimsoll_client::calls::Identity;
use plimsoll_client::local::{PathClient, Root};
use plimsoll_client::operation::{Done, Operation, Reply, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::{Client, Events};
use plimsoll_model::{Endpoint, Symbol, Transaction};

use super::{Output, Server};

/// A directory of this machine, through one path client for all slots.
#[derive(Debug)]
pub(crate) struct Directory {
    client: PathClient,
    begun: u64,
}

impl Directory {
    pub(crate) fn at(path: &std::path::Path) -> Self {
        let (nowhere, share, user) = (Endpoint::NOWHERE, Symbol::NONE, Symbol::NONE);
        let identity = Identity { client: nowhere, server: nowhere, connection: 0, share, user };
        Self { client: PathClient::new(Root::open(path).unwrap(), identity), begun: 0 }
    }
}

impl Server for Directory {
    fn act(&mut self, operation: &Operation<'_>, output: &mut Output) -> Result<Reply, String> {
        let mut collected = Collected { transactions: 0, done: None, output };
        self.begun += 1;
        let ticket = Ticket { tag: Tag(self.begun), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, 0, &mut Outbox::new(), &mut collected);
        assert_eq!(collected.transactions, 1, "{operation:?}");
        let done = collected.done.expect("it is done at once");
        assert_eq!(done.tag, ticket.tag);
        done.result.map_err(|failure| format!("{failure:?}"))
    }
}

/// A client's events for one operation.
struct Collected<'a> {
    transactions: u32,
    done: Option<Done>,
    output: &'a mut Output,
}

impl Events for Collected<'_> {
    fn transaction(&mut self, _: Option<Tag>, _: &mut Transaction) {
        self.transactions += 1;
    }

    fn done(&mut self, done: Done) {
        assert!(self.done.replace(done).is_none());
    }

    fn data(&mut self, _: Tag, offset: u64, piece: &[u8]) {
        self.output.data.push((offset, piece.to_vec()));
    }

    fn entry(&mut self, _: Tag, name: &str) {
        self.output.names.push(name.to_owned());
    }
}
