//! The passive half: packet captures become transactions.
//!
//! ```text
//! capture → packet → stream → message → pairing → Transaction → filter
//! ```

mod account;
#[cfg(feature = "anonymize")]
pub mod anonymize;
pub mod capture;
mod connection;
mod connection_context;
pub mod decrypt;
pub mod filter;
mod hand_over;
pub mod message;
mod missing;
mod name_lookups;
mod named_services;
pub mod names;
mod observer;
pub mod output_thread;
pub mod packet;
pub mod pairing;
mod recent;
mod shared_state;
pub mod stream;
mod thread_queue;
mod ties;
mod time_gate;
pub mod tracer;

pub use named_services::{NamedService, NamedServices};
pub use observer::{BoxedObserver, HandOverError, Observed, Observer};
pub use pairing::{status_name, statuses_named};
