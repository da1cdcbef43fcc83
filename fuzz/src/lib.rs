//! What the fuzz targets share: ways from messages and from tunnels to the observer, what must hold of all that it
//! says, and answers made of any bytes.

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
