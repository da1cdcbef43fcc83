//! The DOS error classes and codes that old SMB1 clients request instead of NTSTATUS values.
//!
//! Spec: MS-CIFS 2.2.2.4

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
