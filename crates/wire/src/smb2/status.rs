//! Statuses of servers: NTSTATUS values, and the DOS error classes that old SMB1 clients request.
//!
//! Spec: MS-ERREF 2.3, MS-CIFS 2.2.2.4

/// The two top bits of an NTSTATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Done, or (`STATUS_PENDING`) on the way.
    Success,
    /// Done, with something to know.
    Informational,
    /// Done in part, or nothing left to do.
    Warning,
    /// Not done.
    Error,
}

impl Severity {
    /// The severity of a status.
    #[inline]
    #[must_use]
    pub const fn of(status: u32) -> Self {
        match status >> 30 {
            0 => Self::Success,
            1 => Self::Informational,
            2 => Self::Warning,
            _ => Self::Error,
        }
    }
}

macro_rules! statuses {
    ($($name:ident = $value:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($value), "`, see MS-ERREF 2.3.1.")]
            pub const $name: u32 = $value;
        )*

        /// Every status with a name here.
        pub const NAMED: &[u32] = &[$($name),*];

        /// The specification's name of an NTSTATUS that file servers return. None for other values: print the number.
        #[must_use]
        pub fn status_name(status: u32) -> Option<&'static str> {
            match status {
                $($name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

statuses! {
    STATUS_SUCCESS = 0x0000_0000;
    STATUS_PENDING = 0x0000_0103;
    STATUS_REPARSE = 0x0000_0104;
    STATUS_MORE_ENTRIES = 0x0000_0105;
    STATUS_NOT_ALL_ASSIGNED = 0x0000_0106;
    STATUS_SOME_NOT_MAPPED = 0x0000_0107;
    STATUS_OPLOCK_BREAK_IN_PROGRESS = 0x0000_0108;
    STATUS_NOTIFY_CLEANUP = 0x0000_010B;
    STATUS_NOTIFY_ENUM_DIR = 0x0000_010C;
    STATUS_OBJECT_NAME_EXISTS = 0x4000_0000;
    STATUS_BUFFER_OVERFLOW = 0x8000_0005;
    STATUS_NO_MORE_FILES = 0x8000_0006;
    STATUS_DEVICE_BUSY = 0x8000_0011;
    STATUS_INVALID_EA_NAME = 0x8000_0013;
    STATUS_EA_LIST_INCONSISTENT = 0x8000_0014;
    STATUS_NO_MORE_ENTRIES = 0x8000_001A;
    STATUS_STOPPED_ON_SYMLINK = 0x8000_002D;
    STATUS_UNSUCCESSFUL = 0xC000_0001;
    STATUS_NOT_IMPLEMENTED = 0xC000_0002;
    STATUS_INVALID_INFO_CLASS = 0xC000_0003;
    STATUS_INFO_LENGTH_MISMATCH = 0xC000_0004;
    STATUS_INVALID_HANDLE = 0xC000_0008;
    STATUS_INVALID_PARAMETER = 0xC000_000D;
    STATUS_NO_SUCH_DEVICE = 0xC000_000E;
    STATUS_NO_SUCH_FILE = 0xC000_000F;
    STATUS_INVALID_DEVICE_REQUEST = 0xC000_0010;
    STATUS_END_OF_FILE = 0xC000_0011;
    STATUS_WRONG_VOLUME = 0xC000_0012;
    STATUS_NO_MEDIA_IN_DEVICE = 0xC000_0013;
    STATUS_MORE_PROCESSING_REQUIRED = 0xC000_0016;
    STATUS_NO_MEMORY = 0xC000_0017;
    STATUS_ALREADY_COMMITTED = 0xC000_0021;
    STATUS_ACCESS_DENIED = 0xC000_0022;
    STATUS_BUFFER_TOO_SMALL = 0xC000_0023;
    STATUS_OBJECT_TYPE_MISMATCH = 0xC000_0024;
    STATUS_DISK_CORRUPT_ERROR = 0xC000_0032;
    STATUS_OBJECT_NAME_INVALID = 0xC000_0033;
    STATUS_OBJECT_NAME_NOT_FOUND = 0xC000_0034;
    STATUS_OBJECT_NAME_COLLISION = 0xC000_0035;
    STATUS_PORT_DISCONNECTED = 0xC000_0037;
    STATUS_OBJECT_PATH_INVALID = 0xC000_0039;
    STATUS_OBJECT_PATH_NOT_FOUND = 0xC000_003A;
    STATUS_OBJECT_PATH_SYNTAX_BAD = 0xC000_003B;
    STATUS_DATA_ERROR = 0xC000_003E;
    STATUS_CRC_ERROR = 0xC000_003F;
    STATUS_SHARING_VIOLATION = 0xC000_0043;
    STATUS_QUOTA_EXCEEDED = 0xC000_0044;
    STATUS_EA_TOO_LARGE = 0xC000_0050;
    STATUS_NONEXISTENT_EA_ENTRY = 0xC000_0051;
    STATUS_NO_EAS_ON_FILE = 0xC000_0052;
    STATUS_FILE_LOCK_CONFLICT = 0xC000_0054;
    STATUS_LOCK_NOT_GRANTED = 0xC000_0055;
    STATUS_DELETE_PENDING = 0xC000_0056;
    STATUS_PRIVILEGE_NOT_HELD = 0xC000_0061;
    STATUS_NO_SUCH_USER = 0xC000_0064;
    STATUS_WRONG_PASSWORD = 0xC000_006A;
    STATUS_LOGON_FAILURE = 0xC000_006D;
    STATUS_ACCOUNT_RESTRICTION = 0xC000_006E;
    STATUS_INVALID_LOGON_HOURS = 0xC000_006F;
    STATUS_INVALID_WORKSTATION = 0xC000_0070;
    STATUS_PASSWORD_EXPIRED = 0xC000_0071;
    STATUS_ACCOUNT_DISABLED = 0xC000_0072;
    STATUS_NONE_MAPPED = 0xC000_0073;
    STATUS_INVALID_ACL = 0xC000_0077;
    STATUS_INVALID_SID = 0xC000_0078;
    STATUS_INVALID_SECURITY_DESCR = 0xC000_0079;
    STATUS_RANGE_NOT_LOCKED = 0xC000_007E;
    STATUS_DISK_FULL = 0xC000_007F;
    STATUS_TOO_MANY_PAGING_FILES = 0xC000_0097;
    STATUS_INSUFFICIENT_RESOURCES = 0xC000_009A;
    STATUS_DEVICE_NOT_READY = 0xC000_00A3;
    STATUS_MEDIA_WRITE_PROTECTED = 0xC000_00A2;
    STATUS_BAD_IMPERSONATION_LEVEL = 0xC000_00A5;
    STATUS_INSTANCE_NOT_AVAILABLE = 0xC000_00AB;
    STATUS_PIPE_NOT_AVAILABLE = 0xC000_00AC;
    STATUS_INVALID_PIPE_STATE = 0xC000_00AD;
    STATUS_PIPE_BUSY = 0xC000_00AE;
    STATUS_PIPE_DISCONNECTED = 0xC000_00B0;
    STATUS_PIPE_CLOSING = 0xC000_00B1;
    STATUS_PIPE_CONNECTED = 0xC000_00B2;
    STATUS_INVALID_READ_MODE = 0xC000_00B4;
    STATUS_IO_TIMEOUT = 0xC000_00B5;
    STATUS_FILE_FORCED_CLOSED = 0xC000_00B6;
    STATUS_FILE_IS_A_DIRECTORY = 0xC000_00BA;
    STATUS_NOT_SUPPORTED = 0xC000_00BB;
    STATUS_DUPLICATE_NAME = 0xC000_00BD;
    STATUS_BAD_NETWORK_PATH = 0xC000_00BE;
    STATUS_NETWORK_BUSY = 0xC000_00BF;
    STATUS_INVALID_NETWORK_RESPONSE = 0xC000_00C3;
    STATUS_UNEXPECTED_NETWORK_ERROR = 0xC000_00C4;
    STATUS_PRINT_QUEUE_FULL = 0xC000_00C6;
    STATUS_NO_SPOOL_SPACE = 0xC000_00C7;
    STATUS_PRINT_CANCELLED = 0xC000_00C8;
    STATUS_NETWORK_NAME_DELETED = 0xC000_00C9;
    STATUS_NETWORK_ACCESS_DENIED = 0xC000_00CA;
    STATUS_BAD_DEVICE_TYPE = 0xC000_00CB;
    STATUS_BAD_NETWORK_NAME = 0xC000_00CC;
    STATUS_TOO_MANY_NAMES = 0xC000_00CD;
    STATUS_TOO_MANY_SESSIONS = 0xC000_00CE;
    STATUS_SHARING_PAUSED = 0xC000_00CF;
    STATUS_REQUEST_NOT_ACCEPTED = 0xC000_00D0;
    STATUS_NOT_SAME_DEVICE = 0xC000_00D4;
    STATUS_FILE_RENAMED = 0xC000_00D5;
    STATUS_PIPE_EMPTY = 0xC000_00D9;
    STATUS_INVALID_OPLOCK_PROTOCOL = 0xC000_00E3;
    STATUS_INTERNAL_ERROR = 0xC000_00E5;
    STATUS_UNEXPECTED_IO_ERROR = 0xC000_00E9;
    STATUS_DIRECTORY_NOT_EMPTY = 0xC000_0101;
    STATUS_FILE_CORRUPT_ERROR = 0xC000_0102;
    STATUS_NOT_A_DIRECTORY = 0xC000_0103;
    STATUS_NAME_TOO_LONG = 0xC000_0106;
    STATUS_FILES_OPEN = 0xC000_0107;
    STATUS_CONNECTION_IN_USE = 0xC000_0108;
    STATUS_TOO_MANY_OPENED_FILES = 0xC000_011F;
    STATUS_CANCELLED = 0xC000_0120;
    STATUS_CANNOT_DELETE = 0xC000_0121;
    STATUS_FILE_DELETED = 0xC000_0123;
    STATUS_FILE_CLOSED = 0xC000_0128;
    STATUS_INVALID_LEVEL = 0xC000_0148;
    STATUS_PIPE_BROKEN = 0xC000_014B;
    STATUS_TOO_MANY_LINKS = 0xC000_0265;
    STATUS_LOGON_TYPE_NOT_GRANTED = 0xC000_015B;
    STATUS_TRUSTED_RELATIONSHIP_FAILURE = 0xC000_018D;
    STATUS_FS_DRIVER_REQUIRED = 0xC000_019C;
    STATUS_INVALID_LOCK_RANGE = 0xC000_01A1;
    STATUS_LOGON_SERVER_CONFLICT = 0xC000_0132;
    STATUS_TIME_DIFFERENCE_AT_DC = 0xC000_0133;
    STATUS_USER_SESSION_DELETED = 0xC000_0203;
    STATUS_INSUFF_SERVER_RESOURCES = 0xC000_0205;
    STATUS_INVALID_BUFFER_SIZE = 0xC000_0206;
    STATUS_INVALID_ADDRESS_COMPONENT = 0xC000_0207;
    STATUS_NOT_FOUND = 0xC000_0225;
    STATUS_ACCOUNT_LOCKED_OUT = 0xC000_0234;
    STATUS_PASSWORD_MUST_CHANGE = 0xC000_0224;
    STATUS_CONNECTION_REFUSED = 0xC000_0236;
    STATUS_NETWORK_UNREACHABLE = 0xC000_023C;
    STATUS_HOST_UNREACHABLE = 0xC000_023D;
    STATUS_REQUEST_ABORTED = 0xC000_0240;
    STATUS_CONNECTION_ABORTED = 0xC000_0241;
    STATUS_BAD_COMPRESSION_BUFFER = 0xC000_0242;
    STATUS_PATH_NOT_COVERED = 0xC000_0257;
    STATUS_RETRY = 0xC000_022D;
    STATUS_NOT_A_REPARSE_POINT = 0xC000_0275;
    STATUS_IO_REPARSE_TAG_INVALID = 0xC000_0276;
    STATUS_IO_REPARSE_TAG_MISMATCH = 0xC000_0277;
    STATUS_IO_REPARSE_TAG_NOT_HANDLED = 0xC000_0279;
    STATUS_REPARSE_POINT_NOT_RESOLVED = 0xC000_0280;
    STATUS_VOLUME_DISMOUNTED = 0xC000_026E;
    STATUS_NETWORK_SESSION_EXPIRED = 0xC000_035C;
    STATUS_DOWNGRADE_DETECTED = 0xC000_0388;
    STATUS_CALLBACK_BYPASS = 0xC000_0503;
    STATUS_SERVER_UNAVAILABLE = 0xC000_0466;
    STATUS_FILE_NOT_AVAILABLE = 0xC000_0467;
    STATUS_HASH_NOT_SUPPORTED = 0xC000_A100;
    STATUS_HASH_NOT_PRESENT = 0xC000_A101;
    STATUS_INVALID_SIGNATURE = 0xC000_A000;
    STATUS_SMB_BAD_CLUSTER_DIALECT = 0xC05D_0001;
    STATUS_SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP = 0xC05D_0000;
}

/// Error class of a DOS status (SMB1 without the NT status flag).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DosClass {
    /// No error.
    Success,
    /// From the file system's core.
    Dos,
    /// From the server.
    Server,
    /// From hardware.
    Hardware,
    /// Not an SMB command.
    Command,
    /// A class that the specification does not name.
    Unknown(u8),
}

impl DosClass {
    /// From the ErrorClass byte.
    #[must_use]
    pub const fn from_code(class: u8) -> Self {
        match class {
            0x00 => Self::Success,
            0x01 => Self::Dos,
            0x02 => Self::Server,
            0x03 => Self::Hardware,
            0xFF => Self::Command,
            other => Self::Unknown(other),
        }
    }

    /// The specification's name of the class. None for a class without a name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Success => Some("SUCCESS"),
            Self::Dos => Some("ERRDOS"),
            Self::Server => Some("ERRSRV"),
            Self::Hardware => Some("ERRHRD"),
            Self::Command => Some("ERRCMD"),
            Self::Unknown(_) => None,
        }
    }
}

/// The specification's name of a DOS error: its class byte and its 16-bit code. None for other values: print the numbers.
#[must_use]
pub fn dos_error_name(class: u8, code: u16) -> Option<&'static str> {
    match DosClass::from_code(class) {
        DosClass::Success if code == 0 => Some("SUCCESS"),
        DosClass::Dos => errdos(code),
        DosClass::Server => errsrv(code),
        DosClass::Hardware => errhrd(code),
        _ => None,
    }
}

fn errdos(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0001 => "ERRbadfunc",
        0x0002 => "ERRbadfile",
        0x0003 => "ERRbadpath",
        0x0004 => "ERRnofids",
        0x0005 => "ERRnoaccess",
        0x0006 => "ERRbadfid",
        0x0007 => "ERRbadmcb",
        0x0008 => "ERRnomem",
        0x0009 => "ERRbadmem",
        0x000A => "ERRbadenv",
        0x000B => "ERRbadformat",
        0x000C => "ERRbadaccess",
        0x000D => "ERRbaddata",
        0x000F => "ERRbaddrive",
        0x0010 => "ERRremcd",
        0x0011 => "ERRdiffdevice",
        0x0012 => "ERRnofiles",
        0x001F => "ERRgeneral",
        0x0020 => "ERRbadshare",
        0x0021 => "ERRlock",
        0x0026 => "ERReof",
        0x0032 => "ERRunsup",
        0x0050 => "ERRfilexists",
        0x0057 => "ERRinvalidparam",
        0x007C => "ERRunknownlevel",
        0x009E => "ERROR_NOT_LOCKED",
        0x00E6 => "ERRbadpipe",
        0x00E7 => "ERRpipebusy",
        0x00E8 => "ERRpipeclosing",
        0x00E9 => "ERRnotconnected",
        0x00EA => "ERRmoredata",
        _ => return None,
    })
}

fn errsrv(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0001 => "ERRerror",
        0x0002 => "ERRbadpw",
        0x0003 => "ERRbadpath",
        0x0004 => "ERRaccess",
        0x0005 => "ERRinvtid",
        0x0006 => "ERRinvnetname",
        0x0007 => "ERRinvdevice",
        0x0010 => "ERRinvsess",
        0x0011 => "ERRworking",
        0x0012 => "ERRnotme",
        0x0016 => "ERRbadcmd",
        0x0031 => "ERRqfull",
        0x0032 => "ERRqtoobig",
        0x0033 => "ERRqeof",
        0x0034 => "ERRinvpfid",
        0x0040 => "ERRsmbcmd",
        0x0041 => "ERRsrverror",
        0x0043 => "ERRfilespecs",
        0x0045 => "ERRbadpermits",
        0x0047 => "ERRsetattrmode",
        0x0051 => "ERRpaused",
        0x0052 => "ERRmsgoff",
        0x0053 => "ERRnoroom",
        0x0057 => "ERRrmuns",
        0x0058 => "ERRtimeout",
        0x0059 => "ERRnoresource",
        0x005A => "ERRtoomanyuids",
        0x005B => "ERRbaduid",
        0x00E9 => "ERRnotconnected",
        0x00FA => "ERRusempx",
        0x00FB => "ERRusestd",
        0x00FC => "ERRcontmpx",
        0x08BF => "ERRaccountExpired",
        0x08C0 => "ERRbadClient",
        0x08C1 => "ERRbadLogonTime",
        0x08C2 => "ERRpasswordExpired",
        0xFFFF => "ERRnosupport",
        _ => return None,
    })
}

fn errhrd(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0013 => "ERRnowrite",
        0x0014 => "ERRbadunit",
        0x0015 => "ERRnotready",
        0x0016 => "ERRbadcmd",
        0x0017 => "ERRdata",
        0x0018 => "ERRbadreq",
        0x0019 => "ERRseek",
        0x001A => "ERRbadmedia",
        0x001B => "ERRbadsector",
        0x001C => "ERRnopaper",
        0x001D => "ERRwrite",
        0x001E => "ERRread",
        0x001F => "ERRgeneral",
        0x0020 => "ERRbadshare",
        0x0021 => "ERRlock",
        0x0022 => "ERRwrongdisk",
        0x0023 => "ERRFCBUnavail",
        0x0024 => "ERRsharebufexc",
        0x0027 => "ERRdiskfull",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_is_the_two_top_bits() {
        assert_eq!(Severity::of(STATUS_PENDING), Severity::Success);
        assert_eq!(Severity::of(STATUS_OBJECT_NAME_EXISTS), Severity::Informational);
        assert_eq!(Severity::of(STATUS_NO_MORE_FILES), Severity::Warning);
        assert_eq!(Severity::of(STATUS_ACCESS_DENIED), Severity::Error);
    }

    #[test]
    fn names_are_distinct_and_found() {
        // That no value is listed twice, the compiler checks: it would be an unreachable pattern.
        let mut names: Vec<_> = NAMED.iter().map(|status| status_name(*status).unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMED.len());
        assert!(names.iter().all(|name| name.starts_with("STATUS_")));
        assert_eq!(status_name(0xC000_0034), Some("STATUS_OBJECT_NAME_NOT_FOUND"));
        assert_eq!(status_name(0xDEAD_BEEF), None);
    }

    #[test]
    fn dos_errors_have_names_in_their_class() {
        assert_eq!(dos_error_name(0x01, 2), Some("ERRbadfile"));
        assert_eq!(dos_error_name(0x02, 2), Some("ERRbadpw"));
        assert_eq!(dos_error_name(0x03, 0x13), Some("ERRnowrite"));
        assert_eq!(dos_error_name(0x00, 0), Some("SUCCESS"));
        assert_eq!(dos_error_name(0x00, 1), None);
        assert_eq!(dos_error_name(0x77, 1), None);
        assert_eq!(DosClass::from_code(0x77).name(), None);
    }
}
