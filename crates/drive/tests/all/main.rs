//! The driving half from outside, in one program: engine, clients, workloads, real servers.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod engine;
mod ganesha;
#[cfg(feature = "kerberos")]
mod kerberos;
mod leases;
mod nfs;
mod samba;
mod workloads;
