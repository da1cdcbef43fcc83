use super::*;

fn survey() -> Survey {
    Survey::new(Key::of(b"a secret of enough bytes").unwrap())
}

/// Locks of a compound: few bytes that are not zero, each of which takes a span.
#[test]
fn spans_places_and_datagrams_take_memory() {
    let mut survey = survey();
    let mut sparse = vec![0; 100 * (ZEROS + 1)];
    sparse.chunks_mut(ZEROS + 1).for_each(|chunk| chunk[0] = 7);
    survey.keep(stream(1, 0), 0, &sparse);
    assert_eq!(survey.bytes.len(), 100);
    assert!(survey.used >= 100 + 100 * size_of::<Span>(), "{}", survey.used);
    let used = survey.used;
    survey.note(1, Place::Stream(stream(1, 0), 0));
    assert!(survey.used >= used + size_of::<(u64, Place)>());
    assert!(!survey.is_full());
    survey.used = MEMORY_MAX;
    survey.keep(stream(1, 0), 9_000, &[7]);
    assert!(survey.is_full());
}
