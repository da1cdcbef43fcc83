//! The remote ends of connections in memory.

use std::io::ErrorKind;

/// The remote end of a connection.
pub trait Server: Send {
    /// Bytes arrived at `at`. Replies are added to `replies`.
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>);
    /// How many bytes it takes at `at`; where that is less than the client has, the client may try again at the instant
    /// that is returned with it.
    fn room(&mut self, at: i64) -> (usize, i64) {
        (usize::MAX, at)
    }
}

impl<F: FnMut(i64, &[u8], &mut Vec<Reply>) + Send> Server for F {
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
        self(at, bytes, replies);
    }
}

/// Something that reaches the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// When.
    pub at: i64,
    /// What.
    pub what: Delivery,
}

/// An event at a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Bytes.
    Bytes(Vec<u8>),
    /// The end: the server closed the connection.
    Close,
    /// A reset.
    Reset,
}

/// The result of an attempt to connect.
pub enum Accept {
    /// Fails with this error after this time, ns.
    Refuse(ErrorKind, i64),
    /// Nothing ever comes back.
    Silence,
    /// Succeeds after this time, ns.
    Serve(Box<dyn Server>, i64),
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Accept::Refuse(..) => "Refuse",
            Accept::Silence => "Silence",
            Accept::Serve(..) => "Serve",
        })
    }
}
