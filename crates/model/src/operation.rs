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

crate::words! {
    Operation,
    "Every operation; recordings hold their places, so new ones go to the end.",
    "The word used in tables, files and flags.":
    Read "read", Write "write", Flush "flush", Open "open", Close "close", Create "create", GetAttributes "getattr",
    SetAttributes "setattr", Access "access", FileSystemInfo "fsinfo", Lookup "lookup", List "list",
    MakeDirectory "mkdir", Remove "remove", RemoveDirectory "rmdir", Rename "rename", Link "link",
    ReadLink "readlink", Notify "notify", Lock "lock", Control "control", Session "session", Null "null",
    Compound "compound", Other "other"
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

crate::words! {
    Group,
    "Every group, in the order of Swartz (1997).",
    "The name of the group in Swartz (1997), subgroups dotted as in its Appendix A.":
    OpenClose "Open/Close", Attributes "Other.Attributes", Directory "Other.Directory", Locking "Other.Locking",
    Read "Read", Write "Write", Session "Session", Compound "Compound", Unknown "Unknown"
}

impl Group {
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
