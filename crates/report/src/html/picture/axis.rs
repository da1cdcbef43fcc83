//! Where numbers lie on a static picture, and the axes beside it.

use super::{BOTTOM, LEFT, RIGHT, TOP};
use crate::html::chart::{Axis, Scale, TICKS_RIGHT, TICKS_UP, Unit, nice_step};
use crate::html::units::{bits, bytes, count, duration};
use maud::{Markup, html};

/// Maximum number of names that fit side by side; of more, only some are written.
const NAMES_WRITTEN: usize = 14;
/// Maximum width of all names, in characters of the picture.
const NAME_CHARACTERS: usize = 120;

/// Rarities that have a label.
const RARITIES: [(f64, &str); 8] = [
    (0.0, "0 %"),
    (std::f64::consts::LOG10_2, "50 %"),
    (1.0, "90 %"),
    (2.0, "99 %"),
    (3.0, "99.9 %"),
    (4.0, "99.99 %"),
    (5.0, "99.999 %"),
    (6.0, "99.9999 %"),
];

impl Axis {
    /// 0 at the axis' low end, 1 at its high end; `None` for values that it cannot show.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let share = if self.scale == Scale::Log {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.is_finite().then_some(share)
    }

    fn ticks(&self, parts: f64) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear | Scale::Time => {
                let step = nice_step(self.high - self.low, parts);
                // A nice step fits at most ten times.
                let values = (0..=10).map(|i| self.low + f64::from(i) * step).filter(|v| *v <= self.high * 1.000_001);
                values.map(|v| (v, self.label(v, step))).collect()
            }
            Scale::Log => {
                let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                (low..=high).map(|e| 10_f64.powi(e)).map(|v| (v, self.label(v, v))).collect()
            }
            Scale::Rarity => {
                RARITIES.iter().filter(|tick| tick.0 <= self.high + 1e-9).map(|t| (t.0, t.1.to_owned())).collect()
            }
            Scale::Names => {
                let characters: usize = self.names.iter().map(|name| name.chars().count() + 2).sum();
                let room = NAMES_WRITTEN.min(NAME_CHARACTERS * self.names.len() / characters.max(1)).max(1);
                let every = self.names.len().div_ceil(room).max(1);
                self.names.iter().enumerate().step_by(every).map(|(i, name)| (i as f64, name.clone())).collect()
            }
        }
    }

    /// A tick's number; `step` decides how many digits it has.
    fn label(&self, value: f64, step: f64) -> String {
        match self.unit {
            // A tick is a round number: "1.00 ms" would objective digits that mean nothing.
            Unit::Seconds => rounded(&duration(value)),
            Unit::BytesPerSecond => format!("{}/s", rounded(&bytes(value))),
            Unit::BitsPerSecond => format!("{}/s", rounded(&bits(value))),
            Unit::PerSecond => format!("{}/s", decimal(value, step)),
            Unit::Percent => format!("{} %", decimal(value, step)),
            Unit::Count | Unit::Ratio => decimal(value, step),
        }
    }
}

/// Both axes, with their lines and labels.
pub(super) fn both(x: &Axis, y: &Axis) -> Markup {
    let up = |value: f64| y.share(value).map(|share| BOTTOM - share * (BOTTOM - TOP));
    let right = |value: f64| x.share(value).map(|share| LEFT + share * (RIGHT - LEFT));
    html! {
        g.axis { @for (value, label) in y.ticks(TICKS_UP) { @if let Some(at) = up(value) {
            path d=(format!("M{LEFT} {at:.1}H{RIGHT}")) {}
            text x=(LEFT - 8.0) y=(format!("{:.1}", at + 4.0)) text-anchor="end" { (label) }
        } } }
        g.axis {
            @for (value, label) in x.ticks(TICKS_RIGHT) { @if let Some(at) = right(value) {
                path d=(format!("M{at:.1} {BOTTOM}v5")) {}
                text x=(format!("{at:.1}")) y=(BOTTOM + 19.0) text-anchor="middle" { (super::Untrusted(&label)) }
            } }
            @if !x.name.is_empty() {
                text x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 37.0) text-anchor="middle" { (super::Untrusted(&x.name)) }
            }
        }
    }
}

fn rounded(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}").trim_end().to_owned()
}

fn decimal(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    if digits == 0 && (0.0..1e15).contains(&value) { count(value.round() as u64) } else { format!("{value:.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let texts = |axis: &Axis| axis.ticks(TICKS_UP).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        let linear = |unit, highest| Axis::linear(unit, "", highest).unwrap_or_else(|| Axis::percent(""));
        assert_eq!(texts(&linear(Unit::PerSecond, 7_100.0)), ["0/s", "2,000/s", "4,000/s", "6,000/s", "8,000/s"]);
        assert_eq!(texts(&linear(Unit::Ratio, 1.1)), ["0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(texts(&linear(Unit::Seconds, 0.0031)), ["0 s", "1 ms", "2 ms", "3 ms", "4 ms"]);
        let log = Axis::log(Unit::Seconds, "", [1e-4, 0.02].into_iter());
        assert_eq!(
            log.map(|axis| texts(&axis)),
            Some(["100 µs", "1 ms", "10 ms", "100 ms"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn digits_at_the_end_go_and_noughts_of_hundreds_stay() {
        assert_eq!(rounded("1.00 ms"), "1 ms");
        assert_eq!(rounded("100 µs"), "100 µs");
        assert_eq!(rounded("2.50 MB"), "2.5 MB");
        assert_eq!(decimal(0.25, 0.05), "0.25");
        assert_eq!(decimal(12_000.0, 2000.0), "12,000");
    }
}
