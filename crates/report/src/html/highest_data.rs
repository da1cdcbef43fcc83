//! The most file data of each server and size, a bar a server and direction: Poo and Tan's figure 6.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::units::bits;
use crate::findings::Findings;
use crate::tables::{Most, highest};

/// Only for several sides or several curves.
pub(super) fn figure<'a>(sides: &[Findings]) -> Option<Figure<'a>> {
    let all = highest(sides);
    if all.len() < 2 {
        return None;
    }
    let mut curves: Vec<&str> = Vec::new();
    let mut bars: Vec<(&str, bool)> = Vec::new();
    for one in &all {
        curves.extend((!curves.contains(&one.curve.as_str())).then_some(one.curve.as_str()));
        for (writes, most) in [(false, &one.read), (true, &one.written)] {
            let bar = (one.series.as_str(), writes);
            bars.extend((most.is_some() && !bars.contains(&bar)).then_some(bar));
        }
    }
    let most = |(series, writes): (&str, bool), curve: &str| -> Option<f64> {
        let one = all.iter().find(|one| one.series == series && one.curve == curve)?;
        let found: &Most = if writes { one.written.as_ref()? } else { one.read.as_ref()? };
        Some(8.0 * found.bytes_per_s)
    };
    let series = |(color, bar): (usize, &(&str, bool))| Series {
        x: (0..curves.len()).map(|x| x as f64).collect(),
        y: curves.iter().map(|curve| most(*bar, curve)).collect(),
        ..Series::new(name(*bar), Shape::Bars, color)
    };
    let series: Vec<Series<'a>> = bars.iter().enumerate().map(series).collect();
    let top = Series::highest(&series);
    let said = bars.iter().flat_map(|bar| curves.iter().map(move |curve| (*bar, *curve)));
    let said: Vec<String> = said
        .filter_map(|(bar, curve)| Some(format!("{} {} {}/s", name(bar), curve, bits(most(bar, curve)?))))
        .collect();
    let names = curves.iter().map(|curve| if curve.is_empty() { "all levels" } else { curve }.to_owned()).collect();
    let chart = Chart { x: Axis::names(names), y: Axis::linear(Unit::BitsPerSecond, "data", top)?, series };
    let explanation = "The most file data per second that each server read and wrote, over all valid load levels. The table below has \
        the levels.";
    let summary = format!("Most file data: {}.", said.join("; "));
    Figure::of(("highest-data", "Highest rate of file data of each server and curve"), explanation, summary, chart)
}

/// The side, where there are several, and the direction.
fn name((series, writes): (&str, bool)) -> String {
    let direction = if writes { "written" } else { "read" };
    if series.is_empty() { direction.to_owned() } else { format!("{series}, {direction}") }
}
