//! The load engine from outside, in one program: engine, workloads, real servers.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod engine;
#[cfg(feature = "kerberos")]
mod kerberos;
#[cfg(feature = "kerberos")]
mod nfs_kerberos;
mod workloads;
