//! Hand-assembled messages after RFC 5531 9, also cut and corrupted.

use super::*;
use crate::xdr::builder::{Xdr, call, damage, record, reply};
use proptest::prelude::*;

const NFS: u32 = 100_003;

/// A call under RPCSEC_GSS (RFC 2203 5.3.1): version 1, procedure, sequence 7, service, a handle of 4 bytes; the
/// verifier is a checksum of 12 bytes.
fn gss_call(procedure: u32, service: u32, arguments: Xdr) -> Xdr {
    let credential = Xdr::new().words(&[1, procedure, 7, service]).opaque(b"ctx1");
    let head = Xdr::new().words(&[9, 0, 2, NFS, 3, 6]).u32(6).opaque(credential.0);
    head.u32(6).opaque([1; 12]).then(arguments)
}

#[test]
fn a_call_says_who_what_and_how() {
    let bytes = call(0xCAFE, NFS, 3, 1, Xdr::new().opaque(b"handle")).0;
    let call = Call::new(&bytes).unwrap();
    assert_eq!((call.xid(), call.program(), call.version(), call.procedure()), (0xCAFE, NFS, 3, 1));
    assert_eq!(call.flavor(), Some(Flavor::Sys));
    assert_eq!(call.credential(), Some(Credential::Sys(AuthSys { machine_name: b"client", uid: 1000, gid: 100 })));
    assert_eq!(call.protection(), Some(Protection::None));
    assert_eq!(call.arguments(), Some(&Xdr::new().opaque(b"handle").0[..]));
}

#[test]
fn twenty_four_bytes_of_a_call_are_enough() {
    let bytes = call(0xCAFE, NFS, 3, 1, Xdr::new()).0;
    assert!(Call::new(&bytes[..23]).is_none());
    let cut = Call::new(&bytes[..24]).unwrap();
    assert_eq!((cut.xid(), cut.procedure()), (0xCAFE, 1));
    assert_eq!((cut.flavor(), cut.credential(), cut.arguments()), (None, None, None));
    let cut = Call::new(&bytes[..40]).unwrap();
    assert_eq!(cut.credential(), Some(Credential::Flavor(Flavor::Sys)), "half a name is no name");
    assert_eq!(cut.arguments(), None);
}

#[test]
fn a_reply_is_no_call_and_the_other_way_round() {
    assert!(Call::new(&reply(1, Xdr::new().words(&[0; 9])).0).is_none());
    assert!(Reply::new(&call(1, NFS, 3, 1, Xdr::new()).0).is_none());
    let mut version_3 = call(1, NFS, 3, 1, Xdr::new()).0;
    version_3[11] = 3;
    assert!(Call::new(&version_3).is_none());
}

#[test]
fn eight_bytes_of_a_reply_are_enough() {
    let bytes = reply(0xCAFE, Xdr::new().u32(70)).0;
    assert!(Reply::new(&bytes[..7]).is_none());
    let cut = Reply::new(&bytes[..8]).unwrap();
    assert_eq!((cut.xid(), cut.reply_stat(), cut.accept_stat(), cut.results()), (0xCAFE, None, None, None));
    let whole = Reply::new(&bytes).unwrap();
    assert_eq!(whole.reply_stat(), Some(ReplyStat::Accepted));
    assert_eq!(whole.accept_stat(), Some(AcceptStat::Success));
    assert_eq!(whole.results(), Some(&[0, 0, 0, 70][..]));
}

#[test]
fn refusals_are_told_apart() {
    let denied = Xdr::new().words(&[1, 1, 1, 1, 13]).0;
    let denied = Reply::new(&denied).unwrap();
    assert_eq!((denied.accept_stat(), denied.results()), (None, None));
    let mismatch = Xdr::new().words(&[1, 1, 1, 0, 2, 2]).0;
    assert_eq!(Reply::new(&mismatch).unwrap().accept_stat(), None);
    let unavailable = Xdr::new().words(&[1, 1, 0, 0, 0, 3]).0;
    let unavailable = Reply::new(&unavailable).unwrap();
    assert_eq!(unavailable.accept_stat(), Some(AcceptStat::ProcedureUnavailable));
    assert_eq!(unavailable.results(), None);
}

#[test]
fn what_kerberos_signs_is_readable_and_what_it_encrypts_is_not() {
    let arguments = Xdr::new().opaque(b"fh");
    let plain = gss_call(0, 1, arguments.clone()).0;
    assert_eq!(Call::new(&plain).unwrap().arguments(), Some(&arguments.0[..]));

    // RFC 2203 5.3.2.2: opaque databody_integ {seq_num, arguments}, opaque checksum.
    let body = Xdr::new().u32(7).then(arguments.clone());
    let integrity = gss_call(0, 2, Xdr::new().opaque(&body.0).opaque([3; 16])).0;
    let call = Call::new(&integrity).unwrap();
    assert_eq!(call.protection(), Some(Protection::Integrity));
    assert_eq!(call.arguments(), Some(&arguments.0[..]), "the checksum is not part of the arguments");
    let Some(Credential::Gss(gss)) = call.credential() else { panic!("not GSS") };
    assert_eq!((gss.sequence, gss.procedure, gss.handle), (7, GssProcedure::Data, Some(&b"ctx1"[..])));

    let privacy = gss_call(0, 3, Xdr::new().opaque([9; 40])).0;
    assert_eq!(Call::new(&privacy).unwrap().protection(), Some(Protection::Privacy));
    assert_eq!(Call::new(&privacy).unwrap().arguments(), None);
    let init = gss_call(1, 1, Xdr::new().opaque([9; 40])).0;
    assert_eq!(Call::new(&init).unwrap().arguments(), None, "a token is not the procedure's arguments");
    for sound in [plain, integrity, privacy, init] {
        assert!(plausible_call(&sound));
    }
}

#[test]
fn a_reply_under_kerberos_needs_its_call_to_be_read() {
    let results = Xdr::new().u32(0).opaque(b"fh");
    let head = Xdr::new().words(&[9, 1, 0, 6]).opaque([1; 12]).u32(0);
    let integrity = head.then(Xdr::new().opaque(Xdr::new().u32(7).then(results.clone()).0).opaque([3; 16])).0;
    let reply = Reply::new(&integrity).unwrap();
    assert_eq!(reply.results(), None);
    assert_eq!(reply.results_under(Protection::Integrity), Some(&results.0[..]));
    assert_eq!(reply.results_under(Protection::Privacy), None);
}

#[test]
fn plausible_means_known_and_sane() {
    let sound = call(1, NFS, 3, 21, Xdr::new()).0;
    assert!(plausible_call(&sound));
    assert!(plausible_call(&sound[..24]));
    assert!(!plausible_call(&sound[..23]));
    for (program, version, procedure) in [
        (NFS, 3, 22),
        (NFS, 5, 0),
        (NFS, 1, 0),
        (100_004, 1, 0),
        (0x4000_0000, 2, 1),
        (0x4000_0000, 1, 2),
        (0x6000_0000, 1, 1),
    ] {
        let strange = call(1, program, version, procedure, Xdr::new()).0;
        assert!(!plausible_call(&strange), "{program} {version} {procedure}");
        let is_possible = program < 0x6000_0000;
        assert_eq!(plausible_call_of_any_program(&strange), is_possible, "{program} {version} {procedure}");
        assert!(Call::new(&strange).is_some(), "a view shows what there is, known or not");
    }
    assert!(plausible_call(&call(1, 0x4000_0000, 1, 1, Xdr::new()).0), "an NFS 4.0 callback");
    let none_with_body = Xdr::new().words(&[1, 0, 2, NFS, 3, 0, 0, 4]).0;
    assert!(!plausible_call(&none_with_body));
    let unknown_flavor = Xdr::new().words(&[1, 0, 2, NFS, 3, 0, 99, 0, 0, 0]).0;
    assert!(!plausible_call(&unknown_flavor));
}

#[test]
fn calls_of_any_program() {
    // NFS_LOCALIO, version 1, UUID_IS_LOCAL; GlusterFS has a flavor of its own.
    let sound = call(1, 400_122, 1, 1, Xdr::new()).0;
    assert!(plausible_call_of_any_program(&sound) && plausible_call_of_any_program(&sound[..24]));
    assert!(!plausible_call_of_any_program(&sound[..23]));
    let own_flavor = Xdr::new().words(&[1, 0, 2, 1_298_437, 330, 12, 390_039, 4, 9, 0, 0]);
    assert!(plausible_call_of_any_program(&own_flavor.0));
    for words in [
        [1, 1, 2, 400_122, 1, 1, 0, 0, 0, 0],
        [1, 0, 3, 400_122, 1, 1, 0, 0, 0, 0],
        [1, 0, 2, 99_999, 1, 1, 0, 0, 0, 0],
        [1, 0, 2, 400_122, 0x1_0000, 1, 0, 0, 0, 0],
        [1, 0, 2, 400_122, 1, 0x1_0000, 0, 0, 0, 0],
        [1, 0, 2, 400_122, 1, 1, 0, 401, 0, 0],
        [1, 0, 2, 400_122, 1, 1, 0, 0, 0, 401],
    ] {
        assert!(!plausible_call_of_any_program(&Xdr::new().words(&words).0), "{words:?}");
    }
    let bytes = record(call(1, 400_122, 1, 1, Xdr::new())).0;
    assert!(plausible_record_of_any_program(&bytes) && plausible_record(&bytes).is_none());
    assert_eq!(find_record(&bytes), None, "no sign of where a message begins");
    let several = Xdr::new().u32(80).then(call(1, 400_122, 1, 1, Xdr::new())).0;
    let too_short = Xdr::new().u32(0x8000_0000 | 36).then(call(1, 400_122, 1, 1, Xdr::new())).0;
    assert!(!plausible_record_of_any_program(&several) && !plausible_record_of_any_program(&too_short));
}

#[test]
fn plausible_replies() {
    let sound = reply(1, Xdr::new()).0;
    assert!(plausible_reply(&sound));
    assert!(!plausible_reply(&sound[..19]));
    assert!(!plausible_reply(&Xdr::new().words(&[1, 1, 0, 0, 0, 6]).0), "no such accept_stat");
    assert!(!plausible_reply(&Xdr::new().words(&[1, 1, 2, 0, 0, 0]).0), "no such reply_stat");
    assert!(!plausible_reply(&Xdr::new().words(&[1, 1, 0, 6, 401, 0]).0), "verifier too long");
    assert!(plausible_reply(&Xdr::new().words(&[1, 1, 1, 1, 5]).0), "denied for its authentication");
    assert!(plausible_reply(&Xdr::new().words(&[1, 1, 1, 0, 2, 2]).0), "denied for its version");
    // RFC 9289 4.1: AUTH_NONE verifier with the eight bytes STARTTLS.
    assert!(plausible_reply(&Xdr::new().words(&[1, 1, 0, 0]).opaque(b"STARTTLS").u32(0).0));
}

#[test]
fn the_next_record_is_found_behind_rubbish() {
    let first = record(call(1, NFS, 3, 6, Xdr::new().fixed(40))).0;
    let second = record(reply(2, Xdr::new().fixed(40))).0;
    for rubbish in 0..9 {
        let bytes = [vec![0x80; rubbish], first.clone(), second.clone()].concat();
        let (at, mark, message) = find_record(&bytes).unwrap();
        assert_eq!((at, message), (rubbish, Message::Call));
        assert_eq!(mark, RecordMark { last: true, length: first.len() as u32 - 4 });
        let (at, _, message) = find_record(&bytes[rubbish + 1..]).unwrap();
        assert_eq!((at + 1, message), (first.len(), Message::Reply));
    }
    assert_eq!(find_record(&[0x80; 4096]), None);
    assert_eq!(find_record(&[]), None);
}

#[test]
fn a_record_that_cannot_hold_its_message_is_not_believed() {
    let mut bytes = record(call(1, NFS, 3, 6, Xdr::new())).0;
    assert!(plausible_record(&bytes).is_some());
    bytes[3] = 24;
    assert_eq!(plausible_record(&bytes), None, "a call has at least 40 bytes");
    let mark = RecordMark { last: false, length: 80 };
    let first_of_several = Xdr::new().u32(80).then(call(1, NFS, 3, 6, Xdr::new())).0;
    assert_eq!(RecordMark::new(&first_of_several), Some(mark));
    assert_eq!(plausible_record(&first_of_several), Some((mark, Message::Call)));
    let first_of_several = Xdr::new().u32(80).then(reply(1, Xdr::new().fixed(56))).0;
    assert_eq!(plausible_record(&first_of_several), None, "too weak a sign");
    assert_eq!(find_record(&[0; 4096]), None);
}

#[test]
fn programs_have_one_number_each() {
    for program in Program::ALL {
        assert_eq!(Program::from_wire(program.number()), Some(program));
        assert!(!program.name().is_empty());
    }
    assert_eq!(Program::from_wire(0), None);
}

/// Everything that can be asked of a message.
fn read_all(bytes: &[u8]) {
    if let Some(call) = Call::new(bytes) {
        let _ = (call.credential(), call.protection(), call.arguments());
    }
    if let Some(reply) = Reply::new(bytes) {
        let _ = (reply.accept_stat(), reply.results());
        let _ = reply.results_under(Protection::Integrity);
    }
    let _ = (plausible_call(bytes), plausible_reply(bytes), plausible_record(bytes), find_record(bytes));
    let _ = (plausible_call_of_any_program(bytes), plausible_record_of_any_program(bytes));
}

#[test]
fn damage_is_survived() {
    damage(&record(call(1, NFS, 3, 6, Xdr::new().fixed(40))).0, read_all);
    damage(&call(1, NFS, 3, 6, Xdr::new().fixed(40)).0, read_all);
    damage(&gss_call(0, 2, Xdr::new().opaque([1; 24]).opaque([3; 16])).0, read_all);
    damage(&reply(1, Xdr::new().fixed(40)).0, read_all);
    damage(&Xdr::new().words(&[1, 1, 1, 0, 2, 2]).0, read_all);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        read_all(&bytes);
    }

    #[test]
    fn a_cut_message_says_nothing_else_than_the_whole(cut in 24usize..200, data in proptest::collection::vec(any::<u8>(), 0..64)) {
        let bytes = call(77, NFS, 3, 7, Xdr::new().opaque(&data)).0;
        let whole = Call::new(&bytes).unwrap();
        let part = Call::new(&bytes[..cut.min(bytes.len())]).unwrap();
        prop_assert_eq!((part.xid(), part.program(), part.procedure()), (77, NFS, 7));
        prop_assert!(part.flavor().is_none_or(|flavor| Some(flavor) == whole.flavor()));
        if let Some(arguments) = part.arguments() {
            prop_assert!(whole.arguments().unwrap().starts_with(arguments));
        }
        prop_assert!(plausible_call(&bytes[..cut.min(bytes.len())]));
    }
}
