//! Load curves from the stages of a run.

use plimsoll_stats::comparison::Interval as Ends;
use plimsoll_stats::curve::{Fit, Number, Point, fit, knee, maximum, overall_response_time};

use crate::findings::{CurveMaximum, CurvePoint, FittedLaw, Interval, Knee, LOADS, LoadCurve, Stage};

/// One curve per curve name of the stages, in order of first appearance; only curves with two or more loads.
pub fn curves(stages: &[Stage]) -> Vec<LoadCurve> {
    let mut names: Vec<&Option<String>> = Vec::new();
    for stage in stages {
        if !names.contains(&&stage.facts.curve) {
            names.push(&stage.facts.curve);
        }
    }
    names
        .into_iter()
        .filter_map(|name| curve(stages.iter().filter(|stage| stage.facts.curve == *name).collect()))
        .collect()
}

fn curve(mut stages: Vec<&Stage>) -> Option<LoadCurve> {
    stages.sort_by(|a, b| a.load().total_cmp(&b.load()));
    let (first, last) = (stages.first()?, stages.last()?);
    if first.load() >= last.load() {
        return None;
    }
    let load = of_what(&stages)?;
    let used: Vec<&Stage> = stages.iter().copied().filter(|stage| stage.facts.validity.valid).collect();
    let points: Vec<Point> = used.iter().map(|stage| point(stage)).collect();
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
        points: stages.iter().map(|stage| on_curve(stage, fitted.as_ref())).collect(),
        maximum: highest(&used, &points),
        law: fitted.as_ref().map(shown),
        knee,
        overall_response_time_s: overall_response_time(&points),
    })
}

/// The varied quantity; `None` if it differs between stages.
fn of_what(stages: &[&Stage]) -> Option<&'static str> {
    let asked = stages.iter().filter(|stage| stage.facts.asked_per_s.is_some()).count();
    let users = stages.iter().filter(|stage| stage.users.is_some()).count();
    match asked {
        _ if users == stages.len() => Some(LOADS[3]),
        _ if users > 0 => None,
        0 if stages.iter().all(|stage| stage.facts.depth <= 1) => Some(LOADS[0]),
        0 => Some(LOADS[1]),
        n if n == stages.len() => Some(LOADS[2]),
        _ => None,
    }
}

fn point(stage: &Stage) -> Point {
    let number = |value: f64, interval: Option<Interval>| Number {
        value,
        interval: interval.map(|Interval { low, high }| Ends { low, high }),
    };
    Point {
        load: stage.load(),
        throughput: number(stage.operations_per_s, stage.facts.operations_per_s_interval),
        response: stage.headline_time().map(|times| number(times.mean_s, stage.facts.response_mean_interval)),
    }
}

fn on_curve(stage: &Stage, fitted: Option<&Fit>) -> CurvePoint {
    let (load, used) = (stage.load(), stage.facts.validity.valid);
    let law_per_s = fitted.map(|fitted| fitted.law.throughput(load));
    let residual = law_per_s.filter(|law| used && *law > 0.0).map(|law| stage.operations_per_s / law - 1.0);
    CurvePoint { stage: stage.number, load, used, law_per_s, residual }
}

fn highest(stages: &[&Stage], points: &[Point]) -> Option<CurveMaximum> {
    let found = maximum(points)?;
    let stage = stages.get(found.at)?;
    Some(CurveMaximum {
        stage: stage.number,
        load: stage.load(),
        operations_per_s: stage.operations_per_s,
        interval: stage.facts.operations_per_s_interval,
        not_shown_lower: found.rivals.iter().filter_map(|at| Some(stages.get(*at)?.number)).collect(),
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
