//! The kind of a request, and its name in tables.

use std::sync::LazyLock;

use plimsoll_model::{Procedure, Protocol};
use plimsoll_wire::smb2::Command;
use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::query_directory::Class;

/// Information class of directory listings, as Windows uses it.
pub(super) const ENTRIES: Class = Class::IdBothDirectory;

/// The kind of a request: it selects the parser and the handler of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// Logging on and off.
    Negotiate,
    /// A step of the logon.
    SessionSetup,
    /// A step of the logon that binds another connection to the session.
    Bind,
    /// Connecting to the share.
    TreeConnect,
    /// Checks whether the NEGOTIATE request was changed on its way (dialects before 3.1.1).
    Validate,
    /// Leaving the share.
    TreeDisconnect,
    /// Ending the session.
    Logoff,
    /// Opens the file of the operation.
    Open,
    /// Reconnects an open file after a lost connection.
    Reconnect,
    /// Opens the file of the rest of a compound.
    Create,
    /// Closes.
    Close,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Makes durable.
    Flush,
    /// Asks for size and kind of a file.
    Attributes,
    /// Asks for the size of the file system.
    Space,
    /// Requests attributes of a file, and ignores them.
    Information,
    /// The same, of the file system.
    FileSystem,
    /// Sets times.
    SetTimes,
    /// Sets the length.
    SetSize,
    /// Renames.
    Rename,
    /// Makes a hard link.
    Link,
    /// Marks for removal.
    Dispose,
    /// A piece of a listing.
    List,
    /// Lists names that match a pattern, as many as fit into a response.
    Find,
    /// Waits for a change.
    Watch,
    /// Locks or unlocks.
    Lock,
    /// Gets a resume key of an open file, for a server-side copy.
    ResumeKey,
    /// Copies in the server.
    Copy,
    /// Copies in the server, to a file that is not open for reading.
    CopyWriteOnly,
    /// A document's name for shortcuts.
    ObjectId,
    /// Previous versions.
    Snapshots,
    /// The server's addresses.
    Interfaces,
    /// An empty request.
    Echo,
    /// Takes a request back; has no answer.
    Cancel,
    /// Agrees to a break of an oplock or lease.
    BreakAcknowledgement,
}

const COUNT: usize = RequestKind::BreakAcknowledgement as usize + 1;

impl RequestKind {
    const ALL: [RequestKind; COUNT] = [
        RequestKind::Negotiate,
        RequestKind::SessionSetup,
        RequestKind::Bind,
        RequestKind::TreeConnect,
        RequestKind::Validate,
        RequestKind::TreeDisconnect,
        RequestKind::Logoff,
        RequestKind::Open,
        RequestKind::Reconnect,
        RequestKind::Create,
        RequestKind::Close,
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Flush,
        RequestKind::Attributes,
        RequestKind::Space,
        RequestKind::Information,
        RequestKind::FileSystem,
        RequestKind::SetTimes,
        RequestKind::SetSize,
        RequestKind::Rename,
        RequestKind::Link,
        RequestKind::Dispose,
        RequestKind::List,
        RequestKind::Find,
        RequestKind::Watch,
        RequestKind::Lock,
        RequestKind::ResumeKey,
        RequestKind::Copy,
        RequestKind::CopyWriteOnly,
        RequestKind::ObjectId,
        RequestKind::Snapshots,
        RequestKind::Interfaces,
        RequestKind::Echo,
        RequestKind::Cancel,
        RequestKind::BreakAcknowledgement,
    ];

    /// The row of the table.
    pub(super) fn procedure(self) -> Procedure {
        static PROCEDURES: LazyLock<[Procedure; COUNT]> = LazyLock::new(|| RequestKind::ALL.map(RequestKind::look_up));
        PROCEDURES.get(self as usize).copied().unwrap_or_else(|| self.look_up())
    }

    fn look_up(self) -> Procedure {
        let sub = |sub| Procedure::of_sub(Protocol::Smb2, self.command().code(), sub);
        match self {
            // Info type, and for SET_INFO the class below it.
            RequestKind::Attributes | RequestKind::Information => sub(1),
            RequestKind::Space | RequestKind::FileSystem => sub(2),
            RequestKind::SetTimes => sub(1 << 8 | 4),
            RequestKind::Rename => sub(1 << 8 | 10),
            RequestKind::Link => sub(1 << 8 | 11),
            RequestKind::Dispose => sub(1 << 8 | 13),
            RequestKind::SetSize => sub(1 << 8 | 20),
            RequestKind::Bind => Procedure::smb2_binding(),
            RequestKind::Validate => Procedure::smb2_ioctl(fsctl::VALIDATE_NEGOTIATE),
            RequestKind::ResumeKey => Procedure::smb2_ioctl(fsctl::REQUEST_RESUME_KEY),
            RequestKind::Copy => Procedure::smb2_ioctl(fsctl::COPY_CHUNK),
            RequestKind::CopyWriteOnly => Procedure::smb2_ioctl(fsctl::COPY_CHUNK_WRITE),
            RequestKind::ObjectId => Procedure::smb2_ioctl(fsctl::OBJECT_ID),
            RequestKind::Snapshots => Procedure::smb2_ioctl(fsctl::SNAPSHOTS),
            RequestKind::Interfaces => Procedure::smb2_ioctl(fsctl::QUERY_NETWORK_INTERFACES),
            _ => Procedure::of(Protocol::Smb2, self.command().code()),
        }
    }

    pub(super) fn command(self) -> Command {
        match self {
            RequestKind::Negotiate => Command::Negotiate,
            RequestKind::SessionSetup | RequestKind::Bind => Command::SessionSetup,
            RequestKind::TreeConnect => Command::TreeConnect,
            RequestKind::TreeDisconnect => Command::TreeDisconnect,
            RequestKind::Logoff => Command::Logoff,
            RequestKind::Open | RequestKind::Reconnect | RequestKind::Create => Command::Create,
            RequestKind::Close => Command::Close,
            RequestKind::Read => Command::Read,
            RequestKind::Write => Command::Write,
            RequestKind::Flush => Command::Flush,
            RequestKind::Attributes | RequestKind::Space | RequestKind::Information | RequestKind::FileSystem => {
                Command::QueryInfo
            }
            RequestKind::SetTimes
            | RequestKind::SetSize
            | RequestKind::Rename
            | RequestKind::Link
            | RequestKind::Dispose => Command::SetInfo,
            RequestKind::List | RequestKind::Find => Command::QueryDirectory,
            RequestKind::Watch => Command::ChangeNotify,
            RequestKind::Lock => Command::Lock,
            RequestKind::Validate
            | RequestKind::ResumeKey
            | RequestKind::Copy
            | RequestKind::CopyWriteOnly
            | RequestKind::ObjectId
            | RequestKind::Snapshots
            | RequestKind::Interfaces => Command::Ioctl,
            RequestKind::Echo => Command::Echo,
            RequestKind::Cancel => Command::Cancel,
            RequestKind::BreakAcknowledgement => Command::OplockBreak,
        }
    }

    /// A message about the connection or the session, which belongs to no share.
    pub(super) fn is_outside_of_shares(self) -> bool {
        matches!(
            self,
            RequestKind::Negotiate
                | RequestKind::SessionSetup
                | RequestKind::Bind
                | RequestKind::Logoff
                | RequestKind::Echo
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_row() {
        for (place, kind) in RequestKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.procedure()), (place, kind.look_up()));
            assert_eq!(kind.procedure().row().code, kind.command().code());
        }
        assert_eq!(RequestKind::Rename.procedure().name(), "SET_INFO RENAME");
        assert_eq!(RequestKind::Space.procedure().name(), "QUERY_INFO FILESYSTEM");
        assert_eq!(RequestKind::CopyWriteOnly.procedure().name(), "IOCTL SRV_COPYCHUNK_WRITE");
    }
}
