//! The commands of requests and responses.
//!
//! Spec: MS-SMB2 2.2.1.2

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $wire:literal;)*) => {
        /// The command of a request or response.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Command {
            $($(#[$doc])* $name,)*
            /// A code that the specification does not name.
            Unknown(u16),
        }

        impl Command {
            /// Every named command, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// From the number on the wire.
            #[inline]
            #[must_use]
            pub fn from_code(code: u16) -> Self {
                match code {
                    $($code => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }

            /// The number on the wire.
            #[inline]
            #[must_use]
            pub const fn code(self) -> u16 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Unknown(code) => code,
                }
            }

            /// The specification's name without its `SMB2` prefix. None for a code without a name.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($wire),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

commands! {
    /// Dialect and capabilities.
    Negotiate = 0, "NEGOTIATE";
    /// Logon.
    SessionSetup = 1, "SESSION_SETUP";
    /// Logoff.
    Logoff = 2, "LOGOFF";
    /// Connect to a share.
    TreeConnect = 3, "TREE_CONNECT";
    /// Leave a share.
    TreeDisconnect = 4, "TREE_DISCONNECT";
    /// Open or create a file, directory or pipe.
    Create = 5, "CREATE";
    /// Close it.
    Close = 6, "CLOSE";
    /// Writes back cached data.
    Flush = 7, "FLUSH";
    /// Read.
    Read = 8, "READ";
    /// Write.
    Write = 9, "WRITE";
    /// Lock or unlock byte ranges.
    Lock = 10, "LOCK";
    /// File system and device controls.
    Ioctl = 11, "IOCTL";
    /// Withdraw a request; has no response.
    Cancel = 12, "CANCEL";
    /// Are you there.
    Echo = 13, "ECHO";
    /// List a directory.
    QueryDirectory = 14, "QUERY_DIRECTORY";
    /// Wait for a change in a directory.
    ChangeNotify = 15, "CHANGE_NOTIFY";
    /// Attributes of a file, file system, security or quota.
    QueryInfo = 16, "QUERY_INFO";
    /// Change them.
    SetInfo = 17, "SET_INFO";
    /// Oplock or lease break: notification, acknowledgement, or its answer.
    OplockBreak = 18, "OPLOCK_BREAK";
    /// Server to client notification (dialect 3.1.1 with that capability).
    ServerToClientNotification = 19, "SERVER_TO_CLIENT_NOTIFICATION";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_codes_agree() {
        for code in 0..=u16::MAX {
            assert_eq!(Command::from_code(code).code(), code);
        }
        assert_eq!(Command::ALL.len(), 20);
        assert_eq!(Command::from_code(20), Command::Unknown(20));
        assert_eq!(Command::Unknown(20).name(), None);
    }
}
