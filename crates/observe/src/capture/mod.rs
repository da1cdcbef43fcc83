//! Reads capture files as packets with capture times.
//!
//! [`Captures`] reads pcap, pcapng, snoop, NetXRay 2 and NetMon 2, plain or compressed with gzip or zstd, from files or a folder of
//! files, in the order of their first packets, or from standard input. It returns borrowed [`Frame`]s in the order of their times (see
//! `time_order.rs`). Only the read itself copies bytes (a file that can be mapped safely is not copied), and memory use does not grow with
//! the capture.
//! [`ClockEstimate`] estimates the resolution of the capture's clock.
//!
//! Damage in a capture is counted, see [`CaptureAnomalies`]; only damage that makes a file useless from its first packet on is an error.

mod ahead;
mod anomalies;
mod batch;
mod byte_window;
mod bytes;
mod captures;
mod carried;
mod clock;
mod downtimes;
mod error;
mod folder;
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
pub(crate) mod pcapng;
mod plain;
mod reading;
mod resolution;
mod snoop;
mod stop;
#[cfg(test)]
mod tests;
mod time_order;
#[cfg_attr(not(unix), path = "waiting/blocking.rs")]
mod waiting;

pub use anomalies::CaptureAnomalies;
pub use batch::Batch;
pub use captures::{Captures, Next, Progress};
pub use carried::Carried;
pub use clock::{ClockEstimate, Granularity};
pub use downtimes::{Downtimes, Hole};
pub use error::CaptureError;
pub use folder::capture_files;
pub use format::{FileFormat, Format};
pub use frame::{Frame, MAX_PACKET_BYTES};
pub use input::{Compression, Input};
pub use link::LinkType;
pub use reading::read_in_thread;
pub use stop::StopReading;
pub use time_order::DISORDER_MAX_NS;
