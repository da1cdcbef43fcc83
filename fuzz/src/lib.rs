//! Common parts of the fuzz targets: paths from messages and tunnels to the observer, invariants of its results, and answers made of any
//! bytes.

mod answer;
mod conversation;
mod frames;
mod tunnel;
mod watch;

pub use answer::{CONTROLS, Made, STATUSES};
pub use conversation::{Conversation, MESSAGES_MAX, exchange};
pub use frames::{RawFrame, raw_frames};
pub use tunnel::{Carrier, tunnel};
pub use watch::{Seen, Watch};
