//! Streams: from TCP segments to bytes in order, each with the time and frame that brought it.
//!
//! A [`TcpFlow`] is one direction of a connection. It hands on what it has to a [`Receiver`] in stream order: bytes, and holes where the
//! capture has none. It never waits for what cannot come: a hole is given up as soon as the receiver has
//! acknowledged it (then the capture dropped it), or when the bounded buffer is full.

mod chunk;
mod connections;
mod counts;
mod held;
mod offset;
mod receiver;
mod tcp_flow;

pub use chunk::Chunk;
pub use connections::{Connections, Slot};
pub use counts::{Counts, Sizes};
pub use receiver::Receiver;
pub use tcp_flow::TcpFlow;
