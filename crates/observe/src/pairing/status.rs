//! What a status on the wire is called in its standard.

use plimsoll_model::Protocol;
use plimsoll_wire::{nfs, smb2};

/// The standard's name of a status; `None` where it has none, or for a protocol whose statuses have no names.
pub fn status_name(protocol: Protocol, status: u32) -> Option<&'static str> {
    match protocol {
        Protocol::Smb1 => smb2::status_name(status).or_else(|| dos_error_name(status)),
        Protocol::Smb2 => smb2::status_name(status),
        Protocol::Nfs2 => nfs::status_name(2, status),
        Protocol::Nfs3 | Protocol::NfsAcl => nfs::status_name(3, status),
        Protocol::Nfs4 | Protocol::Nfs4Callback => nfs::status_name(4, status),
        Protocol::Mount => nfs::mount_status_name(status),
        Protocol::Nlm => nfs::nlm_status_name(status),
        // No traffic: calls to the operating system are in no capture.
        Protocol::Portmap | Protocol::Rpc | Protocol::File => None,
    }
}

/// SMB1 without NT statuses: a class in the low byte and a code in the high half (MS-CIFS 2.2.3.1). No NT status that
/// has a name looks like that.
fn dos_error_name(status: u32) -> Option<&'static str> {
    let [class, 0, low, high] = status.to_le_bytes() else { return None };
    smb2::status::dos_error_name(class, u16::from_le_bytes([low, high]))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::StatusFamily;

    use super::*;

    #[test]
    fn the_table_of_outcomes_names_statuses_as_their_standards_do() {
        for family in StatusFamily::ALL {
            let protocols: &[Protocol] = match family {
                StatusFamily::Nt => &[Protocol::Smb2],
                StatusFamily::Dos => &[Protocol::Smb1],
                StatusFamily::Nfs => &[Protocol::Nfs4, Protocol::Nfs2],
                StatusFamily::Nlm => &[Protocol::Nlm],
                StatusFamily::Mount => &[Protocol::Mount],
                StatusFamily::Errno => continue,
            };
            for rule in family.rules() {
                let name = protocols.iter().find_map(|&protocol| status_name(protocol, rule.status));
                assert_eq!(name, Some(rule.name), "{rule:?}");
                assert!(protocols.iter().any(|&protocol| StatusFamily::of(protocol, rule.status) == Some(family)));
            }
        }
    }

    #[test]
    fn dos_and_nt_statuses_are_told_apart() {
        assert_eq!(status_name(Protocol::Smb1, 0xc000_0034), Some("STATUS_OBJECT_NAME_NOT_FOUND"));
        assert_eq!(status_name(Protocol::Smb1, 0x0002_0001), Some("ERRbadfile"));
        assert_eq!(status_name(Protocol::Smb2, 0x0002_0001), None);
    }
}
