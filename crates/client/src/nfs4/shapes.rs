//! The compounds that the client sends: the operations of each, in order.
//!
//! Answers are read against these, and each operation has its row in transactions, as it has where the traffic is observed.
//!
//! Spec: RFC 8881 16.2

use plimsoll_model::{Procedure, Protocol};

/// The numbers of the operations of a compound.
pub(super) type Shape = &'static [u8];

/// Maximum number of operations of a compound.
pub(super) const LONGEST: usize = 5;

const ACCESS: u8 = 3;
const CLOSE: u8 = 4;
const COMMIT: u8 = 5;
pub(super) const CREATE: u8 = 6;
const DELEGRETURN: u8 = 8;
const GETATTR: u8 = 9;
pub(super) const GETFH: u8 = 10;
pub(super) const LINK: u8 = 11;
const LOCK: u8 = 12;
const LOCKU: u8 = 14;
pub(super) const LOOKUP: u8 = 15;
pub(super) const OPEN: u8 = 18;
pub(super) const PUTFH: u8 = 22;
pub(super) const PUTROOTFH: u8 = 24;
const READ: u8 = 25;
const OPEN_CONFIRM: u8 = 20;
const READDIR: u8 = 26;
const READLINK: u8 = 27;
const REMOVE: u8 = 28;
pub(super) const RENAME: u8 = 29;
pub(super) const SAVEFH: u8 = 32;
const SETATTR: u8 = 34;
const WRITE: u8 = 38;
pub(super) const SEQUENCE: u8 = 53;

/// The RPC procedure NULL, which has no compound.
pub(super) const NULL: Shape = &[];
pub(super) const EXCHANGE_ID: Shape = &[42];
pub(super) const CREATE_SESSION: Shape = &[43];
pub(super) const BIND: Shape = &[41];
pub(super) const DESTROY_SESSION: Shape = &[44];
pub(super) const DESTROY_CLIENTID: Shape = &[57];
pub(super) const RECLAIM_COMPLETE: Shape = &[SEQUENCE, 58];
/// In 4.0: SETCLIENTID, SETCLIENTID_CONFIRM and RENEW.
pub(super) const SET_CLIENT_ID: Shape = &[35];
pub(super) const CONFIRM_CLIENT_ID: Shape = &[36];
pub(super) const RENEW_LEASE: Shape = &[30];
/// Renews the lease.
pub(super) const RENEWAL: Shape = &[SEQUENCE];
pub(super) const ROOT: Shape = &[SEQUENCE, PUTROOTFH, GETFH, GETATTR];
pub(super) const LOOK_UP: Shape = &[SEQUENCE, PUTFH, LOOKUP, GETFH, GETATTR];
pub(super) const GET_ATTRIBUTES: Shape = &[SEQUENCE, PUTFH, GETATTR];
pub(super) const SET_ATTRIBUTES: Shape = &[SEQUENCE, PUTFH, SETATTR];
pub(super) const CHECK_ACCESS: Shape = &[SEQUENCE, PUTFH, ACCESS];
pub(super) const READ_LINK: Shape = &[SEQUENCE, PUTFH, READLINK];
pub(super) const READ_DIRECTORY: Shape = &[SEQUENCE, PUTFH, READDIR];
pub(super) const OPEN_NAME: Shape = &[SEQUENCE, PUTFH, OPEN, GETFH, GETATTR];
pub(super) const OPEN_HANDLE: Shape = &[SEQUENCE, PUTFH, OPEN, GETATTR];
/// In 4.0.
pub(super) const CONFIRM_OPEN: Shape = &[SEQUENCE, PUTFH, OPEN_CONFIRM];
pub(super) const RETURN_DELEGATION: Shape = &[SEQUENCE, PUTFH, DELEGRETURN];
pub(super) const FREE_STATE: Shape = &[SEQUENCE, 45];
/// TEST_STATEID.
pub(super) const TEST_STATES: Shape = &[SEQUENCE, 55];
pub(super) const CLOSE_FILE: Shape = &[SEQUENCE, PUTFH, CLOSE];
pub(super) const READ_DATA: Shape = &[SEQUENCE, PUTFH, READ];
pub(super) const WRITE_DATA: Shape = &[SEQUENCE, PUTFH, WRITE];
pub(super) const COMMIT_FILE: Shape = &[SEQUENCE, PUTFH, COMMIT];
pub(super) const MAKE: Shape = &[SEQUENCE, PUTFH, CREATE, GETFH, GETATTR];
pub(super) const REMOVE_NAME: Shape = &[SEQUENCE, PUTFH, REMOVE];
pub(super) const RENAME_NAME: Shape = &[SEQUENCE, PUTFH, SAVEFH, PUTFH, RENAME];
pub(super) const LINK_NAME: Shape = &[SEQUENCE, PUTFH, SAVEFH, PUTFH, LINK];
pub(super) const LOCK_RANGE: Shape = &[SEQUENCE, PUTFH, LOCK];
pub(super) const UNLOCK_RANGE: Shape = &[SEQUENCE, PUTFH, LOCKU];
/// From 4.2 on: COPY, CLONE, ALLOCATE, DEALLOCATE, SEEK and READ_PLUS.
pub(super) const COPY_FILE: Shape = &[SEQUENCE, PUTFH, SAVEFH, PUTFH, 60];
pub(super) const CLONE_FILE: Shape = &[SEQUENCE, PUTFH, SAVEFH, PUTFH, 71];
pub(super) const ALLOCATE_RANGE: Shape = &[SEQUENCE, PUTFH, 59];
pub(super) const DEALLOCATE_RANGE: Shape = &[SEQUENCE, PUTFH, 62];
pub(super) const SEEK_IN_FILE: Shape = &[SEQUENCE, PUTFH, 69];
pub(super) const READ_PLUS: Shape = &[SEQUENCE, PUTFH, 68];

/// Bytes of the results of [`READ_DATA`] before the data: status, tag and count; SEQUENCE; PUTFH; READ's eof and length.
pub(super) const BEFORE_DATA: usize = 12 + SEQUENCE_RESULT + 8 + 16;
/// Bytes of the result of SEQUENCE.
pub(super) const SEQUENCE_RESULT: usize = 44;

/// The operations of a compound in 4.0, which has no SEQUENCE.
pub(super) fn without_session(shape: Shape) -> Shape {
    match shape {
        [SEQUENCE, operations @ ..] => operations,
        _ => shape,
    }
}

/// The row of an operation.
pub(super) fn procedure(operation: u8) -> Procedure {
    Procedure::of(Protocol::Nfs4, operation.into())
}

/// Position of the main operation of a compound.
pub(super) fn principal(shape: Shape) -> usize {
    match shape {
        // Most calls: one operation on a file.
        [SEQUENCE, PUTFH, _] => 2,
        _ => Procedure::principal(shape.iter().map(|&operation| procedure(operation)), true).unwrap_or(0),
    }
}

/// The procedure of a call in failures: its main operation, or NULL.
pub(super) fn about(shape: Shape) -> Procedure {
    shape.get(principal(shape)).map_or(Procedure::of(Protocol::Nfs4, 0), |&operation| procedure(operation))
}

/// Whether executing the call twice differs from executing it once. The server must then cache the response.
pub(super) fn is_kept(shape: Shape) -> bool {
    const ONCE: [u8; 10] = [CLOSE, CREATE, DELEGRETURN, LINK, LOCK, LOCKU, OPEN, REMOVE, RENAME, SETATTR];
    shape.iter().any(|operation| ONCE.contains(operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_about_what_was_asked_for() {
        for (shape, name) in [
            (LOOK_UP, "LOOKUP"),
            (GET_ATTRIBUTES, "GETATTR"),
            (OPEN_NAME, "OPEN"),
            (OPEN_HANDLE, "OPEN"),
            (CLOSE_FILE, "CLOSE"),
            (RETURN_DELEGATION, "DELEGRETURN"),
            (FREE_STATE, "FREE_STATEID"),
            (TEST_STATES, "TEST_STATEID"),
            (READ_DATA, "READ"),
            (WRITE_DATA, "WRITE"),
            (MAKE, "CREATE"),
            (RENAME_NAME, "RENAME"),
            (LINK_NAME, "LINK"),
            (COPY_FILE, "COPY"),
            (CLONE_FILE, "CLONE"),
            (ALLOCATE_RANGE, "ALLOCATE"),
            (DEALLOCATE_RANGE, "DEALLOCATE"),
            (SEEK_IN_FILE, "SEEK"),
            (READ_PLUS, "READ_PLUS"),
            (RENEWAL, "SEQUENCE"),
            (RECLAIM_COMPLETE, "RECLAIM_COMPLETE"),
            (SET_CLIENT_ID, "SETCLIENTID"),
            (CONFIRM_CLIENT_ID, "SETCLIENTID_CONFIRM"),
            (RENEW_LEASE, "RENEW"),
            (CONFIRM_OPEN, "OPEN_CONFIRM"),
            (NULL, "NULL"),
        ] {
            assert_eq!(about(shape).name(), name);
            let all = shape.iter().map(|&operation| procedure(operation));
            assert_eq!(principal(shape), Procedure::principal(all, true).unwrap_or(0), "{name}");
            assert!(name == "SEQUENCE" || about(without_session(shape)).name() == name, "the same in 4.0");
            assert!(shape.len() <= LONGEST);
        }
        assert!(is_kept(OPEN_NAME) && !is_kept(READ_DATA) && !is_kept(LOOK_UP));
    }
}
