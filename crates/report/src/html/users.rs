//! Users with schedules: overload, errors and throughput against their number, the figures that go with FSCT's table.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::curves::{Curve, curves, load_axis, series};
use super::figure::Figure;
use super::units::{percent, rate_number};
use crate::findings::{Findings, LoadLevel, Users};

/// Overload and errors, and iterations, against users; empty without schedules, or for a single level.
pub(super) fn figures<'a>(sides: &'a [Findings]) -> Vec<Figure<'a>> {
    let mut curves = curves(sides);
    curves.iter_mut().for_each(|curve| curve.levels.retain(|level| level.users.is_some()));
    curves.retain(|curve| curve.levels.len() > 1);
    [overload(&curves), throughput(&curves)].into_iter().flatten().collect()
}

fn overload<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let share =
        |pick: fn(&Users) -> f64| move |level: &LoadLevel| level.users.as_ref().map(|users| pick(users) * 100.0);
    let late = share(|users| users.overload);
    let failed = share(|users| users.failed_share);
    let both = |(at, curve): (usize, &Curve<'_>)| {
        [named(curve, 2 * at, "overload", late), named(curve, 2 * at + 1, "errors", failed)]
    };
    let all: Vec<Series<'a>> = curves.iter().enumerate().flat_map(both).collect();
    let y = Axis::linear(Unit::Percent, "share of iterations", Series::highest(&all))?;
    let explanation = "Two shares of the iterations at each number of users. Overload: iterations that had not ended when the user's next \
        iteration was due, or that never began. Errors: iterations with a failed action.";
    let said = |level: &LoadLevel| {
        let users = level.users?;
        Some(format!("{} {}, errors {}", level.words(), percent(users.overload), percent(users.failed_share)))
    };
    let summary = format!("Overload against users: {}.", listed(curves, said));
    let chart = Chart { x: load_axis(curves)?, y, series: all };
    Figure::of(("users-overload", "Overload and errors against users"), explanation, summary, chart)
}

fn throughput<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let both = |(at, curve): (usize, &Curve<'_>)| {
        let planned = named(curve, 2 * at + 1, "planned", |level| level.facts.asked_per_s);
        [
            named(curve, 2 * at, "ended", |level| Some(level.iterations_per_s)),
            Series { shape: Shape::Line, labels: Vec::new(), ..planned },
        ]
    };
    let all: Vec<Series<'a>> = curves.iter().enumerate().flat_map(both).collect();
    let y = Axis::linear(Unit::PerSecond, "iterations", Series::highest(&all))?;
    let explanation = "Iterations that ended per second, at each number of users. The line without marks shows the iterations per second \
        that the users' schedules plan. If fewer iterations ended than planned, there is overload.";
    let said = |level: &LoadLevel| Some(format!("{} {}/s", level.words(), rate_number(level.iterations_per_s)));
    let summary = format!("Iterations per second against users: {}.", listed(curves, said));
    let chart = Chart { x: load_axis(curves)?, y, series: all };
    Figure::of(("users-throughput", "Throughput against users"), explanation, summary, chart)
}

/// A number at each level, with its name, and that of its curve if there are several.
fn named<'a>(curve: &Curve<'_>, color: usize, what: &str, y: impl Fn(&LoadLevel) -> Option<f64>) -> Series<'a> {
    Series {
        name: format!("{} {what}", curve.name).trim_start().to_owned(),
        ..series(curve, color, LoadLevel::load, y)
    }
}

fn listed(curves: &[Curve<'_>], said: impl Fn(&LoadLevel) -> Option<String>) -> String {
    curves.iter().flat_map(|curve| &curve.levels).filter_map(|level| said(level)).collect::<Vec<_>>().join("; ")
}
