//! Tests pairing with simulated conversations, whose correct pairs are known. However the capture loses, duplicates and reorders packets,
//! and however ids wrap around, no pair is wrong, and every certain pair is found.

mod arrivals;

use std::collections::BTreeMap;

use crate::conversation::{Family, Role, Sent, Tag, config_of_many, converse, families, observe_every, operations};
use plimsoll_testkit::Side;
use proptest::prelude::*;

/// The capture's effect on a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Captured,
    Lost,
    /// Captured this number of segments later, perhaps after its answer: the network lost the first copy, or the capture is out of order.
    Resent(usize),
    /// The sender needlessly retransmits it this number of segments later.
    Again(usize),
    /// Captured behind the next one that goes the same way, if that follows at once.
    Swapped,
}

/// Which directions lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Losing {
    Neither,
    One(Side),
    Both,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        12 => Just(Fate::Captured),
        3 => Just(Fate::Lost),
        1 => (0usize..12).prop_map(Fate::Resent),
        1 => (0usize..12).prop_map(Fate::Again),
        2 => Just(Fate::Swapped),
    ];
    prop::collection::vec(fate, 400)
}

fn losing() -> impl Strategy<Value = Losing> {
    let one = prop_oneof![Just(Side::Client), Just(Side::Server)];
    prop_oneof![1 => Just(Losing::Neither), 2 => one.prop_map(Losing::One), 3 => Just(Losing::Both)]
}

/// The captured segments, in order, and the messages whose first segment was captured on time. The handshake and the acknowledgements at
/// the end are always captured.
fn capture(sent: Vec<Sent>, fates: &[Fate], losing: Losing) -> (Vec<Sent>, Vec<Tag>) {
    let (mut captured, mut in_time): (Vec<Sent>, Vec<Tag>) = Default::default();
    let mut again: Vec<(usize, Sent)> = Vec::new();
    let mut held_back: Option<Sent> = None;
    for (index, segment) in sent.into_iter().enumerate() {
        let fate = segment.tag.map_or(Fate::Captured, |_| fates[index % fates.len()]);
        let may_lose = losing == Losing::Both || losing == Losing::One(segment.from);
        // Only neighbours of one direction change places: a request stays before its answer.
        if held_back.as_ref().is_some_and(|held| held.from != segment.from) {
            captured.extend(held_back.take());
        }
        if let Fate::Resent(later) | Fate::Again(later) = fate {
            again.push((index + later, segment.clone()));
        }
        let kept = !(may_lose && matches!(fate, Fate::Lost | Fate::Resent(_)));
        in_time.extend(segment.tag.filter(|_| kept));
        if kept && fate == Fate::Swapped && held_back.is_none() {
            held_back = Some(segment);
            continue;
        }
        captured.extend(Some(segment).filter(|_| kept));
        captured.extend(held_back.take());
        while let Some(at) = again.iter().position(|(due, _)| *due <= index) {
            captured.push(again.remove(at).1);
        }
    }
    (captured, in_time)
}

/// The captured segments as text.
fn lines_of(captured: &[Sent]) -> Vec<String> {
    let line = |Sent { segment, tag, from }: &Sent| {
        let tag = tag.map(|tag| (tag.operation, tag.role));
        format!("{from:?} seq {} ack {} len {} {tag:?}", segment.seq, segment.ack, segment.payload.len())
    };
    captured.iter().map(line).collect()
}

proptest! {
    #![proptest_config(config_of_many(3_000))]

    #[test]
    fn no_pair_is_wrong_and_what_is_certain_is_found(
        family in families(),
        operations in operations(40),
        fates in fates(),
        losing in losing(),
        high in any::<bool>(),
        step_ns in prop_oneof![3 => Just(100_000), 1 => Just(0)],
    ) {
        let (captured, in_time) = capture(converse(family, &operations, high), &fates, losing);
        let (transactions, coverage) = observe_every(step_ns, &captured, usize::MAX);
        let tag = |frame: Option<std::num::NonZeroU64>| -> Option<Tag> { captured.get(frame?.get() as usize - 1)?.tag };
        let mut paired: BTreeMap<usize, usize> = BTreeMap::new();
        for transaction in &transactions {
            let asked = tag(transaction.frames.request_first);
            prop_assert!(matches!(asked, Some(Tag { role: Role::Request { .. }, first: true, .. })), "{transaction:?}");
            let Some(answered) = tag(transaction.frames.response_first) else { continue };
            let asked = asked.expect("looked at above");
            prop_assert!(matches!(answered.role, Role::Answer { .. }) && answered.first, "{answered:?}");
            let (asked, answered) = (asked.operation, answered.operation);
            prop_assert_eq!(asked, answered, "a wrong pair: {:?} of {:#?}", transaction.frames, lines_of(&captured));
            *paired.entry(asked).or_default() += 1;
        }
        prop_assert!(paired.values().all(|&count| count == 1), "paired twice: {paired:?}");
        // Both began where they should. (After losses both ways an SMB1 id may be that of another request, so nothing is certain.)
        let there = |operation, role| in_time.contains(&Tag { operation, role, first: true });
        let certain = |operation: &usize| {
            there(*operation, Role::Request { copy: 0 })
                && there(*operation, Role::Answer { copy: 0 })
                && !(family == Family::Smb1 && losing == Losing::Both)
        };
        for operation in (0..operations.len()).filter(certain) {
            prop_assert!(paired.contains_key(&operation), "{operation} is not paired: {:?}", coverage.anomalies);
        }
    }
}
