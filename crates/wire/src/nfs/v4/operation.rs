//! The names of operations.
//!
//! Spec: RFC 7531, RFC 5662, RFC 7863, RFC 8276 8.4

/// From ACCESS (3) to REMOVEXATTR (75).
const NAMES: [&str; 73] = [
    "ACCESS",
    "CLOSE",
    "COMMIT",
    "CREATE",
    "DELEGPURGE",
    "DELEGRETURN",
    "GETATTR",
    "GETFH",
    "LINK",
    "LOCK",
    "LOCKT",
    "LOCKU",
    "LOOKUP",
    "LOOKUPP",
    "NVERIFY",
    "OPEN",
    "OPENATTR",
    "OPEN_CONFIRM",
    "OPEN_DOWNGRADE",
    "PUTFH",
    "PUTPUBFH",
    "PUTROOTFH",
    "READ",
    "READDIR",
    "READLINK",
    "REMOVE",
    "RENAME",
    "RENEW",
    "RESTOREFH",
    "SAVEFH",
    "SECINFO",
    "SETATTR",
    "SETCLIENTID",
    "SETCLIENTID_CONFIRM",
    "VERIFY",
    "WRITE",
    "RELEASE_LOCKOWNER",
    "BACKCHANNEL_CTL",
    "BIND_CONN_TO_SESSION",
    "EXCHANGE_ID",
    "CREATE_SESSION",
    "DESTROY_SESSION",
    "FREE_STATEID",
    "GET_DIR_DELEGATION",
    "GETDEVICEINFO",
    "GETDEVICELIST",
    "LAYOUTCOMMIT",
    "LAYOUTGET",
    "LAYOUTRETURN",
    "SECINFO_NO_NAME",
    "SEQUENCE",
    "SET_SSV",
    "TEST_STATEID",
    "WANT_DELEGATION",
    "DESTROY_CLIENTID",
    "RECLAIM_COMPLETE",
    "ALLOCATE",
    "COPY",
    "COPY_NOTIFY",
    "DEALLOCATE",
    "IO_ADVISE",
    "LAYOUTERROR",
    "LAYOUTSTATS",
    "OFFLOAD_CANCEL",
    "OFFLOAD_STATUS",
    "READ_PLUS",
    "SEEK",
    "WRITE_SAME",
    "CLONE",
    "GETXATTR",
    "SETXATTR",
    "LISTXATTRS",
    "REMOVEXATTR",
];

/// From CB_GETATTR (3) to CB_OFFLOAD (15).
const CALLBACK_NAMES: [&str; 13] = [
    "CB_GETATTR",
    "CB_RECALL",
    "CB_LAYOUTRECALL",
    "CB_NOTIFY",
    "CB_PUSH_DELEG",
    "CB_RECALL_ANY",
    "CB_RECALLABLE_OBJ_AVAIL",
    "CB_RECALL_SLOT",
    "CB_SEQUENCE",
    "CB_WANTS_CANCELLED",
    "CB_NOTIFY_LOCK",
    "CB_NOTIFY_DEVICEID",
    "CB_OFFLOAD",
];

/// The first operation's number, forward and back.
pub(super) const FIRST: u32 = 3;
/// What a server answers to a number that it does not know.
pub(super) const ILLEGAL: u32 = 10_044;

/// The operation's name, without `OP_`.
pub fn operation_name(code: u32) -> Option<&'static str> {
    name(&NAMES, code, "ILLEGAL")
}

/// The name of an operation of CB_COMPOUND, without `OP_`.
pub fn callback_name(code: u32) -> Option<&'static str> {
    name(&CALLBACK_NAMES, code, "CB_ILLEGAL")
}

fn name(names: &[&'static str], code: u32, illegal: &'static str) -> Option<&'static str> {
    if code == ILLEGAL {
        return Some(illegal);
    }
    names.get(code.checked_sub(FIRST)? as usize).copied()
}
