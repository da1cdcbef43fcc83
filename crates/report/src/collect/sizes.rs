//! Response time against message size, from the levels of a run.

use plimsoll_stats::comparison::Interval as Ends;
use plimsoll_stats::curve::{Number, SizePoint as Measured, judge_sizes};

use crate::findings::{Interval, LoadLevel, SizeCurve, SizePoint};

/// Sizes that it takes for one to have neighbours on both sides.
const FEWEST: usize = 5;

/// One curve per load with enough sizes of a parameter, in order of first appearance. Invalid levels are left out.
pub fn sizes(levels: &[LoadLevel]) -> Vec<SizeCurve> {
    let mut loads: Vec<(&str, &str)> = Vec::new();
    let of = |level: &'_ LoadLevel| -> Option<(String, u64)> {
        let varied = level.facts.varied.as_ref()?;
        Some((varied.name.clone(), varied.bytes?))
    };
    for level in levels {
        if let Some(varied) = level.facts.varied.as_ref().filter(|varied| varied.bytes.is_some())
            && !loads.contains(&(&varied.name, &level.facts.load_name))
        {
            loads.push((&varied.name, &level.facts.load_name));
        }
    }
    let curve = |(name, load_name): (&str, &str)| {
        let here = |level: &&LoadLevel| {
            level.facts.load_name == load_name && of(level).is_some_and(|(varied, _)| varied == name)
        };
        let used = levels.iter().filter(here).filter(|level| level.facts.validity.valid);
        let mut points: Vec<SizePoint> = used.filter_map(point).collect();
        points.sort_by_key(|point| point.bytes);
        // Repeats of a size are not neighbours of each other.
        points.dedup_by_key(|point| point.bytes);
        judge(&mut points);
        let (parameter, load_name) = (name.to_owned(), load_name.to_owned());
        (points.len() >= FEWEST).then_some(SizeCurve { parameter, load_name, points })
    };
    loads.into_iter().filter_map(curve).collect()
}

fn point(level: &LoadLevel) -> Option<SizePoint> {
    let varied = level.facts.varied.as_ref()?;
    Some(SizePoint {
        level: level.number,
        value: varied.value.clone(),
        bytes: varied.bytes?,
        mean_s: level.headline_time()?.mean_s,
        interval: level.facts.response_mean_interval,
        expected_s: None,
        outlier: None,
    })
}

fn judge(points: &mut [SizePoint]) {
    let ends = |interval: Option<Interval>| interval.map(|Interval { low, high }| Ends { low, high });
    let measured = points.iter().map(|point| Measured {
        bytes: point.bytes as f64,
        response: Number { value: point.mean_s, interval: ends(point.interval) },
    });
    let judged = judge_sizes(&measured.collect::<Vec<_>>());
    for (point, judged) in points.iter_mut().zip(judged) {
        point.expected_s = judged.map(|judged| judged.expected_s);
        point.outlier = judged.and_then(|judged| Some(judged.odd?.label().to_owned()));
    }
}
