//! Load curves from the levels of a run.

use plimsoll_stats::comparison::Interval as Ends;
use plimsoll_stats::curve::{Fit, Number, Point, fit, knee, maximum, overall_response_time};

use crate::findings::{CurveMaximum, CurvePoint, FittedLaw, Interval, Knee, LOADS, LoadCurve, LoadLevel};

/// One curve per curve name of the levels, in order of first appearance; only curves with two or more loads.
pub fn curves(levels: &[LoadLevel]) -> Vec<LoadCurve> {
    let mut names: Vec<&Option<String>> = Vec::new();
    for level in levels {
        if !names.contains(&&level.facts.curve) {
            names.push(&level.facts.curve);
        }
    }
    names
        .into_iter()
        .filter_map(|name| curve(levels.iter().filter(|level| level.facts.curve == *name).collect()))
        .collect()
}

fn curve(mut levels: Vec<&LoadLevel>) -> Option<LoadCurve> {
    levels.sort_by(|a, b| a.load().total_cmp(&b.load()));
    let (first, last) = (levels.first()?, levels.last()?);
    if first.load() >= last.load() {
        return None;
    }
    let load = of_what(&levels)?;
    let used: Vec<&LoadLevel> = levels.iter().copied().filter(|level| level.facts.validity.valid).collect();
    let points: Vec<Point> = used.iter().map(|level| point(level)).collect();
    // The law describes clients that wait for a common resource; a schedule starts iterations without waiting.
    let by_rate = load == LOADS[2] || load == LOADS[3];
    let fitted = if by_rate { None } else { fit(&points) };
    let knee = if by_rate {
        no_knee("the load is a schedule, not a number of clients")
    } else {
        knee_of(&points, fitted.as_ref())
    };
    Some(LoadCurve {
        curve: first.facts.curve.clone(),
        load: load.to_owned(),
        points: levels.iter().map(|level| on_curve(level, fitted.as_ref())).collect(),
        maximum: highest(&used, &points),
        law: fitted.as_ref().map(shown),
        knee,
        overall_response_time_s: overall_response_time(&points),
    })
}

/// The varied quantity; `None` if it differs between levels.
fn of_what(levels: &[&LoadLevel]) -> Option<&'static str> {
    let asked = levels.iter().filter(|level| level.facts.asked_per_s.is_some()).count();
    let users = levels.iter().filter(|level| level.users.is_some()).count();
    match asked {
        _ if users == levels.len() => Some(LOADS[3]),
        _ if users > 0 => None,
        0 if levels.iter().all(|level| level.facts.depth <= 1) => Some(LOADS[0]),
        0 => Some(LOADS[1]),
        n if n == levels.len() => Some(LOADS[2]),
        _ => None,
    }
}

fn point(level: &LoadLevel) -> Point {
    let number = |value: f64, interval: Option<Interval>| Number {
        value,
        interval: interval.map(|Interval { low, high }| Ends { low, high }),
    };
    Point {
        load: level.load(),
        throughput: number(level.operations_per_s, level.facts.operations_per_s_interval),
        response: level.headline_time().map(|times| number(times.mean_s, level.facts.response_mean_interval)),
    }
}

fn on_curve(level: &LoadLevel, fitted: Option<&Fit>) -> CurvePoint {
    let (load, used) = (level.load(), level.facts.validity.valid);
    let law_per_s = fitted.map(|fitted| fitted.law.throughput(load));
    let residual = law_per_s.filter(|law| used && *law > 0.0).map(|law| level.operations_per_s / law - 1.0);
    CurvePoint { level: level.number, load, used, law_per_s, residual }
}

fn highest(levels: &[&LoadLevel], points: &[Point]) -> Option<CurveMaximum> {
    let found = maximum(points)?;
    let level = levels.get(found.at)?;
    Some(CurveMaximum {
        level: level.number,
        load: level.load(),
        operations_per_s: level.operations_per_s,
        interval: level.facts.operations_per_s_interval,
        not_shown_lower: found.rivals.iter().filter_map(|at| Some(levels.get(*at)?.number)).collect(),
    })
}

fn shown(fitted: &Fit) -> FittedLaw {
    let law = fitted.law;
    FittedLaw { lambda_per_s: law.lambda, sigma: law.sigma, kappa: law.kappa, deviation: fitted.deviation }
}

fn knee_of(points: &[Point], fitted: Option<&Fit>) -> Knee {
    match knee(points, fitted) {
        Ok(knee) => {
            let Ends { low, high } = knee.interval;
            Knee { load: Some(knee.load), interval: Some(Interval { low, high }), missing: None }
        }
        Err(why) => no_knee(&why.to_string()),
    }
}

fn no_knee(why: &str) -> Knee {
    Knee { missing: Some(why.to_owned()), ..Knee::default() }
}
