//! The observing half from outside, in one program: models, oracles, damaged and odd captures.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod anonymize;
mod asynchronous;
mod breaks;
mod client_paths;
mod closed;
mod compounds;
mod conversation;
mod decrypt;
mod delegations;
mod encapsulations;
mod hand_over;
mod hostile;
mod lease_breaks;
mod loss;
mod now;
mod oracle;
mod pairing_model;
mod portmap;
mod reconnections;
mod rpc_tls;
mod slots;
mod small_segments;
mod snaplen;
mod stream_model;
mod stuck;
mod unfinished;
mod unrecognised;
mod waiting;
