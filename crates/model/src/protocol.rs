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

impl Protocol {
    /// Every protocol, in the order in which reports list them.
    pub const ALL: [Protocol; 12] = [
        Protocol::Smb1,
        Protocol::Smb2,
        Protocol::Portmap,
        Protocol::Mount,
        Protocol::Nlm,
        Protocol::NfsAcl,
        Protocol::Nfs2,
        Protocol::Nfs3,
        Protocol::Nfs4,
        Protocol::Nfs4Callback,
        Protocol::Rpc,
        Protocol::File,
    ];

    /// The word used in tables and files.
    pub fn label(self) -> &'static str {
        match self {
            Protocol::Smb1 => "SMB1",
            Protocol::Smb2 => "SMB2",
            Protocol::Portmap => "PORTMAP",
            Protocol::Mount => "MOUNT",
            Protocol::Nlm => "NLM",
            Protocol::NfsAcl => "NFSACL",
            Protocol::Nfs2 => "NFS2",
            Protocol::Nfs3 => "NFS3",
            Protocol::Nfs4 => "NFS4",
            Protocol::Nfs4Callback => "NFS4CB",
            Protocol::Rpc => "RPC",
            Protocol::File => "FILE",
        }
    }
}
