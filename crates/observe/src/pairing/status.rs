//! What a status on the wire is called in its standard.

use plimsoll_model::Protocol;
use plimsoll_wire::{nfs, smb2};

/// The standard's name of a status; `None` where it has none, or for a protocol whose statuses have no names.
pub fn status_name(protocol: Protocol, status: u32) -> Option<&'static str> {
    match protocol {
        Protocol::Smb1 | Protocol::Smb2 => smb2::status_name(status),
        Protocol::Nfs2 => nfs::status_name(2, status),
        Protocol::Nfs3 | Protocol::NfsAcl => nfs::status_name(3, status),
        Protocol::Nfs4 | Protocol::Nfs4Callback => nfs::status_name(4, status),
        Protocol::Mount => nfs::mount_status_name(status),
        Protocol::Nlm => nfs::nlm_status_name(status),
        Protocol::Portmap | Protocol::Rpc => None,
    }
}
