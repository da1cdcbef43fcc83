//! The numbers of the operations.
//!
//! Spec: RFC 8881 17, RFC 7862 13

pub(super) const SETATTR: u32 = 34;
pub(super) const SEQUENCE: u32 = 53;
pub(super) const EXCHANGE_ID: u32 = 42;
/// OP_ILLEGAL, as the results name an operation that does not exist.
pub(super) const ILLEGAL: u32 = 10_044;
pub(super) const CREATE_SESSION: u32 = 43;
/// The last operation of 4.1, and of 4.2 with extended attributes (RFC 8276).
const LAST: [u32; 2] = [58, 75];

/// Whether a minor version has an operation, implemented or not.
pub(super) fn exists(code: u32, minor: u32) -> bool {
    let last = if minor == 1 { LAST[0] } else { LAST[1] };
    (3..=last).contains(&code)
}

/// Operations that may stand alone: EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION, DESTROY_SESSION, DESTROY_CLIENTID.
pub(super) fn needs_no_session(code: u32) -> bool {
    matches!(code, 41 | EXCHANGE_ID | CREATE_SESSION | 44 | 57)
}

/// Whether an operation changes files or state.
pub(super) fn changes(code: u32) -> bool {
    const OTHERS: [u32; 19] = [4, 6, 8, 11, 12, 14, 18, 21, 28, 29, 38, 44, 45, 57, 58, 59, 60, 62, 71];
    matches!(code, SETATTR | EXCHANGE_ID | CREATE_SESSION) || OTHERS.contains(&code)
}
