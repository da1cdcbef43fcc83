//! The scripted, faulty and real servers themselves, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod faulty;
mod ganesha;
mod samba;
mod scripted;
mod wire;
