//! For tests only: builds captures and the messages in them, so that a test states what went over the wire and not
//! which bytes that makes.
//!
//! - [`Traffic`] collects frames, with the clock, link type, VLAN tags and snaplen that the test sets, and writes a
//!   pcap file of them.
//! - [`Tcp`] keeps the sequence numbers of a connection right. It makes [`Segment`]s; a test sends one now, later
//!   (reordered), twice (retransmitted) or not at all (dropped).
//! - [`smb1`], [`smb2`], [`rpc`] and [`nbss()`] build messages, minimal but valid; [`nfs4`] reads NFSv4 calls and builds their results.
//! - [`browser`] is Chromium without a network, for pages.
//! - [`heap`] counts the memory of a test program.
//! - [`command`] runs programs within a time limit, and keeps what they say.
//! - [`system_calls`] takes the newer ones away, as an older kernel would.
//! - [`terminal`] runs programs in a terminal of a given width, [`tmux`] a shell in a terminal that people use.
//! - [`namespace`] makes network namespaces, and [`wire`] is a bad network between two of them, whose log is the truth about each packet.
//! - [`replay`] sends a capture through an interface again and again, at a steady rate.
//! - [`Random`] draws numbers, and [`transaction()`] makes a transaction, the same ones on every machine.
//! - [`skip()`] says why a test does not go on, and [`shared_capture`] finds a published capture or skips.
//! - [`servers`] starts real servers on loopback, and made-up ones that answer when and what a test says.
//!
//! Checksums are left 0: nothing under test looks at them, and offload leaves captures so too.

pub mod browser;
pub mod command;
mod frame;
pub mod heap;
mod ip;
mod messages;
pub mod namespace;
mod random;
pub mod replay;
pub mod servers;
mod skip;
pub mod system_calls;
mod tcp;
pub mod terminal;
pub mod tmux;
mod traffic;
mod transaction;
pub mod wire;

pub use frame::{Frame, Link, pcap, pcap_big_endian_micros};
pub use messages::{nbss, nfs4, rpc, smb1, smb2};
pub use random::Random;
pub use skip::{shared_capture, shared_captures, skip, workspace};
pub use tcp::{Segment, Side, Tcp};
pub use traffic::Traffic;
pub use transaction::transaction;
