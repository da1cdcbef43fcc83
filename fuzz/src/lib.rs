//! What the fuzz targets share: a way from messages to the observer, and what must hold of all that it says.

mod conversation;
mod watch;

pub use conversation::{Conversation, exchange};
pub use watch::{Seen, Watch};
