//! The gates of schedules.

use super::*;
use crate::validity::schedule::missing;

/// Iterations of 8 s, two per second, in a phase of 10 s that begins after 5 s: those due before 7 s end in it.
#[test]
fn iterations_that_last_longer_than_the_warm_up_do_not_miss_their_rate() {
    let long = Generator { asked_rate: Some(2.0), achieved_rate: 1.4, planned: 20, ..Generator::default() };
    let clients = [client(100, &[])];
    let of = |generator: &Generator, unended: u64| {
        let level = Level { seconds: 10.0, unended, ..level(generator, &clients, false) };
        let verdicts: Vec<_> = reasons(&level).into_iter().map(|reason| (reason.verdict, reason.text)).collect();
        (verdicts, behind(&level).is_some(), ended_later(&level).is_some())
    };
    let (verdicts, behind, later) = of(&long, 0);
    let [(verdict, text)] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert_eq!((*verdict, behind, later), (plimsoll_model::Verdict::Partial, false, true));
    assert!(text.contains("1.40 of 2.00 iterations/s") && text.contains("(use a longer --warmup)"), "{text}");
    assert!(text.ends_with(", or it is chance, because only 20 were due"), "{text}");
    let many = Generator { planned: 60, asked_rate: Some(6.0), achieved_rate: 5.0, ..long.clone() };
    assert!(of(&many, 0).0[0].1.ends_with("(use a lower rate)"), "three missing ones are 5 %");
    // Those that wait for a free slot, or are never begun, are not on time. Those that never end are in no number.
    for (late_starts, never_sent, unended) in [(2, 0, 0), (0, 2, 0), (1, 1, 0), (0, 0, 2), (1, 0, 1)] {
        let (verdicts, behind, later) = of(&Generator { late_starts, never_sent, ..long.clone() }, unended);
        assert_eq!((verdicts[0].0, behind, later), (plimsoll_model::Verdict::Invalid, true, false), "{verdicts:?}");
        assert_eq!(verdicts[0].1.contains(" never ended"), unended > 0, "{verdicts:?}");
        assert_eq!(verdicts[0].1.ends_with("than the drain, use a longer --warmup"), unended > 0, "{verdicts:?}");
    }
    assert!(of(&Generator { late_starts: 1, ..long.clone() }, 0).2 && of(&long, 1).2, "one of twenty");
}

/// A load generator at its limit begins iterations late, but does not keep the server from answering those that it began.
#[test]
fn iterations_that_never_end_are_not_the_generators_fault() {
    let clients = [client(100, &[])];
    let of = |late_starts: u64, unended: u64| {
        let some = Generator { asked_rate: Some(10.0), achieved_rate: 8.0, planned: 100, ..Generator::default() };
        let generator = Generator { late_starts, ..some };
        let level = Level { seconds: 10.0, unended, ..level(&generator, &clients, false) };
        (behind(&level).is_some(), behind_by_generator(&level).is_some())
    };
    assert_eq!([of(20, 0), of(20, 5), of(20, 6), of(0, 6)], [(true, true), (true, true), (true, false), (true, false)]);
}

#[test]
fn a_response_time_longer_than_the_phase_is_explained() {
    let behind = |planned, never_sent| {
        let mut generator =
            Generator { asked_rate: Some(100.0), achieved_rate: 9.0, planned, never_sent, ..Generator::default() };
        generator.lateness.from_intended.measured.record(11_700_000_000);
        behind(&level(&generator, &[], false)).unwrap()
    };
    let text = behind(100, 91);
    assert!(
        text.contains(
            "91 planned iterations were never started; response times from the intended start reach 11.70 s, which \
        is longer than the phase (1.00 s): each"
        ),
        "{text}"
    );
    assert_eq!(missing(0, 3), "; 3 planned iterations never ended", "no word of those that were never started");
    assert_eq!((missing(1, 0).as_str(), missing(0, 0).as_str()), ("; 1 planned iteration was never started", ""));
    let text = behind(100, 100);
    assert!(
        text.ends_with(
            "never started, that is, every iteration due in the phase; the requests in the phase belong to earlier iterations"
        ),
        "{text}"
    );
}
