//! File operations in protocol-independent terms, and their results. The list is complete: a new operation needs a line here and an
//! implementation in each protocol.

mod result;
mod ticket;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plimsoll_model::Disposition;
pub use result::{Cause, Done, Failure, Reply};
pub use ticket::{MOST_CHANNELS, Tag, Ticket};

use crate::content::Content;

/// An open file as its client numbers it (SMB: a FileId; NFS: a file handle; path: a descriptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileKey(pub u32);

/// What to open for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Both.
    ReadWrite,
}

/// The kind of object to open. NFSv3 has no open: an existing object of any kind is accepted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// A file, and no directory.
    #[default]
    File,
    /// A directory, and no file.
    Directory,
    /// Either kind.
    Any,
}

/// Attributes that an SMB client requests: the number of a class in MS-FSCC 2.4, for file systems in 2.5. Other protocols have one kind
/// of attributes, and return those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InfoClass(pub u8);

/// What else an open asks for, or takes for granted; where a protocol has no such thing it is ignored, as its users would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(
    description = "Oplock, lease or durable handle that each open requests; protocols without these features ignore the setting"
)]
pub enum Caching {
    /// No oplock, no lease.
    #[default]
    None,
    /// A batch oplock.
    Batch,
    /// An exclusive oplock.
    Exclusive,
    /// A level II oplock.
    LevelTwo,
    /// A read, write and handle lease.
    Lease,
    /// A lease for a cache: the client closes files later, and does not request cached attributes again (SMB 2.1 and later).
    LeaseCached,
    /// As lease-cached, and a lease for each directory: the client lists a directory only once per lease (SMB 3.0 and later).
    DirectoryCached,
    /// A durable handle, together with a lease (SMB 2.0.2: with a batch oplock). After a lost connection, the client reopens its files.
    /// On a share with continuous availability: a persistent handle.
    Durable,
    /// NFS: open without a request if the handle is known (Linux: `nocto`). SMB: no oplock, no lease.
    Handle,
}

/// Declares [`Operation`] and [`OperationKind`] from one list.
macro_rules! operations {
    (
        on nothing { $($(#[$on_nothing:meta])* $nothing:ident,)* }
        on a path { $($(#[$on_path:meta])* $path:ident,)* }
        on an open file { $($(#[$on_file:meta])* $file:ident,)* }
        with arguments { $($(#[$on_other:meta])* $other:ident { $($field:ident: $type:ty),* },)* }
    ) => {
        /// One operation of a user. Paths are relative to the share or export, parts separated by `/`, no leading one.
        #[allow(missing_docs, reason = "each variant's line names its fields")]
        #[derive(Clone, Copy, Debug)]
        pub enum Operation<'a> {
            $($(#[$on_nothing])* $nothing,)*
            $($(#[$on_path])* $path { path: &'a str },)*
            $($(#[$on_file])* $file { file: FileKey },)*
            $($(#[$on_other])* $other { $($field: $type),* },)*
        }

        /// The kind of an operation. Its serde name is the word for it in workload files.
        #[allow(missing_docs, reason = "an Operation's variants are explained there")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum OperationKind {
            $($nothing,)*
            $($path,)*
            $($file,)*
            $($other,)*
        }

        impl OperationKind {
            /// All kinds.
            pub const ALL: &[OperationKind] = &[
                $(OperationKind::$nothing,)* $(OperationKind::$path,)* $(OperationKind::$file,)* $(OperationKind::$other,)*
            ];

            /// Whether it works on an open file and needs no further parameters.
            #[must_use]
            pub fn is_on_an_open_file(self) -> bool {
                matches!(self, $(OperationKind::$file)|*)
            }

            /// The operation on a path, or on the open file; `None` where it needs to know more than that.
            #[must_use]
            pub fn on(self, path: &str, open: Option<FileKey>) -> Option<Operation<'_>> {
                Some(match self {
                    $(OperationKind::$nothing => Operation::$nothing,)*
                    $(OperationKind::$path => Operation::$path { path },)*
                    $(OperationKind::$file => Operation::$file { file: open? },)*
                    $(OperationKind::$other)|* => return None,
                })
            }
        }
    };
}

operations! {
    on nothing {
        /// Requests only an answer (ECHO, NULL).
        Null,
        /// Size and free space of the file system. [`Reply::Space`].
        Fsinfo,
        /// Connects to the share once more; what follows goes through that connection (SMB TREE_CONNECT).
        ConnectShare,
        /// Disconnects it; later operations use the previous one (SMB TREE_DISCONNECT).
        DisconnectShare,
        /// Logs the user on once more; what follows, a share to begin with, belongs to that session (SMB SESSION_SETUP).
        LogOn,
        /// Ends that session; later operations belong to the previous one (SMB LOGOFF).
        LogOff,
    }
    on a path {
        /// Asks for a name in its directory, whether it is known or not (NFS LOOKUP; SMB opens for attributes and closes).
        Lookup,
        /// Attributes of a path. [`Reply::Attributes`].
        Getattr,
        /// What access would be granted (NFS ACCESS; SMB has none and opens for MAXIMUM_ALLOWED).
        Access,
        /// Lists a directory to its end; each name comes through [`crate::client::Events::entry`]. [`Reply::Listed`].
        List,
        /// The same for names alone (NFS READDIR in place of READDIRPLUS; elsewhere there is no difference).
        ListNames,
        /// Makes a directory.
        Mkdir,
        /// Removes an empty directory.
        Rmdir,
        /// Removes a file.
        Remove,
        /// Reads a symbolic link. [`Reply::Text`]; over SMB, which asks for the reparse point, [`Reply::Nothing`].
        Readlink,
        /// Waits for a change in a directory (held).
        Watch,
    }
    on an open file {
        /// Closes it.
        Close,
        /// Makes written data durable (FLUSH, COMMIT, fsync).
        Flush,
        /// Attributes of an open file. [`Reply::Attributes`].
        GetattrOpen,
    }
    with arguments {
        /// Opens (or makes) a file. [`Reply::Opened`].
        Open { path: &'a str, access: Access, disposition: Disposition, caching: Caching },
        /// Opens (or makes) a file or directory to read and write. [`Reply::Opened`]. Only SMB deletes on close.
        OpenEntry { path: &'a str, kind: Kind, disposition: Disposition, delete_on_close: bool },
        /// Reads. Data is stepped over, unless `keep`: then it comes through [`crate::client::Events::data`]. [`Reply::Read`].
        Read { file: FileKey, offset: u64, length: u32, keep: bool },
        /// Writes `length` bytes of `content` for the key `key`. [`Reply::Written`].
        Write { file: FileKey, offset: u64, length: u32, content: &'a Arc<Content>, key: u64 },
        /// The same, answered when it is durable (NFS FILE_SYNC; SMB write-through, from dialect 3.0.2 on; fdatasync).
        WriteThrough { file: FileKey, offset: u64, length: u32, content: &'a Arc<Content>, key: u64 },
        /// Some attributes of a path. [`Reply::Nothing`] or [`Reply::Attributes`].
        Query { path: &'a str, class: InfoClass },
        /// Some attributes of an open file. [`Reply::Nothing`] or [`Reply::Attributes`].
        QueryOpen { file: FileKey, class: InfoClass },
        /// Sets the permission bits (SMB: the times, which it has instead).
        Setattr { path: &'a str, mode: u32 },
        /// The same, of an open file.
        SetattrOpen { file: FileKey, mode: u32 },
        /// Sets the size.
        Truncate { file: FileKey, size: u64 },
        /// Names in a directory that match a pattern of `*` and `?`, upper and lower case alike where the client does the matching;
        /// of SMB as many as one answer holds. [`Reply::Listed`], or [`Reply::Attributes`] where a pattern that is a name was
        /// looked up. That none matches is an error in SMB alone.
        Find { path: &'a str, pattern: &'a str, class: InfoClass },
        /// Renames within the share; replaces an existing file at `to`.
        Rename { from: &'a str, to: &'a str },
        /// Makes a hard link.
        Link { from: &'a str, to: &'a str },
        /// Makes a symbolic link at `path` that says `text`.
        Symlink { path: &'a str, text: &'a str },
        /// Something about the file system. [`Reply::Nothing`] or [`Reply::Space`].
        QueryFileSystem { class: InfoClass },
        /// Asks for one thing about the file system that an open file or directory is on (SMB).
        Volume { file: FileKey, class: InfoClass },
        /// A control of an open file (SMB IOCTL).
        Ioctl { file: FileKey, what: Control },
        /// Locks a range; with `wait` the request is held until it is granted.
        Lock { file: FileKey, offset: u64, length: u64, exclusive: bool, wait: bool },
        /// Unlocks it.
        Unlock { file: FileKey, offset: u64, length: u64 },
        /// Takes back a held operation of this tag.
        Cancel { tag: Tag },
        /// Copies a range by READ and WRITE, on every target. [`Reply::Written`]: fewer bytes where the source ends. Of ranges that
        /// overlap the result depends on their order, as with any copy.
        CopyRange { from: FileKey, from_offset: u64, to: FileKey, to_offset: u64, length: u32 },
        /// Copies the beginning of a file to another one within the server (SMB FSCTL_SRV_COPYCHUNK, NFS 4.2 COPY, copy_file_range).
        /// [`Reply::Written`]: fewer bytes where the source ends (NFS: or an error).
        Copy { from: FileKey, to: FileKey, length: u32 },
        /// The same, but both files share the data (NFS 4.2 CLONE); 0: the whole file.
        Clone { from: FileKey, to: FileKey, length: u64 },
        /// Reserves space for a range (NFS 4.2 ALLOCATE). A file that ends before grows.
        Allocate { file: FileKey, offset: u64, length: u64 },
        /// Makes a hole of a range (NFS 4.2 DEALLOCATE).
        Deallocate { file: FileKey, offset: u64, length: u64 },
        /// The next data from an offset on (NFS 4.2 SEEK). [`Reply::Found`].
        SeekData { file: FileKey, offset: u64 },
        /// The next hole from an offset on; the end of the file is one. [`Reply::Found`].
        SeekHole { file: FileKey, offset: u64 },
        /// Reads as [`Operation::Read`] does; holes come without their zeros (NFS 4.2 READ_PLUS). [`Reply::Read`] counts them.
        ReadPlus { file: FileKey, offset: u64, length: u32, keep: bool },
    }
}

/// Control code (MS-FSCC 2.3) that office programs send for an open file; no code changes the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// FSCTL_CREATE_OR_GET_OBJECT_ID: the ID by which shortcuts find a document.
    ObjectId,
    /// FSCTL_SRV_ENUMERATE_SNAPSHOTS: the file's previous versions.
    Snapshots,
    /// FSCTL_QUERY_NETWORK_INTERFACE_INFO: the server's addresses; needs no file.
    Interfaces,
}
