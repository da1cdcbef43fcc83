//! Compares messages with other implementations and real captures, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod nfs3_against_nfs3_types;
mod nfs_against_tshark;
mod smb2_against_tshark;
mod smb2_captures;
mod smb2_strict;
