//! A directory of this machine.

use std::net::SocketAddr;

use plimsoll_client::local::{PathClient, Root};
use plimsoll_client::{Client, Composed};
use plimsoll_model::Symbol;

use super::Connector;
use crate::engine::{ConnectionInfo, ServerAccess};

/// A directory of this machine: a file system that is mounted there.
#[derive(Debug)]
pub struct PathServer {
    /// The directory.
    pub root: Root,
    /// Its path in transactions.
    pub share: Symbol,
    /// The user in transactions.
    pub user: Symbol,
}

impl ServerAccess for PathServer {
    /// None: clients make blocking calls.
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        Box::new(Composed::new(PathClient::new(self.root.clone(), info.identity(self.share, self.user))))
    }
}

impl Connector for PathServer {
    fn facts(&self) -> Vec<String> {
        vec!["accessed through the operating system".to_owned()]
    }
}
