//! Function codes inside TRANSACTION, TRANSACTION2 and NT_TRANSACT.
//! Spec: MS-CIFS 2.2.2.2, MS-SMB 2.2.2.2

macro_rules! codes {
    ($(#[$doc:meta])* $module:ident, $prefix:literal, $($name:ident = $code:literal),* $(,)?) => {
        $(#[$doc])*
        pub mod $module {
            $(#[doc = concat!($prefix, stringify!($name), ".")] pub const $name: u16 = $code;)*
        }
    };
}

codes! {
    /// First setup word of a TRANSACTION on a named pipe (its name begins with `\PIPE\`).
    pipe, "TRANS_",
    SET_NMPIPE_STATE = 0x0001,
    RAW_READ_NMPIPE = 0x0011,
    QUERY_NMPIPE_STATE = 0x0021,
    QUERY_NMPIPE_INFO = 0x0022,
    PEEK_NMPIPE = 0x0023,
    TRANSACT_NMPIPE = 0x0026,
    RAW_WRITE_NMPIPE = 0x0031,
    READ_NMPIPE = 0x0036,
    WRITE_NMPIPE = 0x0037,
    WAIT_NMPIPE = 0x0053,
    CALL_NMPIPE = 0x0054,
}

codes! {
    /// First setup word of a TRANSACTION on a mailslot (its name begins with `\MAILSLOT\`).
    mailslot, "TRANS_",
    MAILSLOT_WRITE = 0x0001,
}

codes! {
    /// First setup word of a TRANSACTION2.
    trans2, "TRANS2_",
    OPEN2 = 0x0000,
    FIND_FIRST2 = 0x0001,
    FIND_NEXT2 = 0x0002,
    QUERY_FS_INFORMATION = 0x0003,
    SET_FS_INFORMATION = 0x0004,
    QUERY_PATH_INFORMATION = 0x0005,
    SET_PATH_INFORMATION = 0x0006,
    QUERY_FILE_INFORMATION = 0x0007,
    SET_FILE_INFORMATION = 0x0008,
    FSCTL = 0x0009,
    IOCTL2 = 0x000a,
    FIND_NOTIFY_FIRST = 0x000b,
    FIND_NOTIFY_NEXT = 0x000c,
    CREATE_DIRECTORY = 0x000d,
    SESSION_SETUP = 0x000e,
    GET_DFS_REFERRAL = 0x0010,
    REPORT_DFS_INCONSISTENCY = 0x0011,
}

codes! {
    /// Function of an NT_TRANSACT.
    nt, "NT_TRANSACT_",
    CREATE = 0x0001,
    IOCTL = 0x0002,
    SET_SECURITY_DESC = 0x0003,
    NOTIFY_CHANGE = 0x0004,
    RENAME = 0x0005,
    QUERY_SECURITY_DESC = 0x0006,
    GET_USER_QUOTA = 0x0007,
    SET_USER_QUOTA = 0x0008,
    CREATE2 = 0x0009,
}
