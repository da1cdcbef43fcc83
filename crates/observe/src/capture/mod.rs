//! Capture files become packets with the time at which each was captured.
//!
//! [`Captures`] reads pcap, pcapng, snoop, NetXRay 2 and NetMon 2, plain or packed with gzip or zstd, from files in
//! the given order or from standard input, and gives out one borrowed [`Frame`] after the other, in the order of their times within a small
//! window (see `window.rs`). Nothing is copied but by the read itself (a file that can be mapped safely is not even that), and the
//! memory taken does not grow with the capture. [`ClockEstimate`] tells how fine the capture's clock was.
//!
//! What is wrong with a capture is counted, see [`CaptureAnomalies`]; only what makes a file useless from its first
//! packet on is an error.

mod ahead;
mod anomalies;
mod batch;
mod bytes;
mod captures;
mod carried;
mod clock;
mod error;
mod format;
mod frame;
mod input;
#[cfg(target_os = "linux")]
pub mod interface;
#[cfg_attr(not(target_os = "linux"), path = "lease/absent.rs")]
mod lease;
mod link;
mod located;
mod netmon;
mod netxray;
mod order;
mod ordered;
mod parser;
mod pcap;
mod pcapng;
mod plain;
mod resolution;
mod snoop;
mod source;
mod stop;
#[cfg(test)]
mod tests;
#[cfg_attr(not(unix), path = "waiting/blocking.rs")]
mod waiting;
mod window;

pub use anomalies::CaptureAnomalies;
pub use batch::Batch;
pub use captures::{Captures, Next, Progress};
pub use carried::Carried;
pub use clock::{ClockEstimate, Granularity};
pub use error::CaptureError;
pub use format::{FileFormat, Format};
pub use frame::{Frame, MAX_PACKET_BYTES};
pub use input::{Compression, Input};
pub use link::LinkType;
pub use stop::StopReading;
