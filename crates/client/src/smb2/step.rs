//! What a request is for, and what it is called in tables.

use std::sync::LazyLock;

use plimsoll_model::{Procedure, Protocol};
use plimsoll_wire::smb2::Command;
use plimsoll_wire::smb2::ioctl::fsctl;

/// What a request is for: how its answer is read, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Logging on and off.
    Negotiate,
    /// A step of the logon.
    SessionSetup,
    /// Connecting to the share.
    TreeConnect,
    /// Whether somebody changed our NEGOTIATE (dialects before 3.1.1).
    Validate,
    /// Leaving the share.
    TreeDisconnect,
    /// Ending the session.
    Logoff,
    /// Opens what the operation works on.
    Open,
    /// Opens what the rest of a compound works on.
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
    /// Asks for attributes of a file that nobody reads.
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
    /// The names that match a pattern, as far as they fit into an answer.
    Find,
    /// Waits for a change.
    Watch,
    /// Locks or unlocks.
    Lock,
    /// A name of an open file for copying from it.
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
    /// Asks for nothing.
    Echo,
    /// Takes a request back; has no answer.
    Cancel,
    /// Agrees to a break of an oplock or lease.
    BreakAcknowledgement,
}

/// How many steps there are.
const COUNT: usize = Step::BreakAcknowledgement as usize + 1;

impl Step {
    const ALL: [Step; COUNT] = [
        Step::Negotiate,
        Step::SessionSetup,
        Step::TreeConnect,
        Step::Validate,
        Step::TreeDisconnect,
        Step::Logoff,
        Step::Open,
        Step::Create,
        Step::Close,
        Step::Read,
        Step::Write,
        Step::Flush,
        Step::Attributes,
        Step::Space,
        Step::Information,
        Step::FileSystem,
        Step::SetTimes,
        Step::SetSize,
        Step::Rename,
        Step::Link,
        Step::Dispose,
        Step::List,
        Step::Find,
        Step::Watch,
        Step::Lock,
        Step::ResumeKey,
        Step::Copy,
        Step::CopyWriteOnly,
        Step::ObjectId,
        Step::Snapshots,
        Step::Interfaces,
        Step::Echo,
        Step::Cancel,
        Step::BreakAcknowledgement,
    ];

    /// The row of the table.
    pub(super) fn procedure(self) -> Procedure {
        static PROCEDURES: LazyLock<[Procedure; COUNT]> = LazyLock::new(|| Step::ALL.map(Step::look_up));
        PROCEDURES.get(self as usize).copied().unwrap_or_else(|| self.look_up())
    }

    fn look_up(self) -> Procedure {
        let sub = |sub| Procedure::of_sub(Protocol::Smb2, self.command().code(), sub);
        match self {
            // Info type, and for SET_INFO the class below it.
            Step::Attributes | Step::Information => sub(1),
            Step::Space | Step::FileSystem => sub(2),
            Step::SetTimes => sub(1 << 8 | 4),
            Step::Rename => sub(1 << 8 | 10),
            Step::Link => sub(1 << 8 | 11),
            Step::Dispose => sub(1 << 8 | 13),
            Step::SetSize => sub(1 << 8 | 20),
            Step::Validate => Procedure::smb2_ioctl(fsctl::VALIDATE_NEGOTIATE),
            Step::ResumeKey => Procedure::smb2_ioctl(fsctl::REQUEST_RESUME_KEY),
            Step::Copy => Procedure::smb2_ioctl(fsctl::COPY_CHUNK),
            Step::CopyWriteOnly => Procedure::smb2_ioctl(fsctl::COPY_CHUNK_WRITE),
            Step::ObjectId => Procedure::smb2_ioctl(fsctl::OBJECT_ID),
            Step::Snapshots => Procedure::smb2_ioctl(fsctl::SNAPSHOTS),
            Step::Interfaces => Procedure::smb2_ioctl(fsctl::QUERY_NETWORK_INTERFACES),
            _ => Procedure::of(Protocol::Smb2, self.command().code()),
        }
    }

    /// The command.
    pub(super) fn command(self) -> Command {
        match self {
            Step::Negotiate => Command::Negotiate,
            Step::SessionSetup => Command::SessionSetup,
            Step::TreeConnect => Command::TreeConnect,
            Step::TreeDisconnect => Command::TreeDisconnect,
            Step::Logoff => Command::Logoff,
            Step::Open | Step::Create => Command::Create,
            Step::Close => Command::Close,
            Step::Read => Command::Read,
            Step::Write => Command::Write,
            Step::Flush => Command::Flush,
            Step::Attributes | Step::Space | Step::Information | Step::FileSystem => Command::QueryInfo,
            Step::SetTimes | Step::SetSize | Step::Rename | Step::Link | Step::Dispose => Command::SetInfo,
            Step::List | Step::Find => Command::QueryDirectory,
            Step::Watch => Command::ChangeNotify,
            Step::Lock => Command::Lock,
            Step::Validate
            | Step::ResumeKey
            | Step::Copy
            | Step::CopyWriteOnly
            | Step::ObjectId
            | Step::Snapshots
            | Step::Interfaces => Command::Ioctl,
            Step::Echo => Command::Echo,
            Step::Cancel => Command::Cancel,
            Step::BreakAcknowledgement => Command::OplockBreak,
        }
    }

    /// A message about the connection or the session, which belongs to no share.
    pub(super) fn is_outside_of_shares(self) -> bool {
        matches!(self, Step::Negotiate | Step::SessionSetup | Step::Logoff | Step::Echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_row() {
        for (place, step) in Step::ALL.into_iter().enumerate() {
            assert_eq!((step as usize, step.procedure()), (place, step.look_up()));
            assert_eq!(step.procedure().row().code, step.command().code());
        }
        assert_eq!(Step::Rename.procedure().name(), "SET_INFO RENAME");
        assert_eq!(Step::Space.procedure().name(), "QUERY_INFO FILESYSTEM");
        assert_eq!(Step::CopyWriteOnly.procedure().name(), "IOCTL SRV_COPYCHUNK_WRITE");
    }
}
