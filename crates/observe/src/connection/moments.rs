//! Moments of a connection in bounded memory: in which of 64 spans of time there was one. The spans double as the connection lasts.

use serde::{Deserialize, Serialize};

/// The first spans last 2^27 ns (134 ms).
const FIRST_SHIFT: u32 = 27;
const SPANS: u32 = u64::BITS;

/// Moments, in the order of time or nearly so.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Moments {
    first_ns: i64,
    shift: u32,
    spans: u64,
}

impl Moments {
    pub(super) fn add(&mut self, now_ns: i64) {
        if self.spans == 0 {
            *self = Self { first_ns: now_ns, shift: FIRST_SHIFT, spans: 1 };
            return;
        }
        let passed = u64::try_from(now_ns.saturating_sub(self.first_ns)).unwrap_or(0);
        while passed >> self.shift >= u64::from(SPANS) {
            self.double();
        }
        self.spans |= 1 << (passed >> self.shift);
    }

    #[cold]
    fn double(&mut self) {
        let is_in = |span: u32| self.spans >> span & 1;
        self.spans = (0..SPANS / 2).map(|span| (is_in(2 * span) | is_in(2 * span + 1)) << span).sum();
        self.shift += 1;
    }

    /// Whether one certainly lies between two instants.
    pub(super) fn has_within(&self, from_ns: i64, to_ns: i64) -> bool {
        let passed_ns = |span: u32| i64::try_from(u128::from(span) << self.shift).unwrap_or(i64::MAX);
        let begins = |span: u32| self.first_ns.saturating_add(passed_ns(span));
        let is_within = |span: u32| begins(span) >= from_ns && begins(span + 1) <= to_ns;
        let is_first = self.spans != 0 && (from_ns..=to_ns).contains(&self.first_ns);
        is_first || (0..SPANS).any(|span| self.spans >> span & 1 == 1 && is_within(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_moment_is_found_within_what_surrounds_it() {
        let mut moments = Moments::default();
        assert!(!moments.has_within(i64::MIN, i64::MAX), "there is none");
        [5 * S, 20 * S, 300 * S].into_iter().for_each(|at| moments.add(at));
        assert!(moments.has_within(4 * S, 6 * S));
        assert!(moments.has_within(8 * S, 40 * S));
        assert!(moments.has_within(250 * S, 350 * S));
        assert!(!moments.has_within(40 * S, 250 * S));
        assert!(!moments.has_within(19 * S, 21 * S), "spans last longer by now");
        moments.add(5 * S - 1);
        assert!(!moments.has_within(0, 4 * S), "before the first it is the first");
        moments.add(i64::MAX);
        assert!(moments.has_within(0, i64::MAX));
    }
}
