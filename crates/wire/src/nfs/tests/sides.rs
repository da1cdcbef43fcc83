//! The programs beside NFS: MOUNT, NLM, NFSACL, portmap; and the names of statuses.

use crate::nfs::{acl, mount, mount_status_name, nlm, nlm_status_name, portmap, status_name};
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
    assert_eq!(nlm::reply_cookie(4, 2, &result), Some(&b"ck"[..]));
    assert_eq!(nlm::Arguments::new(4, 12, &result).status, Some(3), "LOCK_RES");
    assert_eq!(nlm::results(4, 7, &result).status, None, "LOCK_MSG returns nothing");
    let unlock = Xdr::new().opaque(b"ck").then(nlm_lock(4)).0;
    assert_eq!(nlm::Arguments::new(4, 4, &unlock).offset, Some(1 << 33));
    let test = Xdr::new().opaque(b"ck").u32(1).then(nlm_lock(3)).0;
    assert_eq!(nlm::Arguments::new(3, 1, &test).facts().handle, Some(&b"fh"[..]));
    let share = Xdr::new().opaque(b"ck").opaque("client").opaque(b"fh").opaque("o").words(&[0, 0, 0]).0;
    assert_eq!(nlm::Arguments::new(3, 20, &share).handle, Some(&b"fh"[..]));
    assert_eq!(nlm::procedure_name(1, 20), None);
    assert_eq!(nlm::procedure_name(4, 18), None);
}

#[test]
fn acl_handles_are_those_of_the_nfs_version() {
    assert_eq!(acl::arguments(3, 1, Xdr::new().opaque(b"fh").u32(15).bytes()).handle, Some(&b"fh"[..]));
    assert_eq!(acl::arguments(2, 1, Xdr::new().fixed(32).u32(15).bytes()).handle, Some(&[0xA5; 32][..]));
    assert_eq!(acl::results(3, 1, Xdr::new().u32(10_004).bytes()).status, Some(10_004));
    assert_eq!(acl::results(3, 0, Xdr::new().u32(1).bytes()).status, None);
}

#[test]
fn portmap_says_where_a_program_answers() {
    let ask = Xdr::new().words(&[100_003, 3, 6, 0]).0;
    let mapping = portmap::Mapping::new(2, 3, &ask).unwrap();
    assert_eq!((mapping.program, mapping.version, mapping.protocol), (100_003, 3, Some(6)));
    assert_eq!(portmap::port(2, 3, &[0, 0, 8, 1]), Some(2049));
    assert_eq!(portmap::port(2, 3, &[0, 1, 8, 1]), None, "no port has 17 bits");
    let ask = Xdr::new().words(&[100_003, 4]).opaque("tcp6").opaque("").opaque("").0;
    let mapping = portmap::Mapping::new(4, 9, &ask).unwrap();
    assert_eq!((mapping.program, mapping.network), (100_003, Some(&b"tcp6"[..])));
    for (address, port) in [
        ("192.0.2.1.8.1", Some(2049)),
        ("2001:db8::1.8.1", Some(2049)),
        ("", Some(0)),
        ("8.1", None),
        ("a.b.c", None),
        ("1.2.256", None),
    ] {
        assert_eq!(portmap::port(3, 3, Xdr::new().opaque(address).bytes()), port, "{address}");
    }
    assert_eq!(portmap::procedure_name(3, 5), Some("CALLIT"));
    assert_eq!(portmap::procedure_name(4, 5), Some("BCAST"));
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
                let _ = (nlm::results(version, procedure, bytes), nlm::reply_cookie(version, procedure, bytes));
                let _ = (mount::arguments(version, procedure, bytes), mount::results(version, procedure, bytes));
                let _ = (acl::arguments(version, procedure, bytes), acl::results(version, procedure, bytes));
                let _ = (portmap::Mapping::new(version, procedure, bytes), portmap::port(version, procedure, bytes));
            }
        }
    });
}
