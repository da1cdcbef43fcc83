//! Common parts of the fuzz targets: paths from messages and tunnels to the observer, invariants of its results, answers made of any
//! bytes, and an NFSv4 client with a scripted server.

mod answer;
mod conversation;
mod frames;
mod nfs4_server;
mod tunnel;
mod watch;

pub use answer::{CONTROLS, Made, STATUSES};
pub use conversation::{Conversation, MESSAGES_MAX, exchange};
pub use frames::{RawFrame, raw_frames};
pub use nfs4_server::Nfs4Server;
pub use tunnel::{Carrier, tunnel};
pub use watch::{Seen, Watch};
