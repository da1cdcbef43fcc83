//! Breaks of leases and oplocks, counted by client, share and states.

mod held;

use plimsoll_model::{CachingRight, Coverage, LeaseBreaks, Names, Symbol};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use super::conversation::observed;
use super::waiting::MS;

const TREE_CONNECT: u16 = 3;
const SET_INFO: u16 = 0x11;
const OPLOCK_BREAK: u16 = 0x12;
const BATCH: u8 = 9;

const fn lease(state: u32) -> Option<CachingRight> {
    Some(CachingRight::Lease(state))
}

const fn oplock(level: u8) -> Option<CachingRight> {
    Some(CachingRight::Oplock(level))
}

/// A client that holds rights, and another one.
struct Scene {
    traffic: Traffic,
    holder: Tcp,
    other: Tcp,
    id: u64,
}

impl Scene {
    fn new() -> Self {
        let (holder, other) = (Tcp::between_ports(700, 445), Tcp::between_ports(701, 445));
        let mut scene = Self { traffic: Traffic::new(Link::Ethernet), holder, other, id: 1 };
        let path: Vec<u8> = r"\\server\data".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let fixed = [&[9, 0, 0, 0, 72, 0][..], &(path.len() as u16).to_le_bytes(), &path].concat();
        scene.asks(&smb2::request(TREE_CONNECT, 1).body(&fixed));
        let mut answer = vec![0; 16];
        (answer[0], answer[2]) = (16, 1);
        scene.says(&smb2::response(TREE_CONNECT, 1, 0).body(&answer));
        scene
    }

    fn asks(&mut self, message: &smb2::Message) {
        self.traffic.send(&mut self.holder, Side::Client, &nbss(&message.bytes()));
    }

    fn says(&mut self, message: &smb2::Message) {
        self.traffic.send(&mut self.holder, Side::Server, &nbss(&message.bytes()));
    }

    fn waits(&mut self, ns: i64) {
        self.traffic.time_ns += ns;
    }

    /// The holder opens something; the server grants what `grant` writes into its response.
    fn opens(&mut self, name: &str, file: u8, grant: impl FnOnce(&mut Vec<u8>)) {
        self.id += 1;
        self.asks(&smb2::create(self.id, name));
        let mut body = vec![0; 88];
        body[0] = 89;
        body[64..80].copy_from_slice(&smb2::file(file));
        grant(&mut body);
        self.says(&smb2::response(smb2::command::CREATE, self.id, 0).body(&body));
    }

    /// The lease, in the context that is behind the body.
    fn opens_with_lease(&mut self, name: &str, file: u8, key: u8, state: u32, is_directory: bool) {
        self.opens(name, file, |body| {
            body[2] = 0xff;
            body[56] = if is_directory { 0x10 } else { 0x80 };
            body[80..84].copy_from_slice(&152_u32.to_le_bytes());
            body[84..88].copy_from_slice(&56_u32.to_le_bytes());
            body.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 32, 0, 0, 0]);
            body.extend(b"RqLs\0\0\0\0");
            body.extend([key; 16]);
            body.extend(state.to_le_bytes());
            body.extend([0; 12]);
        });
    }

    fn breaks_lease(&mut self, key: u8, (from, to): (u32, u32), demands: bool) {
        let mut body = vec![44, 0, 0, 0, u8::from(demands), 0, 0, 0];
        body.extend([key; 16]);
        body.extend(from.to_le_bytes());
        body.extend(to.to_le_bytes());
        body.extend([0; 12]);
        self.says(&smb2::response(OPLOCK_BREAK, u64::MAX, 0).body(&body));
    }

    fn breaks_oplock(&mut self, file: u8, level: u8) {
        let body = [&[24, 0, level, 0, 0, 0, 0, 0][..], &smb2::file(file)].concat();
        self.says(&smb2::response(OPLOCK_BREAK, u64::MAX, 0).body(&body));
    }

    fn acknowledges_lease(&mut self, key: u8, state: u32) {
        self.id += 1;
        let body = [&[36, 0, 0, 0, 0, 0, 0, 0][..], &[key; 16], &state.to_le_bytes(), &[0; 8]].concat();
        self.asks(&smb2::request(OPLOCK_BREAK, self.id).body(&body));
        self.says(&smb2::response(OPLOCK_BREAK, self.id, 0).body(&body));
    }

    fn acknowledges_oplock(&mut self, file: u8, level: u8) {
        self.id += 1;
        let body = [&[24, 0, level, 0, 0, 0, 0, 0][..], &smb2::file(file)].concat();
        self.asks(&smb2::request(OPLOCK_BREAK, self.id).body(&body));
        self.says(&smb2::response(OPLOCK_BREAK, self.id, 0).body(&body));
    }

    /// A break or an acknowledgement with a key that is a number.
    fn numbered(&mut self, number: u32, is_break: bool) {
        let key = [&number.to_le_bytes()[..], &[1; 12]].concat();
        if is_break {
            let states = [&7_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), &[0; 12]].concat();
            let body = [&[44, 0, 0, 0, 1, 0, 0, 0][..], &key, &states].concat();
            return self.says(&smb2::response(OPLOCK_BREAK, u64::MAX, 0).body(&body));
        }
        self.id += 1;
        let body = [&[36, 0, 0, 0, 0, 0, 0, 0][..], &key, &3_u32.to_le_bytes(), &[0; 8]].concat();
        self.asks(&smb2::request(OPLOCK_BREAK, self.id).body(&body));
    }

    fn closes(&mut self, file: u8) {
        self.id += 1;
        self.asks(&smb2::close(self.id, smb2::file(file)));
        self.says(&smb2::closed(self.id));
    }

    fn seen(&self) -> (Coverage, Names) {
        let observed = observed(&self.traffic);
        (observed.coverage, observed.names)
    }

    /// The only kind of breaks.
    fn only(&self) -> LeaseBreaks {
        let (coverage, _) = self.seen();
        assert_eq!(coverage.lease_breaks.len(), 1, "{coverage:?}");
        coverage.lease_breaks[0]
    }
}

#[test]
fn a_directory_lease_is_counted_by_share_states_and_acknowledgement() {
    let mut scene = Scene::new();
    scene.opens_with_lease("folder", 1, 5, 3, true);
    for ns in [30 * MS, 10 * MS] {
        scene.breaks_lease(5, (3, 0), true);
        scene.waits(ns);
        scene.acknowledges_lease(5, 0);
    }
    let (coverage, names) = scene.seen();
    let found = scene.only();
    assert_eq!(names.text(found.share), Some(r"\\server\data"));
    assert_eq!((found.is_directory, found.from, found.to), (Some(true), lease(3), lease(0)));
    assert_eq!((found.notified, found.acknowledged, found.closed, found.unanswered), (2, 2, 0, 0));
    assert!((40 * MS as u64..41 * MS as u64).contains(&found.acknowledged_ns), "{found:?}");
    assert!((30 * MS as u64..31 * MS as u64).contains(&found.longest_ns), "{found:?}");
    assert_eq!((coverage.breaks.notified, coverage.breaks.unsolicited), (2, 0));
}

#[test]
fn the_state_of_an_oplock_is_known_from_its_open_and_its_last_break() {
    let mut scene = Scene::new();
    scene.opens("file", 1, |body| body[2] = BATCH);
    scene.breaks_oplock(1, 1);
    scene.waits(5 * MS);
    scene.acknowledges_oplock(1, 1);
    scene.breaks_oplock(1, 0);
    let (coverage, _) = scene.seen();
    let kinds: Vec<_> = coverage.lease_breaks.iter().map(|one| (one.from, one.to, one.is_directory)).collect();
    assert_eq!(kinds, [(oplock(BATCH), oplock(1), Some(false)), (oplock(1), oplock(0), Some(false))]);
    let answers: Vec<_> = coverage.lease_breaks.iter().map(|one| (one.acknowledged, one.unanswered)).collect();
    assert_eq!(answers, [(1, 0), (0, 0)], "a level II oplock is not acknowledged");
}

#[test]
fn a_break_is_unanswered_until_it_is_acknowledged_or_the_file_is_closed() {
    let of = |answer: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::new();
        scene.opens_with_lease("file", 1, 5, 7, false);
        scene.opens_with_lease("another file", 2, 6, 7, false);
        scene.breaks_lease(5, (7, 3), true);
        answer(&mut scene);
        let found = scene.only();
        (found.acknowledged, found.closed, found.unanswered)
    };
    assert_eq!(of(&|_| ()), (0, 0, 1));
    assert_eq!(of(&|scene| scene.closes(1)), (0, 1, 0));
    assert_eq!(of(&|scene| scene.closes(2)), (0, 0, 1), "another file");
    assert_eq!(of(&|scene| scene.acknowledges_lease(6, 3)), (0, 0, 1), "another lease");
    assert_eq!(of(&|scene| scene.acknowledges_oplock(5, 1)), (0, 0, 1), "an oplock");
    let both = |scene: &mut Scene| {
        scene.closes(1);
        scene.closes(1);
        scene.acknowledges_lease(5, 3);
    };
    assert_eq!(of(&both), (1, 0, 0), "one of several handles was closed");
    let mut scene = Scene::new();
    scene.opens_with_lease("file", 1, 5, 1, false);
    scene.breaks_lease(5, (1, 0), false);
    let found = scene.only();
    assert_eq!((found.notified, found.unanswered), (1, 0), "the server does not wait");
}

#[test]
fn acknowledgements_that_nothing_demanded_are_counted_apart() {
    let mut scene = Scene::new();
    scene.acknowledges_lease(5, 0);
    scene.acknowledges_oplock(1, 0);
    let (coverage, _) = scene.seen();
    assert_eq!((coverage.breaks.unsolicited, coverage.lease_breaks.len()), (2, 0));
    scene.breaks_lease(5, (3, 0), true);
    scene.acknowledges_lease(5, 0);
    scene.acknowledges_lease(5, 0);
    let (coverage, _) = scene.seen();
    assert_eq!((coverage.breaks.unsolicited, scene.only().acknowledged), (3, 1), "twice");
}

#[test]
fn a_break_of_an_unknown_lease_has_no_share_and_a_cut_one_no_state() {
    let mut scene = Scene::new();
    scene.breaks_lease(5, (3, 0), true);
    let found = scene.only();
    assert_eq!((found.share, found.is_directory, found.from), (Symbol::NONE, None, lease(3)));
    assert_eq!(found.unanswered, 1);
    let mut scene = Scene::new();
    scene.breaks_oplock(9, 0);
    let found = scene.only();
    assert_eq!((found.from, found.to, found.unanswered), (None, oplock(0), 0), "it may have been of level II");
    let mut scene = Scene::new();
    scene.says(&smb2::response(OPLOCK_BREAK, u64::MAX, 0));
    let found = scene.only();
    assert_eq!((found.from, found.to, found.notified, found.unanswered), (None, None, 1, 0));
    // Not even a key: only zeros, as in captures that were anonymised without keys.
    let mut scene = Scene::new();
    scene.opens_with_lease("file", 1, 0, 3, false);
    scene.breaks_lease(0, (3, 0), true);
    assert_eq!(scene.only().share, Symbol::NONE);
}

#[test]
fn endless_breaks_have_a_bound() {
    let mut scene = Scene::new();
    for from in 0..400 {
        scene.breaks_lease(5, (from, 0), true);
    }
    let (coverage, _) = scene.seen();
    assert_eq!((coverage.breaks.notified, coverage.lease_breaks.len()), (400, Coverage::LEASE_BREAKS));
    let unanswered = |coverage: &Coverage| coverage.lease_breaks.iter().map(|one| one.unanswered).sum::<u64>();
    assert_eq!(unanswered(&coverage), 0, "the last one has no row");
    scene.breaks_lease(5, (0, 0), true);
    let (coverage, _) = scene.seen();
    assert_eq!(unanswered(&coverage), 1, "a further break of a lease follows only on an answer");
}

#[test]
fn of_too_many_breaks_the_oldest_are_forgotten_and_their_acknowledgements_are_not_called_unsolicited() {
    const MOST: u32 = 16_384;
    let mut scene = Scene::new();
    scene.opens_with_lease("file", 1, 5, 7, false);
    scene.breaks_lease(5, (7, 3), true);
    scene.closes(1);
    (0..MOST + 1).for_each(|number| scene.numbered(number, true));
    // The closed one and the first one were forgotten; the second and the last one are known.
    let (coverage, _) = scene.seen();
    assert_eq!(coverage.lease_breaks.iter().map(|one| one.closed).sum::<u64>(), 1);
    assert_eq!(coverage.lease_breaks[1].unanswered, u64::from(MOST));
    [0, 1, MOST].into_iter().for_each(|number| scene.numbered(number, false));
    let (coverage, _) = scene.seen();
    let found = coverage.lease_breaks[1];
    assert_eq!((found.notified, found.acknowledged, found.unanswered), (16_385, 2, 16_382));
    assert_eq!((coverage.breaks.unsolicited, coverage.breaks.unmatched), (0, 1));
}

#[test]
fn acknowledgements_of_breaks_without_a_row_or_a_known_demand_are_not_unsolicited() {
    let counts = |scene: &Scene| scene.seen().0.breaks;
    let mut scene = Scene::new();
    (0..Coverage::LEASE_BREAKS as u32).for_each(|from| scene.breaks_lease(9, (from, 0), false));
    scene.breaks_lease(5, (999, 0), true);
    scene.acknowledges_lease(5, 0);
    assert_eq!((counts(&scene).unsolicited, counts(&scene).unmatched), (0, 0), "no row");
    let mut scene = Scene::new();
    scene.breaks_oplock(9, 0);
    scene.acknowledges_oplock(9, 0);
    assert_eq!(
        (counts(&scene).unsolicited, counts(&scene).unmatched, scene.only().acknowledged),
        (0, 0, 1),
        "an oplock"
    );
    let mut scene = Scene::new();
    scene.says(&smb2::response(OPLOCK_BREAK, u64::MAX, 0));
    scene.acknowledges_lease(5, 0);
    assert_eq!((counts(&scene).unsolicited, counts(&scene).unmatched), (0, 1), "cut off");
}

#[test]
fn an_acknowledgement_over_other_addresses_is_of_the_only_break_with_its_key() {
    let elsewhere = || Tcp::new(([10, 0, 1, 1], 900).into(), ([10, 0, 1, 2], 445).into());
    let mut scene = Scene::new();
    scene.opens_with_lease("file", 1, 5, 7, false);
    let mut first = std::mem::replace(&mut scene.holder, elsewhere());
    scene.breaks_lease(5, (7, 3), true);
    let found = scene.only();
    assert!(found.share.is_some() && found.unanswered == 1, "the lease is known: {found:?}");
    std::mem::swap(&mut scene.holder, &mut first);
    scene.acknowledges_lease(5, 3);
    let found = scene.only();
    assert_eq!((found.acknowledged, found.unanswered, scene.seen().0.breaks.unsolicited), (1, 0, 0));
    // Two clients with the same key.
    scene.breaks_lease(5, (7, 3), true);
    std::mem::swap(&mut scene.holder, &mut first);
    scene.breaks_lease(5, (7, 3), true);
    scene.holder = Tcp::new(([10, 0, 2, 1], 901).into(), ([10, 0, 2, 2], 445).into());
    scene.acknowledges_lease(5, 3);
    let (coverage, _) = scene.seen();
    let sum = |of: fn(&LeaseBreaks) -> u64| coverage.lease_breaks.iter().map(of).sum::<u64>();
    assert_eq!((sum(|one| one.notified), sum(|one| one.acknowledged), sum(|one| one.unanswered)), (3, 1, 0));
    assert_eq!((coverage.breaks.unsolicited, coverage.breaks.unmatched), (0, 1));
}

/// Another client opens `name`, or renames the file that it has open as `name`, while the holder's lease is broken.
fn delayed(is_directory: bool, name: &str, renames: bool) -> Coverage {
    let mut scene = Scene::new();
    scene.opens_with_lease("held", 1, 5, 3, is_directory);
    let (traffic, other) = (&mut scene.traffic, &mut scene.other);
    let mut request = smb2::create(1, name);
    let mut answer = smb2::created(1, smb2::file(2));
    if renames {
        traffic.exchange(other, &nbss(&request.bytes()), &nbss(&answer.bytes()));
        let body = [&[33, 0, 1, 10][..], &[0; 12], &smb2::file(2)].concat();
        (request, answer) = (smb2::request(SET_INFO, 2).body(&body), smb2::response(SET_INFO, 2, 0).body(&[2, 0]));
    }
    traffic.send(other, Side::Client, &nbss(&request.bytes()));
    scene.breaks_lease(5, (3, 1), true);
    scene.waits(20 * MS);
    scene.acknowledges_lease(5, 1);
    scene.traffic.send(&mut scene.other, Side::Server, &nbss(&answer.bytes()));
    scene.seen().0
}

#[test]
fn opens_and_renames_wait_for_the_breaks_of_their_file() {
    let waits = |coverage: Coverage| (coverage.lease_breaks[0].waits, coverage.breaks.opens);
    let found = delayed(false, "held", false);
    let one = found.lease_breaks[0];
    assert!((20 * MS as u64..22 * MS as u64).contains(&one.wait_ns), "{one:?}");
    assert_eq!(waits(found), (1, 1));
    assert_eq!(waits(delayed(false, "held", true)), (1, 0), "a rename is no open");
    assert_eq!(waits(delayed(false, "other", true)), (0, 0), "another file");
    assert_eq!(waits(delayed(false, "other", false)), (0, 0), "an open of another file");
    assert_eq!(waits(delayed(true, "held", false)), (1, 1), "the directory itself");
    assert_eq!(waits(delayed(true, r"held\file", false)), (0, 0), "a change in a directory does not wait");
}

#[test]
fn the_holder_does_not_wait_for_its_own_break() {
    let mut scene = Scene::new();
    scene.opens_with_lease("held", 1, 5, 3, false);
    scene.asks(&smb2::create(90, "held"));
    scene.breaks_lease(5, (3, 1), true);
    scene.waits(20 * MS);
    scene.acknowledges_lease(5, 1);
    scene.says(&smb2::created(90, smb2::file(2)));
    let (coverage, _) = scene.seen();
    assert_eq!((coverage.lease_breaks[0].waits, coverage.breaks.opens), (0, 0));
}
