//! Which messages are requests, and which are responses.

/// The role of a message. Of several in one message, the last one here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Neither of the others: a server's notification or call.
    OneWay,
    /// A response, or what may be one because it cannot be read.
    Response,
    /// A client's request.
    Request,
}
