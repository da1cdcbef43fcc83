//! The programs beside NFS: MOUNT, NLM, NFSACL, portmap; and the names of statuses.

use crate::nfs::{acl, mount, mount_status_name, nlm, nlm_status_name, status_name};
use crate::xdr::builder::{Xdr, damage};

#[test]
fn mount_leads_from_a_path_to_a_handle() {
    // RFC 1813 5.2.1 and RFC 1094 A.5.1.
    let path = Xdr::new().opaque("/export/home").0;
    for version in 1..=3 {
        for procedure in [1, 3] {
            assert_eq!(mount::arguments(version, procedure, &path).name, Some(&b"/export/home"[..]));
        }
    }
    let third = mount::results(3, 1, Xdr::new().u32(0).opaque(b"fh3").words(&[1, 1]).bytes());
    assert_eq!((third.status, third.handle), (Some(0), Some(&b"fh3"[..])));
    let first = mount::results(1, 1, Xdr::new().u32(0).fixed(32).bytes());
    assert_eq!((first.status, first.handle), (Some(0), Some(&[0xA5; 32][..])));
    let refused = mount::results(3, 1, Xdr::new().u32(13).bytes());
    assert_eq!((refused.status, refused.handle), (Some(13), None));
    assert_eq!(mount::results(3, 5, Xdr::new().u32(1).bytes()).status, None, "EXPORT returns a list, not a status");
}

fn nlm_lock(version: u32) -> Xdr {
    // nlm_lock: caller, fh, owner, svid, offset, length.
    let xdr = Xdr::new().opaque("client").opaque(b"fh").opaque("owner@client").u32(42);
    if version == 4 { xdr.u64(1 << 33).u64(10) } else { xdr.words(&[33, 10]) }
}

#[test]
fn a_blocking_lock_waits_and_its_cancellation_does_not() {
    for version in [1, 3, 4] {
        let lock = |block| Xdr::new().opaque(b"ck").words(&[block, 1]).then(nlm_lock(version)).words(&[0, 7]).0;
        let bytes = lock(1);
        let waiting = nlm::Arguments::new(version, 2, &bytes);
        assert!(waiting.waits());
        assert_eq!(
            (waiting.cookie, waiting.handle, waiting.caller),
            (Some(&b"ck"[..]), Some(&b"fh"[..]), Some(&b"client"[..]))
        );
        assert_eq!(waiting.offset, Some(if version == 4 { 1 << 33 } else { 33 }));
        assert_eq!((waiting.length, waiting.exclusive), (Some(10), Some(true)));
        assert!(nlm::Arguments::new(version, 7, &bytes).waits(), "LOCK_MSG");
        assert!(!nlm::Arguments::new(version, 3, &bytes).waits(), "CANCEL");
        assert!(!nlm::Arguments::new(version, 2, &lock(0)).waits());
    }
}

#[test]
fn nlm_statuses_come_in_replies_and_in_calls() {
    let result = Xdr::new().opaque(b"ck").u32(3).0;
    assert_eq!(nlm::results(4, 2, &result).status, Some(3));
    assert_eq!(nlm::Arguments::new(4, 12, &result).status, Some(3), "LOCK_RES");
    assert_eq!(nlm::results(4, 7, &result).status, None, "LOCK_MSG returns nothing");
    let unlock = Xdr::new().opaque(b"ck").then(nlm_lock(4)).0;
    assert_eq!(nlm::Arguments::new(4, 4, &unlock).offset, Some(1 << 33));
    let test = Xdr::new().opaque(b"ck").u32(1).then(nlm_lock(3)).0;
    assert_eq!(nlm::Arguments::new(3, 1, &test).facts().handle, Some(&b"fh"[..]));
    let share = Xdr::new().opaque(b"ck").opaque("client").opaque(b"fh").opaque("o").words(&[0, 0, 0]).0;
    assert_eq!(nlm::Arguments::new(3, 20, &share).handle, Some(&b"fh"[..]));
    assert_eq!(nlm::results(1, 20, &result).status, None, "version 1 has no SHARE");
}

#[test]
fn acl_handles_are_those_of_the_nfs_version() {
    assert_eq!(acl::arguments(3, 1, Xdr::new().opaque(b"fh").u32(15).bytes()).handle, Some(&b"fh"[..]));
    assert_eq!(acl::arguments(2, 1, Xdr::new().fixed(32).u32(15).bytes()).handle, Some(&[0xA5; 32][..]));
    assert_eq!(acl::results(3, 1, Xdr::new().u32(10_004).bytes()).status, Some(10_004));
    assert_eq!(acl::results(3, 0, Xdr::new().u32(1).bytes()).status, None);
}

#[test]
fn statuses_have_names_in_their_versions() {
    assert_eq!(status_name(2, 99), Some("NFSERR_WFLUSH"));
    assert_eq!(status_name(3, 10_008), Some("NFS3ERR_JUKEBOX"));
    assert_eq!(status_name(4, 10_008), Some("NFS4ERR_DELAY"));
    assert_eq!(status_name(4, 10_073), None, "RFC 8881 leaves it out");
    assert_eq!(status_name(4, 10_097), None);
    assert_eq!(status_name(5, 0), None);
    assert_eq!(nlm_status_name(3), Some("NLM_BLOCKED"));
    assert_eq!(mount_status_name(13), Some("MNT3ERR_ACCES"));
    for version in 2..=4 {
        let names: Vec<_> = (0..11_000).filter_map(|status| status_name(version, status)).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
    }
}

#[test]
fn damage_is_survived() {
    let lock = Xdr::new().opaque(b"ck").words(&[1, 1]).then(nlm_lock(4)).words(&[0, 7]).0;
    damage(&lock, |bytes| {
        for version in 0..=5 {
            for procedure in 0..=24 {
                let _ = nlm::Arguments::new(version, procedure, bytes).facts();
                let _ = nlm::results(version, procedure, bytes);
                let _ = (mount::arguments(version, procedure, bytes), mount::results(version, procedure, bytes));
                let _ = (acl::arguments(version, procedure, bytes), acl::results(version, procedure, bytes));
            }
        }
    });
}
