//! Names that hosts asked DNS servers for.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Symbol;

/// A name that a host asked for and did not learn soon: the answer came late, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameLookup {
    /// The host that asked.
    pub asker: IpAddr,
    /// The first DNS server that it asked.
    pub server: IpAddr,
    /// The name; for a reverse lookup, that of its record (`2.1.168.192.in-addr.arpa`).
    pub name: Symbol,
    /// Time of the first question, ns.
    pub first_ns: i64,
    /// Time of the last question, ns.
    pub last_ns: i64,
    /// Questions, to all DNS servers.
    pub questions: u64,
    /// The first answer of any DNS server, ns.
    pub answered_ns: Option<i64>,
    /// Whether the server that was asked first answered.
    pub is_answered_by_first: bool,
    /// When the host next opened a connection to a file server, ns.
    pub connected_ns: Option<i64>,
}

impl NameLookup {
    /// Answers after this time are late, ns: a name server that must query others needs less.
    pub const LATE_NS: i64 = 100_000_000;
}

/// A DNS server: questions, and those that it answered. A question that is sent again counts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameServer {
    /// The server.
    pub server: IpAddr,
    /// Questions that it was asked.
    pub questions: u64,
    /// Its answers.
    pub answers: u64,
}
