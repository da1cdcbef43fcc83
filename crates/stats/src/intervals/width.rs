//! How long an interval is.

/// Shortest first. Each is a multiple of the previous one, so that intervals join to whole ones of the next width.
const LADDER_NS: [i64; 9] = [
    100_000_000,
    SECOND,
    10 * SECOND,
    60 * SECOND,
    600 * SECOND,
    3_600 * SECOND,
    86_400 * SECOND,
    8_640_000 * SECOND,
    // 274 years: all the time that 64 bits hold is four such.
    8_640_000_000 * SECOND,
];

const SECOND: i64 = 1_000_000_000;

/// How long an interval is: 100 ms, 1 s, 10 s, 1 min, 10 min, 1 h, 1 day, and two that only nonsense needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntervalWidth(u8);

impl IntervalWidth {
    /// 100 ms: for phases of few seconds.
    pub const NARROW: Self = Self(0);
    /// 1 s.
    pub const USUAL: Self = Self(1);

    /// For a phase of a known length: phases shorter than 20 s get narrow intervals.
    pub fn of_phase(length_ns: u64) -> Self {
        if length_ns < 20 * SECOND.unsigned_abs() { Self::NARROW } else { Self::USUAL }
    }

    /// A width read from somewhere; `None` for one that there is not.
    pub fn from_ns(ns: i64) -> Option<Self> {
        let place = LADDER_NS.iter().position(|&width| width == ns)?;
        u8::try_from(place).ok().map(Self)
    }

    /// In ns.
    pub fn ns(self) -> i64 {
        LADDER_NS[usize::from(self.0)]
    }

    /// The next one; `None` after the last.
    pub(super) fn wider(self) -> Option<Self> {
        let next = self.0 + 1;
        (usize::from(next) < LADDER_NS.len()).then_some(Self(next))
    }

    /// The number of the interval of an instant: intervals begin at multiples of their width since the Unix epoch.
    #[inline]
    pub(super) fn number(self, ns: i64) -> i64 {
        ns.div_euclid(self.ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_width_is_a_multiple_of_the_one_before() {
        assert!(LADDER_NS.windows(2).all(|pair| pair[1] > pair[0] && pair[1] % pair[0] == 0), "{LADDER_NS:?}");
        let last = IntervalWidth((LADDER_NS.len() - 1) as u8);
        assert_eq!(last.wider(), None);
        assert_eq!((last.number(i64::MIN), last.number(i64::MAX)), (-2, 1));
    }

    #[test]
    fn a_phase_below_twenty_seconds_is_cut_finer() {
        assert_eq!(IntervalWidth::of_phase(19_999_999_999).ns(), 100_000_000);
        assert_eq!(IntervalWidth::of_phase(20_000_000_000), IntervalWidth::USUAL);
        assert_eq!(IntervalWidth::from_ns(1_000_000_000), Some(IntervalWidth::USUAL));
        assert_eq!(IntervalWidth::from_ns(0), None);
    }
}
