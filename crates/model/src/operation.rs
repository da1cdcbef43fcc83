//! User operations on files, and the groups of reports.

use serde::{Deserialize, Serialize};

/// A user's operation on files, in any protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Read file data.
    Read,
    /// Write file data.
    Write,
    /// Make written data durable (flush, commit).
    Flush,
    /// Open or create a file or directory handle.
    Open,
    /// Close a handle.
    Close,
    /// Create a file (where that is not an open).
    Create,
    /// Get attributes of a file, directory or link.
    GetAttributes,
    /// Set attributes, sizes, times, access control.
    SetAttributes,
    /// Ask what access would be granted.
    Access,
    /// Ask about the file system (size, free space, limits).
    FileSystemInfo,
    /// Look up one name in a directory.
    Lookup,
    /// List a directory.
    List,
    /// Make a directory.
    MakeDirectory,
    /// Remove a file.
    Remove,
    /// Remove a directory.
    RemoveDirectory,
    /// Rename.
    Rename,
    /// Make a hard or symbolic link or a special file.
    Link,
    /// Read a symbolic link.
    ReadLink,
    /// Wait for a change in a directory.
    Notify,
    /// Lock or unlock a range, test a lock, give back a delegation or lease.
    Lock,
    /// Control codes and named-pipe calls.
    Control,
    /// Negotiate, log on and off, connect and disconnect shares and exports.
    Session,
    /// A call that only requests an answer (echo, NULL).
    Null,
    /// A compound as a whole (NFSv4), whose members have separate rows.
    Compound,
    /// Any other operation.
    Other,
}

impl Operation {
    /// Every operation; recordings hold their places, so new ones go to the end.
    pub const ALL: [Operation; 25] = [
        Operation::Read,
        Operation::Write,
        Operation::Flush,
        Operation::Open,
        Operation::Close,
        Operation::Create,
        Operation::GetAttributes,
        Operation::SetAttributes,
        Operation::Access,
        Operation::FileSystemInfo,
        Operation::Lookup,
        Operation::List,
        Operation::MakeDirectory,
        Operation::Remove,
        Operation::RemoveDirectory,
        Operation::Rename,
        Operation::Link,
        Operation::ReadLink,
        Operation::Notify,
        Operation::Lock,
        Operation::Control,
        Operation::Session,
        Operation::Null,
        Operation::Compound,
        Operation::Other,
    ];

    /// The word used in tables, files and flags.
    pub fn label(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Flush => "flush",
            Operation::Open => "open",
            Operation::Close => "close",
            Operation::Create => "create",
            Operation::GetAttributes => "getattr",
            Operation::SetAttributes => "setattr",
            Operation::Access => "access",
            Operation::FileSystemInfo => "fsinfo",
            Operation::Lookup => "lookup",
            Operation::List => "list",
            Operation::MakeDirectory => "mkdir",
            Operation::Remove => "remove",
            Operation::RemoveDirectory => "rmdir",
            Operation::Rename => "rename",
            Operation::Link => "link",
            Operation::ReadLink => "readlink",
            Operation::Notify => "notify",
            Operation::Lock => "lock",
            Operation::Control => "control",
            Operation::Session => "session",
            Operation::Null => "null",
            Operation::Compound => "compound",
            Operation::Other => "other",
        }
    }
}

/// The groups of Swartz (1997) (its Table 1 and Appendix A), and Session for operations outside of them.
///
/// `Other` is the sum of Attributes, Directory and Locking; it is not a separate value here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Group {
    /// Open and close.
    OpenClose,
    /// Other.Attributes: get and set attributes, file system information.
    Attributes,
    /// Other.Directory: names and directories.
    Directory,
    /// Other.Locking: locks, leases, delegations.
    Locking,
    /// Read file data.
    Read,
    /// Write and flush file data.
    Write,
    /// Sessions, connections and operations outside of the netbench groups.
    Session,
    /// NFSv4 compounds with an unknown main operation, because too little was captured.
    Compound,
    /// Requests with an unknown operation: the subcommand was cut off, or has no row.
    Unknown,
}

impl Group {
    /// Every group, in the order of Swartz (1997).
    pub const ALL: [Group; 9] = [
        Group::OpenClose,
        Group::Attributes,
        Group::Directory,
        Group::Locking,
        Group::Read,
        Group::Write,
        Group::Session,
        Group::Compound,
        Group::Unknown,
    ];

    /// The name of the group in Swartz (1997), subgroups dotted as in its Appendix A.
    pub fn label(self) -> &'static str {
        match self {
            Group::OpenClose => "Open/Close",
            Group::Attributes => "Other.Attributes",
            Group::Directory => "Other.Directory",
            Group::Locking => "Other.Locking",
            Group::Read => "Read",
            Group::Write => "Write",
            Group::Session => "Session",
            Group::Compound => "Compound",
            Group::Unknown => "Unknown",
        }
    }

    /// Whether it is part of the netbench group Other.
    pub fn is_other(self) -> bool {
        matches!(self, Group::Attributes | Group::Directory | Group::Locking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_at_its_place() {
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
        }
    }
}
