//! Warnings about a level at which the load generator was late.

use plimsoll_report::findings::MovedNumber;

/// What to say of a level whose verdict none of the moved numbers decides; `None` where none was moved.
pub(crate) fn caution(moved: &[MovedNumber]) -> Option<String> {
    let unit = SentenceUnit::of(moved.iter().flat_map(|one| [one.on_time, one.reported]));
    let shown = |MovedNumber { number, reported, on_time }: &MovedNumber| {
        format!("{number} would be {}, not {}", unit.show(*on_time), unit.show(*reported))
    };
    let all: Vec<String> = moved.iter().map(shown).collect();
    (!all.is_empty())
        .then(|| format!("the load generator was late for the slowest request: without that delay, {}", all.join(", ")))
}

/// The unit of all times of a sentence, so that they can be compared at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentenceUnit {
    /// Seconds, two decimals.
    Seconds,
    /// Milliseconds with this number of decimals.
    Milliseconds(usize),
    /// Microseconds, one decimal.
    Microseconds,
}

impl SentenceUnit {
    /// The unit for a set of times (s), by the largest, in which the smallest still has digits.
    #[must_use]
    pub fn of(times: impl Iterator<Item = f64>) -> SentenceUnit {
        let (least, most) =
            times.fold((f64::INFINITY, 0.0_f64), |(least, most), time| (least.min(time), most.max(time)));
        match () {
            () if most < 1e-3 => SentenceUnit::Microseconds,
            () if least >= 1.0 => SentenceUnit::Seconds,
            () if least < 1e-3 => SentenceUnit::Milliseconds(3),
            () => SentenceUnit::Milliseconds(2),
        }
    }

    /// A time in this unit.
    #[must_use]
    pub fn show(self, seconds: f64) -> String {
        match self {
            SentenceUnit::Seconds => format!("{seconds:.2} s"),
            SentenceUnit::Milliseconds(decimals) => format!("{:.decimals$} ms", seconds * 1e3),
            SentenceUnit::Microseconds => format!("{:.1} µs", seconds * 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_sentence_have_one_unit() {
        let moved = |number: &str, on_time, reported| MovedNumber { number: number.to_owned(), reported, on_time };
        let said = |moved: &[MovedNumber]| caution(moved).unwrap().split_once(", ").unwrap().1.to_owned();
        let few = moved("p50", 388.5e-6, 545.6e-6);
        assert_eq!(said(std::slice::from_ref(&few)), "p50 would be 388.5 µs, not 545.6 µs");
        let mixed = [few, moved("p90", 496.9e-6, 1.18e-3)];
        assert_eq!(
            said(&mixed),
            "p50 would be 0.389 ms, not 0.546 ms, p90 would be 0.497 ms, not 1.180 ms",
            "both times have the same unit"
        );
        assert_eq!(said(&[moved("max", 2e-3, 11.7)]), "max would be 2.00 ms, not 11700.00 ms");
        assert_eq!(said(&[moved("max", 2.0, 11.7)]), "max would be 2.00 s, not 11.70 s");
        assert_eq!(caution(&[]), None);
    }
}
