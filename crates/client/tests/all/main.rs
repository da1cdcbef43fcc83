//! Clients from outside, in one program: scripted servers and real ones.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod ganesha;
mod ganesha4;
mod leases;
mod nfs;
mod nfs4;
mod samba;
