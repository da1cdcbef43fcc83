//! The protocols that are understood.

use serde::{Deserialize, Serialize};

/// A protocol with its own procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// SMB 1 / CIFS (MS-CIFS, MS-SMB).
    Smb1,
    /// SMB 2 and 3 (MS-SMB2).
    Smb2,
    /// Portmapper 2 and rpcbind 3, 4 (RFC 1833).
    Portmap,
    /// MOUNT 1 to 3 (RFC 1094 A, RFC 1813 5).
    Mount,
    /// Network lock manager 1, 3, 4.
    Nlm,
    /// The NFS access control side protocol (program 100227).
    NfsAcl,
    /// NFS version 2 (RFC 1094).
    Nfs2,
    /// NFS version 3 (RFC 1813).
    Nfs3,
    /// NFS versions 4.0, 4.1 and 4.2 (RFC 7530, 8881, 7862).
    Nfs4,
    /// NFS version 4 callbacks, from server to client.
    Nfs4Callback,
    /// Another ONC RPC program.
    Rpc,
    /// System calls, on any file system mounted at a path.
    File,
}

crate::words! {
    Protocol,
    "Every protocol, in the order in which reports list them.",
    "The word used in tables and files.":
    Smb1 "SMB1", Smb2 "SMB2", Portmap "PORTMAP", Mount "MOUNT", Nlm "NLM", NfsAcl "NFSACL", Nfs2 "NFS2",
    Nfs3 "NFS3", Nfs4 "NFS4", Nfs4Callback "NFS4CB", Rpc "RPC", File "FILE"
}
