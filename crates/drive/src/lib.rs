//! The load engine: clients do what a workload says, at a rate and in phases, and what they measure goes to sinks.
//!
//! ```text
//! workload ─ scenario ─ simulated client ─ engine ─ protocol client ─ network/{tcp,memory} ⇄ server
//!                                                        └ tap
//! ```
//!
//! * a [`Scenario`](plimsoll_workload::scenario::Scenario) says what a user does next;
//! * a [`Client`](plimsoll_client::Client) turns it into messages;
//! * a [`network::Network`] moves bytes and tells the time: TCP through epoll, or memory under a virtual clock;
//! * [`connect`] finds the server of a target and makes its clients;
//! * the [`engine`] ties them: a thread a core, timers, pacing, phases.

pub mod connect;
pub mod engine;
pub mod network;
pub mod simulated_client;
pub mod tap;
