//! Charts over time: the latency heat map, throughput, operations per second, mean response time.

use super::chart::{Axis, Chart, Mark, Series, Shape, Unit, lowest_edge};
use super::figure::Figure;
use super::units::{bytes, count, duration};
use crate::findings::Findings;
use crate::findings::{HeatMap, LoadLevel, Series as Bins};
use crate::sides::{label, response_time};

/// More load levels than this have no room for their names.
const MOST_NAMES: usize = 12;
/// Characters that a chart of half the page's width has room for, side by side.
const ACROSS: f64 = 64.0;

/// All four, as far as there is a time axis.
pub(super) fn figures<'a>(sides: &'a [Findings]) -> Vec<Figure<'a>> {
    [heat_map(sides), throughput(sides), rate(sides), mean(sides)].into_iter().flatten().collect()
}

fn heat_map<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let mut charts = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        for (i, map) in side.heat_maps.iter().enumerate().filter(|(_, map)| !map.cells.is_empty()) {
            let group = if map.group == "All" { "all groups" } else { &map.group };
            let pointer = format!("/sides/{place}/heat_maps/{i}");
            let marked = |mut chart: Chart<'a>| {
                chart.x.marks = steps(side, map.start_ns, chart.x.high);
                (label(sides, side, group), chart)
            };
            charts.extend(cells(map, pointer, response_time(sides)).map(marked));
        }
    }
    let summary = charts.first()?.1.series.first()?.cells.map(words)?;
    Figure {
        id: "heat",
        title: "Latency heat map",
        explanation: "Each column is an interval of time, each row a range of response times on a logarithmic scale. A stronger colour \
        means more operations that ended in this interval. Vertical lines mark the start of a load level.",
        summary,
        choose: "Operations of",
        charts,
    }
    .if_any()
}

fn cells<'a>(map: &'a HeatMap, pointer: String, name: &str) -> Option<Chart<'a>> {
    Some(Chart {
        x: Axis::time(map.start_ns, f64::from(map.columns) * map.column_s)?,
        y: Axis::log(Unit::Seconds, name, [lowest_edge(map)?, *map.edges_s.last()?].into_iter())?,
        series: vec![Series::cells(map, pointer)],
    })
}

/// Where load levels begin, in seconds since `start_ns` and before `end`; nothing where there is one.
fn steps(side: &Findings, start_ns: i64, end: f64) -> Vec<Mark> {
    let levels = &side.levels;
    if levels.len() < 2 {
        return Vec::new();
    }
    let named = levels.len() <= MOST_NAMES;
    let mark = |level: &LoadLevel| {
        let at = level.span.first_ns?.saturating_sub(start_ns) as f64 / 1e9;
        let name = if named { level.words() } else { String::new() };
        (0.0..end).contains(&at).then_some(Mark { at, name, upright: false })
    };
    let mut marks: Vec<Mark> = levels.iter().filter_map(mark).collect();
    let ends = marks.iter().skip(1).map(|mark| mark.at).chain([end]).collect::<Vec<f64>>();
    let fits = |(mark, to): (&Mark, &f64)| mark.name.chars().count() as f64 <= (to - mark.at) / end * ACROSS;
    let upright = !marks.iter().zip(&ends).all(fits);
    marks.iter_mut().for_each(|mark| mark.upright = upright);
    marks
}

fn words(map: &HeatMap) -> String {
    let rows = || map.cells.iter().map(|cell| cell.1 as usize);
    let edge = |row: Option<usize>| row.and_then(|row| map.edges_s.get(row)).copied();
    let reach = match (edge(rows().min()), edge(rows().max().and_then(|row| row.checked_add(1)))) {
        (Some(low), Some(high)) => format!(" Response times reach from {} to {}.", duration(low), duration(high)),
        _ => String::new(),
    };
    let fullest = map.cells.iter().map(|cell| cell.2).max().unwrap_or(0);
    let (columns, width) = (map.columns, duration(map.column_s));
    format!(
        "Latency heat map, {}: {columns} columns of {width}.{reach} The fullest cell has {} operations.",
        map.group,
        count(fullest)
    )
}

/// A line a bin, `of` every side.
struct Lines<'s> {
    name: &'s str,
    values: fn(&Bins) -> Vec<Option<f64>>,
}

fn over_time<'a>(
    sides: &'a [Findings],
    unit: Unit,
    name: &str,
    lines: &[Lines<'_>],
    filled: bool,
) -> Option<Chart<'a>> {
    let mut series = Vec::new();
    let (mut end, mut highest) = (0.0_f64, 0.0_f64);
    for side in sides {
        let bins = &side.series;
        for line in lines {
            let y = (line.values)(bins);
            end = end.max(y.len() as f64 * bins.bin_s);
            highest = y.iter().flatten().copied().fold(highest, f64::max);
            let x = (0..y.len()).map(|bin| (bin as f64 + 0.5) * bins.bin_s).collect();
            let color = series.len();
            series.push(Series { x, y, filled, ..Series::new(label(sides, side, line.name), Shape::Line, color) });
        }
    }
    let start_ns = sides.first()?.series.start_ns;
    let mut x = Axis::time(start_ns, end)?;
    match sides {
        [only] => x.marks = steps(only, start_ns, end),
        // Every side began at a different time.
        _ => x.start_ns = None,
    }
    Some(Chart { x, y: Axis::linear(unit, name, highest)?, series })
}

fn throughput<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let lines = [
        Lines { name: "Read", values: |bins| per_second(&bins.read_bytes, bins.bin_s) },
        Lines { name: "Written", values: |bins| per_second(&bins.write_bytes, bins.bin_s) },
    ];
    let chart = over_time(sides, Unit::BytesPerSecond, "", &lines, sides.len() == 1)?;
    let peaks = peaks(&chart, |most| format!("{}/s", bytes(most)));
    let explanation = "File data read and written per second.";
    Figure::of(("throughput", "Throughput"), explanation, format!("Throughput over time. Peaks: {peaks}."), chart)
}

fn rate<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let lines = [
        Lines { name: "Operations", values: |bins| per_second(&bins.operations, bins.bin_s) },
        Lines { name: "Errors", values: |bins| per_second(&bins.errors, bins.bin_s) },
    ];
    let chart = over_time(sides, Unit::PerSecond, "", &lines, sides.len() == 1)?;
    let summary = format!("Operations per second over time. Peaks: {}.", peaks(&chart, |most| format!("{most:.1}/s")));
    let explanation = "Operations ended per second, and errors per second.";
    Figure::of(("rate", "Operations"), explanation, summary, chart)
}

fn mean<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let name = format!("Mean {}", response_time(sides));
    let lines = [Lines { name: &name, values: |bins| bins.response_mean_s.clone() }];
    let chart = over_time(sides, Unit::Seconds, "", &lines, false)?;
    let summary = format!("{name} over time. Peaks: {}.", peaks(&chart, duration));
    let explanation = "Mean over all operations that ended in each interval; no line in intervals without operations.";
    Figure::of(("mean", "Mean response time"), explanation, summary, chart)
}

/// The highest point of each line, in words.
fn peaks(chart: &Chart<'_>, show: impl Fn(f64) -> String) -> String {
    let peak = |series: &Series<'_>| series.y.iter().flatten().copied().fold(0.0, f64::max);
    let texts = chart.series.iter().map(|series| format!("{} {}", series.name, show(peak(series))));
    texts.collect::<Vec<_>>().join(", ")
}

fn per_second(values: &[u64], bin_s: f64) -> Vec<Option<f64>> {
    values.iter().map(|n| (bin_s > 0.0).then(|| *n as f64 / bin_s)).collect()
}
