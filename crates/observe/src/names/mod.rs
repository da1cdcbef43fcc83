//! Names: the objects of handles and ids, learnt from the traffic.

mod handles;
mod hosts;
mod hosts_file;
mod in_order;
mod roots;
mod seeded;
mod smb2;

pub use handles::{Handles, Named, Object};
pub use hosts::learn as learn_hosts;
pub use hosts_file::HostsFile;
pub use smb2::{Opened, Origin, Smb2Names};
