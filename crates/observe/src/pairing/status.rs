//! Names of status codes in their standards.

use plimsoll_model::{Protocol, errno_name};
use plimsoll_wire::{nfs, smb1, smb2};

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
        // Not in captures, but in tables and recordings.
        Protocol::File => errno_name(status),
        Protocol::Portmap | Protocol::Rpc => None,
    }
}

/// SMB1 without NT statuses: a class in the low byte and a code in the high half (MS-CIFS 2.2.3.1). No NT status that
/// has a name looks like that.
fn dos_error_name(status: u32) -> Option<&'static str> {
    let [class, 0, low, high] = status.to_le_bytes() else { return None };
    smb1::dos_error::dos_error_name(class, u16::from_le_bytes([low, high]))
}

/// The statuses of all protocols with this name, with or without the prefix of their standard: STATUS_ACCESS_DENIED or ACCESS_DENIED,
/// NFS3ERR_STALE or STALE, in upper or lower case.
pub fn statuses_named(name: &str) -> Vec<(Protocol, u32)> {
    // NFS's reach to 10,096; MOUNT's, the lock manager's and Linux's are below 200; a DOS error's code has 12 bits at most.
    let dos = || (1..=3).flat_map(|class| (0..1 << 12).map(move |code| code << 16 | class));
    let numbers = |protocol: Protocol| -> Vec<u32> {
        match protocol {
            Protocol::Smb1 => smb2::status::NAMED.iter().copied().chain(dos()).collect(),
            Protocol::Smb2 => smb2::status::NAMED.to_vec(),
            _ => (0..=200).chain(10_000..=10_200).collect(),
        }
    };
    let is = |full: &str| {
        let prefixes = [
            "STATUS_", "NFSERR_", "NFS3ERR_", "NFS4ERR_", "NFS3_", "NFS4_", "NFS_", "NLM_", "MNT3ERR_", "MNT3_", "ERR",
        ];
        let short = prefixes.iter().find_map(|prefix| full.strip_prefix(prefix));
        full.eq_ignore_ascii_case(name) || short.is_some_and(|short| short.eq_ignore_ascii_case(name))
    };
    let of = |protocol: Protocol| {
        let named = numbers(protocol).into_iter().filter(|status| status_name(protocol, *status).is_some_and(is));
        named.map(|status| (protocol, status)).collect::<Vec<_>>()
    };
    Protocol::ALL.into_iter().flat_map(of).collect()
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
                StatusFamily::Errno => &[Protocol::File],
            };
            for rule in family.rules() {
                let name = protocols.iter().find_map(|&protocol| status_name(protocol, rule.status));
                assert_eq!(name, Some(rule.name), "{rule:?}");
                assert!(protocols.iter().any(|&protocol| StatusFamily::of(protocol, rule.status) == Some(family)));
            }
        }
    }

    #[test]
    fn every_status_is_found_by_its_name() {
        for &status in smb2::status::NAMED {
            let name = status_name(Protocol::Smb2, status).unwrap_or_default();
            assert!(statuses_named(&name.to_lowercase()).contains(&(Protocol::Smb2, status)), "{name}");
        }
        assert_eq!(statuses_named("ERRbadfile"), [(Protocol::Smb1, 0x0002_0001)]);
        let stale = [(Protocol::Nfs2, 70), (Protocol::Nfs3, 70), (Protocol::Nfs4, 70)];
        assert!(stale.iter().all(|one| statuses_named("STALE").contains(one)));
        assert_eq!(statuses_named("nfs4err_badsession"), [(Protocol::Nfs4, 10_052), (Protocol::Nfs4Callback, 10_052)]);
        assert!(statuses_named("no such thing").is_empty());
        // No name lies beyond the numbers that are looked at.
        let nfs = [Protocol::Nfs2, Protocol::Nfs3, Protocol::Nfs4, Protocol::Mount, Protocol::Nlm, Protocol::File];
        assert!(
            (201..10_000).chain(10_201..70_000).all(|n| nfs.iter().all(|&protocol| status_name(protocol, n).is_none()))
        );
    }

    #[test]
    fn dos_and_nt_statuses_are_told_apart() {
        assert_eq!(status_name(Protocol::Smb1, 0xc000_0034), Some("STATUS_OBJECT_NAME_NOT_FOUND"));
        assert_eq!(status_name(Protocol::Smb1, 0x0002_0001), Some("ERRbadfile"));
        assert_eq!(status_name(Protocol::Smb2, 0x0002_0001), None);
    }
}
