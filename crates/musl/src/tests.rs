//! Every length up to some hundred bytes, and some around the limits, at every alignment.

extern crate std;

use std::vec::Vec;

use crate::{compare, copy};

/// Bytes around the places, which must stay as they are.
const MARGIN: usize = 96;

fn lengths() -> impl Iterator<Item = usize> {
    (0..=300).chain(2040..=2056).chain([4096, 10_007])
}

/// Bytes of which none equals its neighbours.
fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 151 + at / 256 * 7) as u8).collect()
}

#[test]
fn copies_are_whole_and_touch_nothing_else() {
    for count in lengths() {
        for (to, from) in [(0, 0), (1, 0), (0, 7), (15, 3), (8, 13)] {
            let source = pattern(MARGIN + count);
            let mut target = std::vec![0xEE; 2 * MARGIN + count];
            // SAFETY: both have room for a margin more, and are separate.
            unsafe { copy::disjoint(target.as_mut_ptr().add(MARGIN + to), source.as_ptr().add(from), count) };
            let (start, end) = (MARGIN + to, MARGIN + to + count);
            assert_eq!(&target[start..end], &source[from..from + count], "{count} bytes from {from} to {to}");
            assert!(target[..start].iter().chain(&target[end..]).all(|&byte| byte == 0xEE), "{count} bytes to {to}");
        }
    }
}

#[test]
fn places_may_overlap() {
    for count in lengths() {
        for distance in [0, 1, 3, 15, 16, 17, 31, 63, 64, 65, MARGIN] {
            for (to, from) in [(MARGIN, MARGIN - distance), (MARGIN - distance, MARGIN)] {
                let before = pattern(2 * MARGIN + count);
                let (mut moved, mut expected) = (before.clone(), before);
                expected.copy_within(from..from + count, to);
                let bytes = moved.as_mut_ptr();
                // SAFETY: both places are inside.
                unsafe { copy::overlapping(bytes.add(to), bytes.add(from), count) };
                assert!(moved == expected, "{count} bytes from {from} to {to}");
            }
        }
    }
}

#[test]
fn order_is_that_of_the_first_difference() {
    let sign = |a: &[u8], b: &[u8]| {
        // SAFETY: both have this length.
        unsafe { compare::order(a.as_ptr(), b.as_ptr(), a.len()) }.signum()
    };
    for count in lengths() {
        let a = pattern(count);
        assert_eq!(sign(&a, &a.clone()), 0, "{count}");
        for at in (0..count).filter(|at| *at < 70 || count - at < 40) {
            for difference in [1_u8, 255] {
                let mut b = a.clone();
                b[at] = a[at].wrapping_add(difference);
                let expected = a[at].cmp(&b[at]) as i32;
                // Later bytes do not decide.
                b[at + 1..].fill(if expected < 0 { 0 } else { 255 });
                assert_eq!(sign(&a, &b), expected, "{count} bytes, different at {at}");
            }
        }
    }
}
