//! What the fuzz targets share: a way from messages to the observer, what must hold of all that it
//! says, and answers made of any bytes.

mod answer;
mod conversation;
mod watch;

pub use answer::{CONTROLS, Made, STATUSES};
pub use conversation::{Conversation, exchange};
pub use watch::{Seen, Watch};
