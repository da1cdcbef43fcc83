//! SMB_COM codes and their names.
//! Spec: MS-CIFS 2.2.2.1

macro_rules! codes {
    ($($name:ident = $code:literal),* $(,)?) => {
        $(#[doc = concat!("SMB_COM_", stringify!($name), ".")] pub const $name: u8 = $code;)*

        /// Every code that MS-CIFS 2.2.2.1 names, with its name without the `SMB_COM_`, in ascending order.
        pub const ALL: &[(u8, &str)] = &[$(($code, stringify!($name))),*];
    };
}

codes! {
    CREATE_DIRECTORY = 0x00,
    DELETE_DIRECTORY = 0x01,
    OPEN = 0x02,
    CREATE = 0x03,
    CLOSE = 0x04,
    FLUSH = 0x05,
    DELETE = 0x06,
    RENAME = 0x07,
    QUERY_INFORMATION = 0x08,
    SET_INFORMATION = 0x09,
    READ = 0x0a,
    WRITE = 0x0b,
    LOCK_BYTE_RANGE = 0x0c,
    UNLOCK_BYTE_RANGE = 0x0d,
    CREATE_TEMPORARY = 0x0e,
    CREATE_NEW = 0x0f,
    CHECK_DIRECTORY = 0x10,
    PROCESS_EXIT = 0x11,
    SEEK = 0x12,
    LOCK_AND_READ = 0x13,
    WRITE_AND_UNLOCK = 0x14,
    READ_RAW = 0x1a,
    READ_MPX = 0x1b,
    READ_MPX_SECONDARY = 0x1c,
    WRITE_RAW = 0x1d,
    WRITE_MPX = 0x1e,
    WRITE_MPX_SECONDARY = 0x1f,
    WRITE_COMPLETE = 0x20,
    QUERY_SERVER = 0x21,
    SET_INFORMATION2 = 0x22,
    QUERY_INFORMATION2 = 0x23,
    LOCKING_ANDX = 0x24,
    TRANSACTION = 0x25,
    TRANSACTION_SECONDARY = 0x26,
    IOCTL = 0x27,
    IOCTL_SECONDARY = 0x28,
    COPY = 0x29,
    MOVE = 0x2a,
    ECHO = 0x2b,
    WRITE_AND_CLOSE = 0x2c,
    OPEN_ANDX = 0x2d,
    READ_ANDX = 0x2e,
    WRITE_ANDX = 0x2f,
    NEW_FILE_SIZE = 0x30,
    CLOSE_AND_TREE_DISC = 0x31,
    TRANSACTION2 = 0x32,
    TRANSACTION2_SECONDARY = 0x33,
    FIND_CLOSE2 = 0x34,
    FIND_NOTIFY_CLOSE = 0x35,
    TREE_CONNECT = 0x70,
    TREE_DISCONNECT = 0x71,
    NEGOTIATE = 0x72,
    SESSION_SETUP_ANDX = 0x73,
    LOGOFF_ANDX = 0x74,
    TREE_CONNECT_ANDX = 0x75,
    SECURITY_PACKAGE_ANDX = 0x7e,
    QUERY_INFORMATION_DISK = 0x80,
    SEARCH = 0x81,
    FIND = 0x82,
    FIND_UNIQUE = 0x83,
    FIND_CLOSE = 0x84,
    NT_TRANSACT = 0xa0,
    NT_TRANSACT_SECONDARY = 0xa1,
    NT_CREATE_ANDX = 0xa2,
    NT_CANCEL = 0xa4,
    NT_RENAME = 0xa5,
    OPEN_PRINT_FILE = 0xc0,
    WRITE_PRINT_FILE = 0xc1,
    CLOSE_PRINT_FILE = 0xc2,
    GET_PRINT_QUEUE = 0xc3,
    READ_BULK = 0xd8,
    WRITE_BULK = 0xd9,
    WRITE_BULK_DATA = 0xda,
    INVALID = 0xfe,
    NO_ANDX_COMMAND = 0xff,
}

/// The name without its `SMB_COM_`; `None` for a code that MS-CIFS does not name.
pub fn name(code: u8) -> Option<&'static str> {
    ALL.binary_search_by_key(&code, |entry| entry.0).ok().map(|index| ALL[index].1)
}

/// Whether the first words say which command follows in the same message (MS-CIFS 2.2.3.4).
pub fn is_andx(code: u8) -> bool {
    matches!(
        code,
        LOCKING_ANDX
            | OPEN_ANDX
            | READ_ANDX
            | WRITE_ANDX
            | SESSION_SETUP_ANDX
            | LOGOFF_ANDX
            | TREE_CONNECT_ANDX
            | NT_CREATE_ANDX
    )
}

/// Whether a request never gets an answer: NT_CANCEL causes an answer to the cancelled request instead (MS-CIFS 2.2.4.65).
pub fn is_unanswered(code: u8) -> bool {
    code == NT_CANCEL
}

/// The command that a further part belongs to (TRANSACTION_SECONDARY to TRANSACTION …): answers carry that code.
pub fn primary(code: u8) -> u8 {
    match code {
        TRANSACTION_SECONDARY => TRANSACTION,
        TRANSACTION2_SECONDARY => TRANSACTION2,
        NT_TRANSACT_SECONDARY => NT_TRANSACT,
        // The final answer to a raw or multiplexed write has a separate code (MS-CIFS 2.2.4.25.3).
        WRITE_COMPLETE => WRITE_RAW,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_so_that_the_search_finds_each() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (code, text) in ALL {
            assert_eq!(name(*code), Some(*text));
        }
        assert_eq!(ALL.len(), 75, "MS-CIFS 2.2.2.1 without its reserved rows");
        assert_eq!(name(0x15), None);
    }

    #[test]
    fn andx_commands_say_so_in_their_names() {
        for (code, text) in ALL {
            // SECURITY_PACKAGE_ANDX was never defined further (MS-CIFS 2.2.4.57): its words cannot be trusted.
            let named = text.ends_with("_ANDX") && *code != SECURITY_PACKAGE_ANDX;
            assert_eq!(is_andx(*code), named, "{text}");
        }
    }
}
