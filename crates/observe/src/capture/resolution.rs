//! From a clock's ticks to nanoseconds.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.2 (if_tsresol, if_tsoffset)

/// The tick of an interface's clock, and its zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolution {
    tick: Tick,
    offset_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tick {
    /// Nanoseconds per tick.
    Nanoseconds(u64),
    /// Ticks per nanosecond.
    PerNanosecond(u64),
    /// 2 to this power in a second.
    PowerOfTwo(u32),
    /// The ticks since 1970 do not fit 64 bits, so the times are unusable.
    Unusable,
}

impl Resolution {
    /// From the values of the options if_tsresol and if_tsoffset (in seconds).
    pub(super) fn new(unit: u8, offset_s: i64) -> Self {
        let exponent = u32::from(unit & 0x7f);
        let tick = match (unit & 0x80 != 0, exponent) {
            (true, 0..=63) => Tick::PowerOfTwo(exponent),
            (false, 0..=9) => Tick::Nanoseconds(10u64.pow(9 - exponent)),
            (false, 10..=19) => Tick::PerNanosecond(10u64.pow(exponent - 9)),
            _ => Tick::Unusable,
        };
        match offset_s.checked_mul(1_000_000_000) {
            Some(offset_ns) => Self { tick, offset_ns },
            None => Self { tick: Tick::Unusable, offset_ns: 0 },
        }
    }

    /// The instant in nanoseconds since the Unix epoch, rounded down; None where 64 bits cannot hold it.
    pub(super) fn time_ns(self, ticks: u64) -> Option<i64> {
        let since_zero = match self.tick {
            Tick::Nanoseconds(ns) => ticks.checked_mul(ns)?,
            Tick::PerNanosecond(per_ns) => ticks / per_ns,
            Tick::PowerOfTwo(bits) => u64::try_from((u128::from(ticks) * 1_000_000_000) >> bits).ok()?,
            Tick::Unusable => return None,
        };
        i64::try_from(since_zero).ok()?.checked_add(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Resolution;

    #[test]
    fn units_of_ten_and_of_two() {
        assert_eq!(Resolution::new(6, 0).time_ns(1_500_000_000_123_456), Some(1_500_000_000_123_456_000));
        assert_eq!(Resolution::new(9, 0).time_ns(7), Some(7));
        assert_eq!(Resolution::new(0, 0).time_ns(3), Some(3_000_000_000));
        assert_eq!(Resolution::new(12, 0).time_ns(1_999), Some(1));
        // 2^-32 s, as NTP counts: a quarter of a second.
        assert_eq!(Resolution::new(0x80 | 32, 0).time_ns((5 << 32) + (1 << 30)), Some(5_250_000_000));
        assert_eq!(Resolution::new(0x80, 0).time_ns(5), Some(5_000_000_000));
    }

    #[test]
    fn offsets_move_both_ways() {
        assert_eq!(Resolution::new(6, 100).time_ns(1), Some(100_000_001_000));
        assert_eq!(Resolution::new(6, -1).time_ns(1), Some(-999_999_000));
    }

    #[test]
    fn what_does_not_fit_is_unknown() {
        assert_eq!(Resolution::new(6, 0).time_ns(u64::MAX), None);
        assert_eq!(Resolution::new(20, 0).time_ns(1), None);
        assert_eq!(Resolution::new(0x80 | 64, 0).time_ns(1), None);
        assert_eq!(Resolution::new(6, i64::MAX).time_ns(1), None);
        assert_eq!(Resolution::new(9, 9_000_000_000).time_ns(i64::MAX as u64), None);
    }
}
