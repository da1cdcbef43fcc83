//! Streams: from TCP segments to bytes in order, each with its arrival time and frame.
//!
//! A [`TcpFlow`] is one direction of a connection. It passes its data to a [`Receiver`] in stream order: bytes, and holes where the
//! capture has none. It does not wait for lost data: it gives up a hole as soon as the receiver has acknowledged it (then the capture
//! dropped it), or when the bounded buffer is full.

mod budget;
mod chunk;
mod connections;
mod counts;
mod given_up;
mod held;
mod offset;
mod receiver;
mod tcp_flow;

pub use budget::HoldBudget;
pub use chunk::Chunk;
pub(crate) use connections::packable;
pub use connections::{Connections, Over, PACKINGS, Packable, Slot};
pub use counts::{Counts, Sizes};
pub use receiver::Receiver;
pub use tcp_flow::TcpFlow;
