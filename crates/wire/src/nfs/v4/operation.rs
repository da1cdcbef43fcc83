//! The numbers of operations.
//!
//! Spec: RFC 7531, RFC 5662, RFC 7863, RFC 8276 8.4

/// The first operation's number, forward and back.
pub(super) const FIRST: u32 = 3;
/// The server's answer to an unknown operation number.
pub(super) const ILLEGAL: u32 = 10_044;
